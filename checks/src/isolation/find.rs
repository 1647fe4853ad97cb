//! The search on every engine and strategy.

use super::detect::{Detected, Detector, Problem, can_swap};
use super::kinds::Ends;
use super::{EngineFound, Isolation, KINDS, Kind, Other, Row, Verdict};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::Guests;
use touchstone::plan::{Filter, hint};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Config, Error, Functions, HostCall, Imports, InterruptHandle, State, Strategy,
    Support, Trap,
};

/// Deadline of calls that must be stopped.
const DEADLINE: Duration = Duration::from_millis(10);

/// Artifacts of one engine, shared by strategies: by their class, the guest, and checks of the end
/// and of the fuel within the code.
type Artifacts = HashMap<(&'static str, [u8; 32], bool, bool), Artifact>;

pub struct Job {
    engine: Arc<dyn MeasuredEngine>,
    strategy: Strategy,
    kinds: Vec<&'static Kind>,
}

impl Job {
    pub fn name(&self) -> String {
        format!("{}_{}", self.engine.id(), self.strategy)
    }
}

/// All strategies of the engines, with the kinds whose `<executor>/<kind>` matches the filter.
/// Fails if nothing matches.
pub fn jobs(engines: &[Arc<dyn MeasuredEngine>], filter: Option<&str>) -> Result<Vec<Job>> {
    let wanted = Filter::new(filter)?;
    let mut names = Vec::new();
    let mut jobs = Vec::new();
    for engine in engines {
        for strategy in Strategy::all() {
            if !engine.support(strategy).is_supported() {
                continue;
            }
            let mut job = Job { engine: Arc::clone(engine), strategy, kinds: Vec::new() };
            for kind in KINDS.iter() {
                let name = format!("{}/{}", job.name(), kind.name);
                if wanted.matches(&name) {
                    job.kinds.push(kind);
                }
                names.push(name);
            }
            if !job.kinds.is_empty() {
                jobs.push(job);
            }
        }
    }
    match filter {
        Some(text) if jobs.is_empty() => {
            bail!("no executor and kind of state matches '{text}'{}", hint(text, &names))
        }
        _ => Ok(jobs),
    }
}

/// Runs the planted guests. `next` gets each executor before its first guest. Behaviour of
/// executors is a finding, not an error.
pub fn find(jobs: &[Job], mut next: impl FnMut(&Job)) -> Result<Isolation> {
    let mut built = Guests::built();
    let mut guests: BTreeMap<&str, GuestModule> = BTreeMap::new();
    let mut found = Isolation { swapped: can_swap().then_some(0), ..Isolation::default() };
    for kind in KINDS.iter() {
        if jobs.iter().any(|job| job.kinds.iter().any(|wanted| wanted.name == kind.name)) {
            let guest = kind.guest(&mut built);
            let guest =
                guest.with_context(|| format!("cannot plant the guest of {}", kind.name))?;
            guests.insert(&kind.name, guest);
            found.kinds.push(kind);
        }
    }
    let mut artifacts = Artifacts::default();
    for job in jobs {
        next(job);
        let engine = job.engine.id();
        if found.engines.last().is_none_or(|last| last.engine != engine) {
            artifacts = Artifacts::default();
            found.engines.push(EngineFound { engine: engine.to_owned(), rows: Vec::new() });
        }
        let (row, swapped) = row(job, &guests, &mut artifacts);
        found.swapped = found.swapped.map(|pages| pages + swapped);
        let Some(EngineFound { rows, .. }) = found.engines.last_mut() else { continue };
        // Strategies with the same findings share a row.
        let alike = |known: &&mut Row| known.others == row.others && known.checks == row.checks;
        match rows.iter_mut().find(alike) {
            Some(known) => known.strategies.extend(row.strategies),
            None => rows.push(row),
        }
    }
    Ok(found)
}

/// All kinds on one executor, and the number of pages that were swapped out.
fn row(job: &Job, guests: &BTreeMap<&str, GuestModule>, artifacts: &mut Artifacts) -> (Row, u64) {
    let mut row = Row { strategies: vec![job.strategy], ..Row::default() };
    let mut swapped = 0;
    for kind in &job.kinds {
        let (found, [checks, pages]) = cell(job, kind, &guests[&*kind.name], artifacts);
        row.checks.insert(kind.name.clone(), checks);
        swapped += pages;
        if let Some(other) = found {
            row.others.insert(kind.name.clone(), other);
        }
    }
    (row, swapped)
}

/// One kind on one executor: the finding if not clean, the number of checks, and that of pages that
/// were swapped out.
fn cell(
    job: &Job,
    kind: &Kind,
    guest: &GuestModule,
    artifacts: &mut Artifacts,
) -> (Option<Other>, [u64; 2]) {
    let Job { engine, strategy, .. } = job;
    let finding = |verdict, reason: String| Some(Other { verdict, reason, cause: None });
    let other = |verdict, reason: String| (finding(verdict, reason), [0; 2]);
    if let Support::Unsupported { reason } = engine.support_for(*strategy, guest) {
        return other(Verdict::Refused, reason);
    }
    let deadline = kind.needs_deadline().then_some(DEADLINE);
    let interrupt = InterruptHandle::new();
    let config = Config {
        deadline,
        interruptible: kind.has(Ends::Interrupted),
        metered: kind.has(Ends::OutOfFuel),
        functions: functions(&interrupt),
        imports: Imports::Trap,
        ..Config::default()
    };
    let class = engine.artifact_class(*strategy);
    let key = (class, guest.sha256(), config.is_interruptible(), config.metered);
    let artifact = match artifacts.entry(key) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(new) => engine.compile(guest, *strategy, &config).map(|own| new.insert(own)),
    };
    let loaded = artifact.and_then(|artifact| {
        let mut module = engine.load(guest, artifact, *strategy, &config)?;
        module.probe()?;
        Ok(module)
    });
    let module = match loaded {
        Ok(module) => module,
        Err(Error::Unsupported { reason, .. }) if config.is_interruptible() => {
            return other(Verdict::Absent, reason);
        }
        Err(error) => return other(Verdict::Refused, words(&error)),
    };
    let limits_recursion = engine.capabilities().recursion;
    let mut detector = match Detector::new(&*module, kind, limits_recursion, &interrupt) {
        Ok(detector) => detector,
        Err(Error::ExportUnsupported { reason, .. }) => return other(Verdict::Absent, reason),
        Err(error) => return other(Verdict::Failed, words(&error)),
    };
    let found = match detector.detect() {
        Ok(Detected::Clean) => None,
        Ok(Detected::Unproven(reason)) => finding(Verdict::Unproven, reason),
        Ok(Detected::Leak(reason)) => finding(Verdict::Leaks, reason),
        Err(Problem::Host(Error::LimitUnsupported { limit, .. })) => {
            return other(Verdict::Absent, format!("the engine cannot limit a call by {limit}"));
        }
        Err(problem @ (Problem::Host(_) | Problem::Wrong(_))) => {
            finding(Verdict::Failed, problem.to_string())
        }
    };
    (found, [detector.checks, detector.swapped()])
}

/// The host functions of the planted guests, beside the standard ones.
fn functions(interrupt: &InterruptHandle) -> Functions {
    let sum = State::new(100_i64);
    let interrupt = interrupt.clone();
    let mut functions = Functions::standard();
    functions
        .wrap("isolation", "add", move |call: &mut HostCall<'_>, more: i64| {
            let sum = call.state(&sum);
            *sum += more;
            Ok(*sum)
        })
        // Without a message of the panic hook: the panic is planned.
        .wrap("isolation", "panic", |_: &mut HostCall<'_>| -> Result<(), Trap> {
            std::panic::resume_unwind(Box::new("planned"))
        })
        .wrap("isolation", "interrupt", move |_: &mut HostCall<'_>| {
            interrupt.interrupt();
            Ok(())
        });
    functions
}

/// The engine's message, without what the table says.
fn words(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}
