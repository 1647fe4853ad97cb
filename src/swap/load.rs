//! Swaps under load: threads call while another thread replaces the module.

use super::messages::Loaded;
use super::{LoadPlan, Ready};
use crate::lab::{Refused, elapsed};
use crate::measure::{Crew, RoundPlan, Tails, Work};
use crate::record::{Status, Tail};
use anyhow::{Context, Result, anyhow};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use touchstone_executor::Instance;

/// A round of calls. The callers pause between rounds.
const ROUND: RoundPlan = RoundPlan { time: Duration::from_millis(50), ..RoundPlan::ONE_CALL };

/// Results of the callers while the module was replaced, and for as long without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderLoad {
    /// Instances that callers took of a new module, all callers together.
    pub instances_taken: u64,
    /// Calls that failed, trapped or could get no instance.
    pub failed: u64,
    /// Calls with another output than the expected one.
    pub wrong: u64,
    /// Time of a message while modules are replaced.
    pub swapping: Tail,
    /// The same without replacements.
    pub still: Tail,
    /// The first wrong call.
    pub problem: Option<String>,
}

/// Makes threads call while the module is replaced, and then for the same time without
/// replacements. The kinds alternate. Fails with [`Refused`] if a replacement cannot be loaded;
/// another error when a thread cannot be started. Failed calls are counted, not errors.
pub fn under_load(ready: Ready, plan: LoadPlan) -> Result<UnderLoad, Refused> {
    let place = Arc::new(Place {
        generation: AtomicU64::new(0),
        newest: Mutex::new((0, Arc::new(ready.load(0)?))),
        seen: Mutex::default(),
        ready,
    });
    let of_callers = Arc::clone(&place);
    let mut crew = Crew::start(plan.threads, move || {
        Ok(Caller { mine: None, place: Arc::clone(&of_callers) })
    })?;
    let started = Instant::now();
    // Every caller uses the first module and, after the last replacement, the last one.
    crew.round(RoundPlan::ONE_CALL)?;
    std::thread::scope(|scope| -> Result<()> {
        let thread = std::thread::Builder::new().name("replacing".to_owned());
        let replacing = thread.spawn_scoped(scope, || place.replace(plan));
        let replacing = replacing.context("cannot start a thread")?;
        while !replacing.is_finished() {
            crew.round(ROUND)?;
        }
        replacing.join().map_err(|_| anyhow!("the replacing thread panicked"))??;
        crew.round(RoundPlan::ONE_CALL)?;
        Ok(())
    })?;
    let swapping = place.take_seen();
    let (took, started) = (started.elapsed(), Instant::now());
    while started.elapsed() < took {
        crew.round(ROUND)?;
    }
    let still = place.take_seen();
    Ok(UnderLoad {
        instances_taken: swapping.instances_taken,
        failed: swapping.failed + still.failed,
        wrong: swapping.wrong + still.wrong,
        swapping: swapping.times.tail(),
        still: still.times.tail(),
        problem: swapping.first_problem.or(still.first_problem),
    })
}

/// Where callers find the newest module.
struct Place {
    ready: Ready,
    /// Generation of the newest module. Callers read only this while nothing changes.
    generation: AtomicU64,
    newest: Mutex<(u64, Arc<Loaded>)>,
    /// Results of all callers since it was taken.
    seen: Mutex<Seen>,
}

impl Place {
    /// Replaces the module as often as planned, each time by a fresh one of the other kind.
    fn replace(&self, plan: LoadPlan) -> Result<(), Refused> {
        for generation in 1..=plan.replacements {
            let loaded = Arc::new(self.ready.load((generation % 2) as usize)?);
            let old = std::mem::replace(&mut *self.newest.lock(), (generation, loaded));
            self.generation.store(generation, Ordering::Release);
            // Outside the lock, because freeing a module may take long.
            drop(old);
            std::thread::sleep(plan.pause);
        }
        Ok(())
    }

    fn take_seen(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock())
    }
}

#[derive(Default)]
struct Seen {
    times: Tails,
    instances_taken: u64,
    failed: u64,
    wrong: u64,
    first_problem: Option<String>,
}

struct Caller {
    /// An instance of the module of a generation.
    mine: Option<(Box<dyn Instance>, u64, Arc<Loaded>)>,
    place: Arc<Place>,
}

impl Caller {
    /// One message, to a new instance if there is a new module.
    fn message(&mut self) -> Result<(), Refused> {
        let Self { mine, place } = self;
        let newest = place.generation.load(Ordering::Acquire);
        if mine.as_ref().is_none_or(|(_, generation, _)| *generation < newest) {
            *mine = None;
            let (generation, loaded) = place.newest.lock().clone();
            let live = place.ready.instance(&loaded)?;
            place.seen.lock().instances_taken += 1;
            *mine = Some((live, generation, loaded));
        }
        let Some((live, _, loaded)) = mine else { return Ok(()) };
        place.ready.send(loaded, &mut **live)
    }
}

impl Work for Caller {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let began = Instant::now();
        for _ in 0..calls {
            let started = Instant::now();
            let result = self.message();
            let took = elapsed(started);
            let mut seen = self.place.seen.lock();
            match result {
                Ok(()) => seen.times.record(took),
                Err(refused) => {
                    // The next message begins from nothing.
                    self.mine = None;
                    match refused.status {
                        Status::Wrong => seen.wrong += 1,
                        _ => seen.failed += 1,
                    }
                    seen.first_problem.get_or_insert(refused.reason);
                }
            }
        }
        Ok(began.elapsed())
    }
}
