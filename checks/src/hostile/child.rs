//! The child process that attacks one engine.

use super::attack::{Class, Job, Work, jobs};
use super::bench::{Artifacts, BRIEF, Bench, Neighbour, well_behaved};
use super::{Ended, Line, Order, Verdict, artifacts, blob, calls, guests, large, malformed};
use crate::named;
use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use touchstone::measure::resident_kib;
use touchstone::plan::Filter;
use touchstone::supervise::Parent;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{CodeFrom, Config, Error, Outcome, Strategy};

/// Least number of rounds.
const ROUNDS: usize = 3;
/// Most rounds, while memory still grows: allocators keep freed memory, but a leak grows with every
/// round.
const MOST_ROUNDS: usize = 7;
/// Growth per round that counts as no leak, KiB.
const RESIDENT_KIB: u64 = 8 * 1024;
/// The same for reserved addresses.
const RESERVED_KIB: u64 = 512 * 1024;
/// Limit of writable memory, bytes; the parent's limit is lower.
const DATA: u64 = 16 << 30;

/// Makes the attacks that the parent asks for and reports how each ended. An attack may end this
/// process, which [`Watch`](super::Watch) starts.
pub fn attack_in_this_process(engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    let mut parent = Parent::join()?.context("this process makes attacks for another one")?;
    guard();
    let order: Order = parent.hear()?.context("the parent sent no attacks")?;
    let engine = named(engines, &order.engine)?;
    let has_deadline = has_deadline(&**engine)?;
    parent.say(&Line::Ready)?;
    let mut kept = Artifacts::default();
    let jobs = jobs(engine.id(), &Filter::new(order.filter.as_deref())?);
    for (number, job) in jobs.iter().enumerate().skip(order.from) {
        let Some(strategy) = strategy(&**engine, job)? else {
            parent.say(&Line::Without { job: number })?;
            continue;
        };
        let endless = matches!(job.attack.work, Work::Endless(_) | Work::EndlessStart);
        let unstoppable = endless && !has_deadline;
        parent.say(&Line::Begin { job: number, strategy, unstoppable })?;
        let bench = Bench {
            engine,
            others: engines,
            class: job.class,
            has_deadline,
            parent: &mut parent,
            artifacts: &mut kept,
            seen: BTreeSet::new(),
        };
        let (verdict, how) = match attack(bench, job) {
            Ok(how) => (Verdict::Held, how),
            Err(error) => (Verdict::Failed, vec![format!("{error:#}")]),
        };
        parent.say(&Line::End { job: number, ended: Ended { strategy, verdict, how } })?;
    }
    Ok(())
}

/// Disables core files and limits memory, where the system can.
fn guard() {
    let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    let _ = setrlimit(Resource::Core, limit(0));
    let _ = setrlimit(Resource::Data, limit(DATA));
}

/// `true` if the engine can stop calls.
fn has_deadline(engine: &dyn MeasuredEngine) -> Result<bool> {
    let guest = well_behaved()?;
    let strategy = Class::ALL
        .iter()
        .find_map(|class| class.strategy(engine, &guest, CodeFrom::InProcess))
        .with_context(|| format!("{} runs no modules", engine.id()))?;
    let config = Config { deadline: Some(Duration::from_secs(1)), ..Config::default() };
    let artifact = engine.compile(&guest, strategy, &config);
    match artifact.and_then(|artifact| engine.load(&guest, &artifact, strategy, &config)) {
        Ok(_) => Ok(true),
        Err(Error::Unsupported { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The strategy under attack; `None` if the engine has none.
fn strategy(engine: &dyn MeasuredEngine, job: &Job) -> Result<Option<Strategy>> {
    let on = |class: Class, guest: Result<GuestModule>| {
        Ok(class.strategy(engine, &guest?, CodeFrom::InProcess))
    };
    match job.attack.work {
        Work::Artifacts => artifacts::strategy(engine, job.class),
        Work::EndlessStart => on(job.class, endless_start()),
        Work::Calls(_) | Work::Endless(_) => on(job.class, calls::guest()),
        Work::Large(_) => on(job.class, well_behaved()),
        // Parsing does not depend on the strategy: one class is enough.
        Work::Malformed | Work::Blobs => {
            for class in Class::ALL {
                if let Some(strategy) = on(class, well_behaved())? {
                    return Ok((class == job.class).then_some(strategy));
                }
            }
            Ok(None)
        }
    }
}

/// The ends of the attack in all rounds.
fn attack(mut bench: Bench<'_>, job: &Job) -> Result<Vec<String>> {
    let mut neighbour = Neighbour::new(&mut bench).context("a well-behaved guest")?;
    let mut before = (u64::MAX, u64::MAX);
    let mut grown = None;
    for round in 0..MOST_ROUNDS {
        match job.attack.work {
            Work::Calls(calls) | Work::Endless(calls) => calls::make(&mut bench, calls)?,
            Work::EndlessStart => start(&mut bench)?,
            Work::Large(modules) => large::make(&mut bench, modules)?,
            Work::Malformed => malformed::make(&mut bench, round)?,
            Work::Blobs => blob::make(&mut bench)?,
            Work::Artifacts => artifacts::make(&mut bench)?,
        }
        neighbour.answers(&bench).context("another guest of the engine, after the attack")?;
        let after = (resident_kib(), reserved_kib());
        grown = match after.0.saturating_sub(before.0) > RESIDENT_KIB {
            true => Some((RESIDENT_KIB, "resident")),
            false => (after.1.saturating_sub(before.1) > RESERVED_KIB)
                .then_some((RESERVED_KIB, "reserved")),
        };
        before = after;
        if round + 1 >= ROUNDS && grown.is_none() {
            break;
        }
    }
    match grown {
        None => Ok(bench.seen.into_iter().collect()),
        Some((tolerated, what)) => {
            bail!("leaks: each round leaves more than {} MiB {what}", tolerated / 1024)
        }
    }
}

fn endless_start() -> Result<GuestModule> {
    let wasm = wat::parse_str(guests::endless_start())?;
    Ok(GuestModule::new("endless start", &wasm, HeapPages::default())?)
}

/// Loads and calls a guest with an endless start function, which must end with an error or a trap.
fn start(bench: &mut Bench<'_>) -> Result<()> {
    let guest = endless_start()?;
    let ended = bench.load(&guest, BRIEF).and_then(|module| {
        let export = module.export("count", touchstone_executor::Abi::Plain)?;
        let mut instance = module.new_instance()?;
        Ok(instance.call(export, b"", &mut Vec::new())?)
    });
    match ended {
        Ok(Outcome::Returned) => bail!("a call returned behind an endless start function"),
        Ok(outcome) => bench.saw(calls::words(&outcome)),
        Err(error) => match error.downcast_ref() {
            Some(error) => bench.refused(error),
            None => return Err(error),
        },
    }
    Ok(())
}

/// Reserved addresses of this process, KiB; 0 if unknown.
fn reserved_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * (rustix::param::page_size() as u64 / 1024)
}
