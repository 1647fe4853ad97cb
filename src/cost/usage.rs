//! Page faults, system calls and signals per call, of a thread that makes the same call
//! again and again.

use super::Usage;
use super::trace::{Section, Traced, follow};
use crate::matrix::Cell;
use crate::record::Status;
use crate::session::{Opened, Session};
use crate::supervise::{Child, Death, Heard, Limits, Parent};
use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::{Duration, Instant};
use touchstone_executor::Outcome;
use touchstone_executor::probe::thread_usage;

/// Calls before the counted ones: what grows only at first is there then.
const WARM_UP: u32 = 32;
/// Calls that are counted.
const CALLS: u32 = 32;

/// How long to wait for the next cell at a time.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the process that makes the calls says of a cell: its name, and all but what the
/// tracer knows.
type Counted = (String, Usage);

/// Makes the calls, in this process, one cell after the other, and tells the parent, which
/// is in [`count`]. With `traced`, the parent counts what happens in them.
///
/// # Errors
///
/// When a cell fails that is not merely unsupported, the process cannot be traced, or has no
/// such parent.
pub fn make_calls(session: &mut Session, cells: &[Cell], traced: bool) -> Result<()> {
    let parent = Parent::<(), Counted>::join()?;
    let mut parent = parent.context("this process makes calls for another one")?;
    let traced = traced.then(Traced::begin).transpose()?;
    for cell in cells {
        let name = cell.key.id();
        let opened = match session.open(cell) {
            Ok(opened) => opened,
            Err(refused) if refused.status == Status::Unsupported => continue,
            Err(refused) => return Err(refused).context(name),
        };
        let page_faults = calls(&opened, traced.as_ref()).with_context(|| name.clone())?;
        let usage = Usage {
            runtime_version: cell.engine.version().to_owned(),
            guest_sha256: session.digest(&cell.guest),
            artifact_bytes: opened.artifact_bytes,
            page_faults,
            system_calls: None,
            signals: None,
        };
        parent.say(&(name, usage))?;
    }
    Ok(())
}

/// Page faults per call, while the tracer counts the rest.
fn calls(opened: &Opened, traced: Option<&Traced>) -> Result<Option<f64>> {
    let mut instance = opened.instances.take()?;
    let mut output = Vec::with_capacity(opened.expected.len());
    let mut make = |count: u32| -> Result<()> {
        for _ in 0..count {
            let outcome = instance.call(opened.export, &opened.input, &mut output)?;
            if outcome != Outcome::Returned || output != *opened.expected {
                bail!("the output is not the expected one");
            }
        }
        Ok(())
    };
    make(WARM_UP)?;
    let before = thread_usage();
    match traced {
        Some(traced) => traced.section(|| make(CALLS))?,
        None => make(CALLS)?,
    }
    let after = thread_usage();
    opened.instances.give_back(instance);
    Ok(before.zip(after).map(|(before, after)| each(after.page_faults - before.page_faults)))
}

fn each(count: u64) -> f64 {
    count as f64 / f64::from(CALLS)
}

/// Runs `command`, which has to end up in [`make_calls`], and traces it if asked to.
///
/// # Errors
///
/// When the process fails, or its words and its sections do not match.
pub fn count(
    command: Command,
    traced: bool,
    mut progress: impl FnMut(usize),
) -> Result<Vec<(String, Usage)>> {
    let mut child = Child::spawn(command, Limits::default())?;
    let mut usage = Vec::new();
    let mut sections = Vec::new();
    if traced {
        let pid = child.pid();
        // What it says is heard after each section: nobody else empties the socket.
        sections = follow(pid, |number| {
            progress(number);
            listen(&mut child, Instant::now(), &mut usage).map(drop)
        })?;
    }
    let death = loop {
        if let Some(death) = listen(&mut child, Instant::now() + PATIENCE, &mut usage)? {
            break death;
        }
    };
    if !death.is_success() {
        bail!("the process that makes the calls {death}");
    }
    if traced && sections.len() != usage.len() {
        bail!("{} cells came back, {} were traced", usage.len(), sections.len());
    }
    for ((_, usage), Section { system_calls, signals }) in usage.iter_mut().zip(sections) {
        usage.system_calls = Some(each(system_calls));
        usage.signals = Some(each(signals));
    }
    Ok(usage)
}

/// Hears what the process says until a deadline, and how it ended if it did.
fn listen(
    child: &mut Child<(), Counted>,
    deadline: Instant,
    usage: &mut Vec<Counted>,
) -> Result<Option<Death>> {
    loop {
        match child.receive(deadline)? {
            Heard::Message(counted) => usage.push(counted),
            Heard::Silent => return Ok(None),
            Heard::Ended(death) => return Ok(Some(death)),
        }
    }
}
