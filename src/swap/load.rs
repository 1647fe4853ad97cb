//! Swap under load: threads keep calling while another one replaces what they call.

use super::kind::{Live, Loaded};
use super::{Artifacts, Kind, Problem, Step, resident_kib};
use crate::record::SwapTail;
use hdrhistogram::Histogram;
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use touchstone_executor::{Artifact, Config, Engine, Strategy};

/// How much is swapped under which load.
#[derive(Debug, Clone, Copy)]
pub struct LoadPlan {
    /// Threads that keep calling.
    pub threads: usize,
    /// Times that the module is replaced.
    pub replacements: u64,
    /// Time after each of these.
    pub pause: Duration,
}

/// What the callers saw.
#[derive(Debug, Clone, PartialEq)]
pub struct UnderLoad {
    /// Of the instances.
    pub strategy: Strategy,
    /// Times that the module was replaced.
    pub replacements: u64,
    /// Generations of which a caller took an instance, all callers together.
    pub instances_taken: u64,
    /// Calls that failed, trapped or could get no instance.
    pub failed: u64,
    /// Calls with another output than the expected one.
    pub wrong: u64,
    /// The first of these, in words.
    pub first_problem: Option<String>,
    /// Time of a message while modules are replaced, from looking for a new module to
    /// the answer.
    pub swapping: SwapTail,
    /// The same for as long, while none is.
    pub still: SwapTail,
    /// Resident memory of the process before, KiB.
    pub rss_before_kib: u64,
    /// And after.
    pub rss_after_kib: u64,
}

/// Everything that a call needs, in one piece: nobody can see half of it.
struct Deployment {
    generation: u64,
    kind: usize,
    loaded: Loaded,
}

/// Where callers find the deployment.
struct Place {
    /// Of the newest deployment: all that a caller reads while nothing changes.
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
        // Outside of the lock: freeing a module may take long.
        drop(old);
    }
}

/// What one caller saw.
struct Seen {
    histogram: Histogram<u64>,
    instances_taken: u64,
    failed: u64,
    wrong: u64,
    first_problem: Option<String>,
}

/// Lets threads call for as long as the module is replaced so many times, and then for
/// as long while it is not. The kinds take turns.
///
/// # Errors
///
/// When the engine cannot do it, a replacement cannot be loaded, or a thread cannot be
/// started. Calls that fail are no error; they are counted.
pub fn under_load(
    engine: &Arc<dyn Engine>,
    kinds: &[Kind; 2],
    config: &Config,
    plan: LoadPlan,
) -> Result<UnderLoad, Problem> {
    let strategy = Step::LoadArtifact.strategy(&**engine, kinds)?;
    let mut compiled = Artifacts::default();
    let mut artifact = |kind: &Kind| {
        let artifact = compiled.of(&**engine, kind, strategy, config)?;
        kind.probe(&**engine, &artifact, strategy, config)?;
        Ok(artifact)
    };
    let artifacts = [
        artifact(&kinds[0]).map_err(failed(engine, &kinds[0]))?,
        artifact(&kinds[1]).map_err(failed(engine, &kinds[1]))?,
    ];
    let load = Load { engine, kinds, config, strategy, artifacts: &artifacts };
    let rss_before_kib = resident_kib();
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
    Ok(UnderLoad {
        strategy,
        replacements: plan.replacements,
        instances_taken: swapping.instances_taken,
        failed: swapping.failed + still.failed,
        wrong: swapping.wrong + still.wrong,
        swapping: tail(&swapping.histogram),
        still: tail(&still.histogram),
        first_problem: swapping.first_problem.or(still.first_problem),
        rss_before_kib,
        rss_after_kib: resident_kib(),
    })
}

/// An error of the host side, with its place.
fn failed(
    engine: &Arc<dyn Engine>,
    kind: &Kind,
) -> impl FnOnce(touchstone_executor::Error) -> Problem {
    move |source| Problem::host(place_of(engine), kind, source)
}

fn place_of(engine: &Arc<dyn Engine>) -> String {
    format!("{}/under_load", engine.id())
}

/// What the threads share.
struct Load<'a> {
    engine: &'a Arc<dyn Engine>,
    kinds: &'a [Kind; 2],
    config: &'a Config,
    strategy: Strategy,
    artifacts: &'a [Artifact; 2],
}

impl Load<'_> {
    /// A module that nobody has used, of the other kind than the generation before.
    fn deployment(&self, generation: u64) -> Result<Deployment, Problem> {
        let kind = usize::from(generation % 2 == 1);
        let loaded = self.kinds[kind]
            .load(&**self.engine, &self.artifacts[kind], self.strategy, self.config)
            .map_err(failed(self.engine, &self.kinds[kind]))?;
        Ok(Deployment { generation, kind, loaded })
    }

    /// Lets the threads call while `meanwhile` runs, which begins when all of them have
    /// made a call.
    fn run(
        &self,
        threads: usize,
        meanwhile: impl FnOnce(&Place) -> Result<(), Problem>,
    ) -> Result<Seen, Problem> {
        let place = Place::new(self.deployment(0)?);
        let system = |what: &'static str| {
            move |source| Problem::System { place: place_of(self.engine), what, source }
        };
        let nothing =
            || Seen::nothing().map_err(std::io::Error::other).map_err(system("cannot count times"));
        let mut all = nothing()?;
        let each = (0..threads).map(|_| nothing()).collect::<Result<Vec<_>, _>>()?;
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
                    Err(source) => {
                        started = Err(system("cannot start a thread")(source));
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
                meanwhile(&place)
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

    /// Calls until it is done; the last call is begun after that, so that every
    /// caller sees the last generation.
    fn call(&self, place: &Place, mut seen: Seen) -> Seen {
        let mut mine: Option<(Live, Arc<Deployment>)> = None;
        let mut output = Vec::new();
        let mut is_first = true;
        loop {
            let is_last = place.done.load(Ordering::Acquire);
            let started = Instant::now();
            let result = self.message(place, &mut mine, &mut output, &mut seen.instances_taken);
            let took = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            match result {
                Ok(()) => seen.histogram.saturating_record(took.max(1)),
                Err(problem) => {
                    // What comes next begins from nothing.
                    mine = None;
                    let is_wrong = matches!(problem, Problem::Wrong { .. });
                    let cause = problem.source().map(|cause| format!(": {cause}"));
                    let words = format!("{problem}{}", cause.unwrap_or_default());
                    seen.problem(words, |seen| match is_wrong {
                        true => &mut seen.wrong,
                        false => &mut seen.failed,
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
        output: &mut Vec<u8>,
        instances_taken: &mut u64,
    ) -> Result<(), Problem> {
        let newest = place.generation.load(Ordering::Acquire);
        let is_old = mine.as_ref().is_none_or(|(_, mine)| mine.generation < newest);
        if is_old {
            *mine = None;
            let deployment = place.newest();
            let live = deployment
                .loaded
                .instance()
                .map_err(failed(self.engine, &self.kinds[deployment.kind]))?;
            *instances_taken += 1;
            *mine = Some((live, deployment));
        }
        let Some((live, deployment)) = mine else { return Ok(()) };
        self.kinds[deployment.kind].send(live, output, || place_of(self.engine))
    }
}

/// Longest time that is told from longer ones, ns: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

impl Seen {
    /// With room for times of three significant digits: some 20,000 counters, however
    /// many calls there are.
    fn nothing() -> Result<Self, hdrhistogram::CreationError> {
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

fn tail(histogram: &Histogram<u64>) -> SwapTail {
    SwapTail {
        calls: histogram.len(),
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    }
}
