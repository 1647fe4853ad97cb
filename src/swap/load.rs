//! Swaps under load: threads call while another thread replaces the module.

use super::messages::{Live, Loaded};
use super::{Kind, Method, Ready};
use crate::lab::{Lab, Refused, elapsed};
use crate::record::{Executor, Status, Swap, SwapFound, Tail};
use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use touchstone_executor::Engine;

/// The load and the number of replacements.
#[derive(Debug, Clone, Copy)]
pub struct LoadPlan {
    /// Threads that call.
    pub threads: usize,
    /// Times that the module is replaced.
    pub replacements: u64,
    /// Pause after each replacement.
    pub pause: Duration,
}

/// Everything that a call needs, replaced in one step.
struct Deployment {
    generation: u64,
    kind: usize,
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
    fn new(first: Deployment) -> Self {
        Self {
            generation: AtomicU64::new(first.generation),
            newest: Mutex::new(Arc::new(first)),
            ready: AtomicUsize::new(0),
            done: AtomicBool::new(false),
        }
    }

    fn newest(&self) -> Arc<Deployment> {
        Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, deployment: Deployment) {
        let generation = deployment.generation;
        let old = std::mem::replace(
            &mut *self.newest.lock().unwrap_or_else(PoisonError::into_inner),
            Arc::new(deployment),
        );
        self.generation.store(generation, Ordering::Release);
        // Outside the lock, because freeing a module may take long.
        drop(old);
    }
}

/// The results of one caller.
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
        let kind = usize::from(generation % 2 == 1);
        Ok(Deployment { generation, kind, loaded: self.0.load(kind)? })
    }

    /// Makes the threads call while `meanwhile` runs, which begins after each of them has made a
    /// call.
    fn run(
        &self,
        threads: usize,
        meanwhile: impl FnOnce(&Place) -> Result<(), Refused>,
    ) -> Result<Seen> {
        let place = Place::new(self.deployment(0)?);
        let mut all = Seen::nothing()?;
        let each = (0..threads).map(|_| Seen::nothing()).collect::<Result<Vec<_>>>()?;
        std::thread::scope(|scope| {
            let mut callers = Vec::with_capacity(threads);
            let mut started = Ok(());
            for (index, seen) in each.into_iter().enumerate() {
                let place = &place;
                let thread = std::thread::Builder::new()
                    .name(format!("caller-{index}"))
                    .spawn_scoped(scope, move || self.call(place, seen));
                match thread {
                    Ok(caller) => callers.push(caller),
                    Err(error) => {
                        started = Err(error).context("cannot start a thread");
                        break;
                    }
                }
            }
            let made = started.and_then(|()| {
                // One that has ended will not be ready any more.
                while place.ready.load(Ordering::Acquire) < threads
                    && !callers.iter().any(std::thread::ScopedJoinHandle::is_finished)
                {
                    std::thread::sleep(Duration::from_micros(50));
                }
                Ok(meanwhile(&place)?)
            });
            place.done.store(true, Ordering::Release);
            for caller in callers {
                match caller.join() {
                    Ok(seen) => all.add(seen),
                    Err(_) => all.problem("a caller panicked".to_owned(), |all| &mut all.failed),
                }
            }
            made.map(|()| all)
        })
    }

    /// Calls until the work is done. The last call begins after that, so that every caller sees
    /// the last generation.
    fn call(&self, place: &Place, mut seen: Seen) -> Seen {
        let mut mine: Option<(Live, Arc<Deployment>)> = None;
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
                    seen.problem(refused.reason, |seen| match refused.status {
                        Status::Wrong => &mut seen.wrong,
                        _ => &mut seen.failed,
                    });
                }
            }
            if std::mem::take(&mut is_first) {
                place.ready.fetch_add(1, Ordering::Release);
            }
            if is_last {
                return seen;
            }
        }
    }

    /// One message, to a new instance if there is a new module.
    fn message(
        &self,
        place: &Place,
        mine: &mut Option<(Live, Arc<Deployment>)>,
        instances_taken: &mut u64,
    ) -> Result<(), Refused> {
        let newest = place.generation.load(Ordering::Acquire);
        let is_old = mine.as_ref().is_none_or(|(_, mine)| mine.generation < newest);
        if is_old {
            *mine = None;
            let deployment = place.newest();
            let live = self.0.instance(deployment.kind, &deployment.loaded)?;
            *instances_taken += 1;
            *mine = Some((live, deployment));
        }
        let Some((live, deployment)) = mine else { return Ok(()) };
        self.0.send(deployment.kind, live)
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

    fn problem(&mut self, words: String, counter: impl Fn(&mut Self) -> &mut u64) {
        *counter(self) += 1;
        self.first_problem.get_or_insert(words);
    }

    fn add(&mut self, other: Self) {
        let (failed, wrong) = (self.failed + other.failed, self.wrong + other.wrong);
        // Both have the same bounds: nothing is lost.
        let _ = self.histogram.add(&other.histogram);
        self.instances_taken += other.instances_taken;
        (self.failed, self.wrong) = (failed, wrong);
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
