//! The other N−1 threads of a thread row: they do the same work while one is
//! timed, and it is known that they did.

use super::Caller;
use crate::session::Opened;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Calls that each thread must have made before timing begins.
const WARM: u64 = 3;
/// How long the threads may take for that.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads that make calls until they are stopped.
pub struct Others {
    stop: Arc<AtomicBool>,
    threads: Vec<Worker>,
}

struct Worker {
    /// Calls made so far. In an allocation of its own, so that counting does
    /// not disturb the neighbour's.
    calls: Arc<Padded>,
    handle: JoinHandle<Result<()>>,
}

/// A counter alone on its cache lines: two of 64 bytes, because processors
/// fetch lines in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Padded(AtomicU64);

impl Others {
    /// Starts `count` threads and waits until each has made a few calls.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started, fails, or makes no progress.
    pub fn start(opened: &Opened, count: usize) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut others = Self { stop: Arc::clone(&stop), threads: Vec::new() };
        for index in 0..count {
            let (calls, stop) = (Arc::<Padded>::default(), Arc::clone(&stop));
            let (opened, counter) = (opened.clone(), Arc::clone(&calls));
            let handle = std::thread::Builder::new()
                .name(format!("other-{index}"))
                .spawn(move || {
                    let mut caller = Caller::new(&opened)?;
                    while !stop.load(Ordering::Relaxed) {
                        caller.call()?;
                        caller.check()?;
                        counter.0.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
                .context("cannot start a thread")?;
            others.threads.push(Worker { calls, handle });
        }
        others.wait_for_progress()?;
        Ok(others)
    }

    fn wait_for_progress(&self) -> Result<()> {
        let started = Instant::now();
        for worker in &self.threads {
            while worker.calls.0.load(Ordering::Relaxed) < WARM {
                if worker.handle.is_finished() {
                    bail!("another thread ended before the timing began");
                }
                if started.elapsed() > PATIENCE {
                    bail!("another thread made no progress within {} s", PATIENCE.as_secs());
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Ok(())
    }

    /// Calls that each thread has made so far.
    #[must_use]
    pub fn counts(&self) -> Vec<u64> {
        self.threads.iter().map(|worker| worker.calls.0.load(Ordering::Relaxed)).collect()
    }

    /// Stops the threads and waits until all have ended.
    ///
    /// # Errors
    ///
    /// When a thread failed or panicked.
    pub fn stop(mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let ended: Vec<_> = self.threads.drain(..).map(|worker| worker.handle.join()).collect();
        for thread in ended {
            match thread {
                Ok(ended) => ended.context("another thread failed")?,
                Err(_) => bail!("another thread panicked"),
            }
        }
        Ok(())
    }
}

impl Drop for Others {
    /// So that an error on the timed thread does not leave the others running.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.threads.drain(..) {
            // Whatever went wrong here, the first error is already on its way.
            let _ = worker.handle.join();
        }
    }
}
