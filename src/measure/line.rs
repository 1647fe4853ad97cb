//! The line at which the threads of a round start together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a thread waits for the others before it lets others run meanwhile.
const SPIN: Duration = Duration::from_millis(2);

/// Threads wait here until all have come, awake: one that slept would start late.
#[derive(Debug)]
pub(super) struct StartingLine {
    missing: AtomicUsize,
}

impl StartingLine {
    pub(super) fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads) }
    }

    /// Comes back when every thread has come.
    pub(super) fn wait(&self) {
        // What the others did before is not read; only that they are here.
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
