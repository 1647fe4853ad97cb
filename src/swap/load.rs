//! Swaps under load: threads call while another thread replaces the module.

use super::messages::Loaded;
use super::{Kind, LoadPlan, Method, Ready};
use crate::lab::{Lab, Refused, elapsed};
use crate::record::{Executor, Status, Swap, SwapFound, Tail};
use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use touchstone_executor::{Engine, Instance};

/// Everything that a call needs, replaced in one step.
struct Deployment {
    generation: u64,
    loaded: Loaded,
}

/// Gives callers the current deployment.
struct Place {
    /// Generation of the newest deployment. Callers read only this while nothing changes.
    generation: AtomicU64,
    newest: Mutex<Arc<Deployment>>,
    /// Callers that have made a call, or tried to.
    ready: AtomicUsize,
    done: AtomicBool,
}

impl Place {
    fn replace(&self, deployment: Deployment) {
        let generation = deployment.generation;
        let old = std::mem::replace(&mut *self.newest.lock(), Arc::new(deployment));
        self.generation.store(generation, Ordering::Release);
        // Outside the lock, because freeing a module may take long.
        drop(old);
    }
}

/// The results of one caller, or of all.
struct Seen {
    histogram: Histogram<u64>,
    instances_taken: u64,
    failed: u64,
    wrong: u64,
    first_problem: Option<String>,
}

/// Makes threads call while the module is replaced, and then for the same time without
/// replacements. The kinds alternate. Returns the results, and a description of the first
/// wrong call.
///
/// # Errors
///
/// [`Refused`] when the engine does not support it or a replacement cannot be loaded; another
/// error when a thread cannot be started. Failed calls are counted, not errors.
pub fn under_load(
    engine: &Arc<dyn Engine>,
    kinds: &Arc<[Kind; 2]>,
    lab: &mut Lab,
    plan: LoadPlan,
) -> Result<(Swap, Option<String>)> {
    let load = Load(Ready::new(Method::LoadArtifact, engine, kinds, lab)?);
    let started = Instant::now();
    let swapping = load.run(plan.threads, |place| {
        for generation in 1..=plan.replacements {
            place.replace(load.deployment(generation)?);
            std::thread::sleep(plan.pause);
        }
        Ok(())
    })?;
    let took = started.elapsed();
    let still = load.run(plan.threads, |_| {
        std::thread::sleep(took);
        Ok(())
    })?;
    let swap = Swap {
        executor: Executor { engine: engine.id().to_owned(), strategy: load.0.strategy },
        method: load.0.method.to_string(),
        found: SwapFound::UnderLoad {
            threads: plan.threads as u64,
            replacements: plan.replacements,
            instances_taken: swapping.instances_taken,
            failed: swapping.failed + still.failed,
            wrong: swapping.wrong + still.wrong,
            swapping: tail(&swapping.histogram),
            still: tail(&still.histogram),
        },
    };
    Ok((swap, swapping.first_problem.or(still.first_problem)))
}

/// State shared by the threads.
struct Load(Ready);

impl Load {
    /// A fresh module, of the other kind than that of the previous generation.
    fn deployment(&self, generation: u64) -> Result<Deployment, Refused> {
        Ok(Deployment { generation, loaded: self.0.load((generation % 2) as usize)? })
    }

    /// Makes the threads call while `meanwhile` runs, which begins after each of them has made a
    /// call.
    fn run(
        &self,
        threads: usize,
        meanwhile: impl FnOnce(&Place) -> Result<(), Refused>,
    ) -> Result<Seen> {
        let place = &Place {
            generation: AtomicU64::new(0),
            newest: Mutex::new(Arc::new(self.deployment(0)?)),
            ready: AtomicUsize::new(0),
            done: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let start = |index| {
                let thread = std::thread::Builder::new().name(format!("caller-{index}"));
                thread.spawn_scoped(scope, || self.call(place))
            };
            let callers: std::io::Result<Vec<_>> = (0..threads).map(start).collect();
            let made = callers.as_ref().map_or(Ok(()), |callers| {
                // One that has ended will not be ready any more.
                while place.ready.load(Ordering::Acquire) < threads
                    && !callers.iter().any(ScopedJoinHandle::is_finished)
                {
                    std::thread::sleep(Duration::from_micros(50));
                }
                meanwhile(place)
            });
            place.done.store(true, Ordering::Release);
            let mut all = Seen::nothing()?;
            for caller in callers.context("cannot start a thread")? {
                match caller.join() {
                    Ok(seen) => all.add(seen?),
                    Err(_) => all.problem("a caller panicked".to_owned(), false),
                }
            }
            made?;
            Ok(all)
        })
    }

    /// Calls until the work is done. The last call begins after that, so that every caller sees
    /// the last generation.
    fn call(&self, place: &Place) -> Result<Seen> {
        let mut seen = Seen::nothing()?;
        let mut mine = None;
        let mut is_first = true;
        loop {
            let is_last = place.done.load(Ordering::Acquire);
            let started = Instant::now();
            let result = self.message(place, &mut mine, &mut seen.instances_taken);
            let took = elapsed(started);
            match result {
                Ok(()) => seen.histogram.saturating_record(took.max(1)),
                Err(refused) => {
                    // What comes next begins from nothing.
                    mine = None;
                    seen.problem(refused.reason, refused.status == Status::Wrong);
                }
            }
            if std::mem::take(&mut is_first) {
                place.ready.fetch_add(1, Ordering::Release);
            }
            if is_last {
                return Ok(seen);
            }
        }
    }

    /// One message, to a new instance if there is a new module.
    fn message(
        &self,
        place: &Place,
        mine: &mut Option<(Box<dyn Instance>, Arc<Deployment>)>,
        instances_taken: &mut u64,
    ) -> Result<(), Refused> {
        let newest = place.generation.load(Ordering::Acquire);
        if mine.as_ref().is_none_or(|(_, mine)| mine.generation < newest) {
            *mine = None;
            let deployment = Arc::clone(&place.newest.lock());
            let live = self.0.instance(&deployment.loaded)?;
            *instances_taken += 1;
            *mine = Some((live, deployment));
        }
        let Some((live, deployment)) = mine else { return Ok(()) };
        self.0.send(&deployment.loaded, &mut **live)
    }
}

/// Longest recorded time, ns (one minute); longer ones are recorded as this.
const LONGEST_NS: u64 = 60_000_000_000;

impl Seen {
    /// A histogram with three significant digits: about 20,000 counters for any number of
    /// calls.
    fn nothing() -> Result<Self> {
        Ok(Self {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, 3)?,
            instances_taken: 0,
            failed: 0,
            wrong: 0,
            first_problem: None,
        })
    }

    fn problem(&mut self, words: String, is_wrong: bool) {
        *(if is_wrong { &mut self.wrong } else { &mut self.failed }) += 1;
        self.first_problem.get_or_insert(words);
    }

    fn add(&mut self, other: Self) {
        // Both have the same bounds: nothing is lost.
        let _ = self.histogram.add(&other.histogram);
        self.instances_taken += other.instances_taken;
        self.failed += other.failed;
        self.wrong += other.wrong;
        self.first_problem = self.first_problem.take().or(other.first_problem);
    }
}

fn tail(histogram: &Histogram<u64>) -> Tail {
    Tail {
        calls: histogram.len(),
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    }
}
