//! The line at which the threads of a round start together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a thread spins before it yields to other threads.
const SPIN: Duration = Duration::from_millis(2);

/// A spinning barrier. Threads wait awake, because a thread that slept would start late.
#[derive(Debug)]
pub(super) struct StartingLine {
    missing: AtomicUsize,
}

impl StartingLine {
    pub(super) fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads) }
    }

    /// Returns when every thread has arrived.
    pub(super) fn wait(&self) {
        // Only the arrival of the others matters, not what they did before.
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let came = Instant::now();
        while self.missing.load(Ordering::Acquire) > 0 {
            if came.elapsed() < SPIN {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}
