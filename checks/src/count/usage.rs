//! Page faults, system calls and signals per call, counted in a child process that repeats the
//! call.

use super::trace::{self, Section, follow};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::case::{Case, Guests};
use touchstone::lab::{Lab, Opened};
use touchstone::measure::{Caller, Work};
use touchstone::plan::{Cell, Names};
use touchstone::record::{CellKey, Metric, Observations, Sample, Samples, Status};
use touchstone::supervise::{Child, Death, Heard, Parent};
use touchstone::terminal::Progress;
use touchstone_executor::Config;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::thread_usage;

/// Number of calls before the counted ones, for what is set up only at first.
const WARM_UP: u64 = 32;
const CALLS: u64 = 32;
/// Longest time of the child for one cell.
const LIMIT: Duration = Duration::from_secs(600);

/// The message to the child.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    /// `true` if the parent traces the child.
    traced: bool,
    cells: Vec<CellKey>,
}

/// Serves as the child that makes the counted calls, one cell after another.
pub fn serve(cases: &[Case], engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    let parent = Parent::<Told, Observations>::join()?;
    let mut parent = parent.context("this is for the program's own use")?;
    let Some(Told { traced, cells }) = parent.hear()? else { return Ok(()) };
    let names = Names::new(cases, engines);
    let mut lab = Lab::new(Guests::built(), Config::default()).without_times();
    if traced {
        trace::begin()?;
    }
    for key in cells {
        let cell = names.cell(&key)?;
        let opened = match lab.open(&cell) {
            Ok(opened) => opened,
            Err(refused) if refused.status == Status::Unsupported => continue,
            Err(refused) => return Err(refused).context(cell.name()),
        };
        let page_faults = calls(&opened, traced).with_context(|| cell.name())?;
        let bytes = Samples(vec![Sample::single(opened.loaded.artifact_bytes as f64)]);
        let mut metrics = BTreeMap::from([(Metric::ArtifactBytes, bytes)]);
        metrics.extend(page_faults.map(|faults| (Metric::PageFaults, counted(faults))));
        parent.say(&Observations { cell: key, process: 0, probe_ns: 0, metrics })?;
    }
    Ok(())
}

/// Counts the page faults of the counted calls, while the tracer counts the rest.
fn calls(opened: &Opened, traced: bool) -> Result<Option<u64>> {
    let mut caller = Caller::new(opened)?;
    caller.time(WARM_UP)?;
    let before = thread_usage();
    let mut counted = || caller.time(CALLS);
    if traced {
        trace::section(counted)?
    } else {
        counted()?
    };
    Ok(before.zip(thread_usage()).map(|(before, after)| after.page_faults - before.page_faults))
}

/// The total of the counted calls as one sample.
fn counted(total: u64) -> Samples {
    Samples(vec![Sample { calls: CALLS, slowest: CALLS, ..Sample::single(total as f64) }])
}

/// Makes a child repeat the calls of some cells, traced or not, and returns the counts of the
/// supported ones. The program of `command` must call [`serve`].
pub(super) fn count(
    command: Command,
    cells: &[Cell],
    traced: bool,
    progress: &Progress,
) -> Result<Vec<Observations>> {
    let mut child = Child::<Told, Observations>::spawn(command)?;
    let keys = cells.iter().map(|cell| cell.key.clone()).collect();
    child.send(&Told { traced, cells: keys });
    let mut seen: Vec<Observations> = Vec::new();
    let mut hear = |child: &mut Child<Told, Observations>, wait| -> Result<Option<Death>> {
        loop {
            match child.receive(Instant::now() + wait)? {
                Heard::Message(one) => {
                    progress.next(format!("counted {}", one.cell.name(None)));
                    seen.push(one);
                }
                Heard::Ended(death) => return Ok(Some(death)),
                Heard::Silent => return Ok(None),
            }
        }
    };
    // Nobody else empties the connection while the child is traced.
    let sections = match traced {
        true => Some(follow(child.pid(), || hear(&mut child, Duration::ZERO).map(drop))?),
        false => None,
    };
    match hear(&mut child, LIMIT)? {
        Some(death) if death.is_success() => {}
        Some(death) => bail!("the process that makes the calls {death}"),
        None => bail!("the process that makes the calls took too long for one cell"),
    }
    let Some(sections) = sections else { return Ok(seen) };
    ensure!(
        sections.len() == seen.len(),
        "{} cells came back, {} were traced",
        seen.len(),
        sections.len()
    );
    for (seen, Section { system_calls, signals }) in seen.iter_mut().zip(sections) {
        seen.metrics.insert(Metric::SystemCalls, counted(system_calls));
        seen.metrics.insert(Metric::Signals, counted(signals));
    }
    Ok(seen)
}
