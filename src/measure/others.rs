//! The other N−1 threads of a thread row: they do the same work while one is
//! timed, and it is known that they did.

use super::Caller;
use super::gate::Gate;
use super::pin::Pinned;
use crate::session::Opened;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Calls that each thread must have made before timing begins.
const WARM: u64 = 3;
/// Calls are counted, and outputs compared, about so often, ns: to do it after each
/// call would take longer than the shortest calls do.
const BETWEEN_LOOKS: u64 = 20_000;
/// How long the threads may take for that, or for their last call before a pause.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to spin for a call to be made before sleeping meanwhile: a processor
/// that slept is slower at first, and what is timed comes right after.
const SPIN: Duration = Duration::from_millis(2);

/// Threads that make calls until they are stopped.
pub struct Others {
    gate: Arc<Gate>,
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
        Self::start_on(opened, &vec![None; count])
    }

    /// Starts a thread for each of `processors`, on that one where it names one.
    pub(super) fn start_on(opened: &Opened, processors: &[Option<usize>]) -> Result<Self> {
        let gate = Arc::new(Gate::default());
        let mut others = Self { gate: Arc::clone(&gate), threads: Vec::new() };
        for (index, processor) in processors.iter().copied().enumerate() {
            let (calls, gate) = (Arc::<Padded>::default(), Arc::clone(&gate));
            let (opened, counter) = (opened.clone(), Arc::clone(&calls));
            let handle = std::thread::Builder::new()
                .name(format!("other-{index}"))
                .spawn(move || {
                    let _presence = gate.presence();
                    let _pinned = processor.map(Pinned::to).transpose()?;
                    let mut caller = Caller::new(&opened)?;
                    let calls = (BETWEEN_LOOKS / opened.estimate_ns.max(1)).clamp(1, 256);
                    while gate.pass() {
                        caller.time(calls)?;
                        counter.0.fetch_add(calls, Ordering::Relaxed);
                    }
                    Ok(())
                })
                .context("cannot start a thread")?;
            others.threads.push(Worker { calls, handle });
        }
        others.wait_for(&vec![WARM; processors.len()])?;
        Ok(others)
    }

    /// Waits until each thread has made so many calls in all.
    fn wait_for(&mut self, calls: &[u64]) -> Result<()> {
        let started = Instant::now();
        for (index, calls) in calls.iter().enumerate() {
            while self.threads[index].calls.0.load(Ordering::Relaxed) < *calls {
                if self.threads[index].handle.is_finished() {
                    return self.early_end();
                }
                match started.elapsed() {
                    long if long > PATIENCE => {
                        bail!("another thread made no progress within {} s", PATIENCE.as_secs())
                    }
                    long if long > SPIN => std::thread::sleep(Duration::from_micros(200)),
                    _ => std::thread::yield_now(),
                }
            }
        }
        Ok(())
    }

    /// Lets the threads finish their calls and wait, asleep, until
    /// [`resume`](Self::resume). Comes back when none is within a call.
    ///
    /// # Errors
    ///
    /// When a thread failed, or does not come back from its call.
    pub fn pause(&mut self) -> Result<()> {
        if !self.gate.close(self.threads.len(), PATIENCE) {
            bail!("another thread did not end its call within {} s", PATIENCE.as_secs());
        }
        if self.gate.somebody_ended() { self.early_end() } else { Ok(()) }
    }

    /// Lets paused threads go on, and comes back when each has made a call.
    ///
    /// # Errors
    ///
    /// When a thread failed, or makes no progress.
    pub fn resume(&mut self) -> Result<()> {
        let calls: Vec<u64> = self.counts().iter().map(|calls| calls + 1).collect();
        self.gate.open();
        self.wait_for(&calls)
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
        self.end()
    }

    /// A thread ended that nobody had stopped: why it did.
    fn early_end(&mut self) -> Result<()> {
        self.end()?;
        bail!("another thread ended before it was stopped")
    }

    fn end(&mut self) -> Result<()> {
        self.gate.send_home();
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
        // Whatever went wrong here, the first error is already on its way.
        let _ = self.end();
    }
}
