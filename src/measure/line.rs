//! The line at which the threads of a round start together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time that a thread spins before it yields.
const SPIN: Duration = Duration::from_millis(2);

/// A spinning barrier: a sleeping thread would start late.
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
        // Only the arrival matters, not what threads did before.
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
