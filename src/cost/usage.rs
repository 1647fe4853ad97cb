//! Page faults, system calls and signals per call, of a thread that makes the same call
//! again and again.

use super::Usage;
use super::trace::{Section, Traced, follow};
use crate::matrix::Cell;
use crate::record::Status;
use crate::session::{Opened, Session};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Seek, Write};
use std::process::{Command, Stdio};
use touchstone_executor::Outcome;
use touchstone_executor::probe::thread_usage;

/// Calls before the counted ones: what grows only at first is there then.
const WARM_UP: u32 = 32;
/// Calls that are counted.
const CALLS: u32 = 32;

/// A line of the process that makes the calls.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// The cell's name.
    name: String,
    /// All but what the tracer knows.
    usage: Usage,
}

/// Makes the calls, in this process, one cell after the other; a line on `lines` for
/// each. With `traced`, the parent counts what happens in them.
///
/// # Errors
///
/// When a cell fails that is not merely unsupported, or the process cannot be traced.
pub fn make_calls(
    session: &mut Session,
    cells: &[Cell],
    traced: bool,
    lines: &mut impl Write,
) -> Result<()> {
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
        serde_json::to_writer(&mut *lines, &Line { name, usage })?;
        writeln!(lines)?;
    }
    lines.flush().context("cannot write the counts")
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
/// When the process fails, or its lines and its sections do not match.
pub fn count(
    command: &mut Command,
    traced: bool,
    progress: impl FnMut(usize),
) -> Result<Vec<(String, Usage)>> {
    // A file and no pipe: nobody empties a pipe while the process is traced.
    let mut lines = tempfile::tempfile().context("cannot make a temporary file")?;
    let out = lines.try_clone().context("cannot make a temporary file")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out)
        .spawn()
        .context("cannot start the process that makes the calls")?;
    let sections = if traced {
        let sections = follow(&child, progress);
        if sections.is_err() {
            // It may be stopped for good.
            let _ = child.kill();
            let _ = child.wait();
        }
        Some(sections?)
    } else {
        let ended = child.wait().context("waiting for the process that makes the calls")?;
        if !ended.success() {
            bail!("the process that makes the calls failed: {ended}");
        }
        None
    };
    lines.rewind().context("reading the counts back")?;
    let mut usage = Vec::new();
    for line in BufReader::new(lines).lines() {
        let Line { name, usage: one } =
            serde_json::from_str(&line?).context("a line that is no count")?;
        usage.push((name, one));
    }
    if let Some(sections) = sections {
        if sections.len() != usage.len() {
            bail!("{} cells came back, {} were traced", usage.len(), sections.len());
        }
        for ((_, usage), Section { system_calls, signals }) in usage.iter_mut().zip(sections) {
            usage.system_calls = Some(each(system_calls));
            usage.signals = Some(each(signals));
        }
    }
    Ok(usage)
}
