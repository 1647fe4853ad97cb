//! Counts of what calls cost: operators that the guest executes, page faults, system calls,
//! signals, bytes of code.
//!
//! Operators and sizes of guests are the same on every machine. Page faults, system calls
//! and signals are the same on every machine with the same kernel, sizes of artifacts on
//! every machine with the same processor. Counts need no samples. [`compare`] compares them
//! with stored ones.

mod gate;
mod operators;
mod trace;
mod usage;

pub use gate::{Change, Verdict, compare};
pub use usage::serve;

use anyhow::{Result, ensure};
use operators::Counter;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use touchstone::case::{Case, GuestName, Guests};
use touchstone::plan::{Cell, Filter, Plan};
use touchstone::record::{Book, Header, Line, RecordFile, Sampling, Sink, data};
use touchstone::run;
use touchstone::terminal::Progress;
use touchstone_executor::adapter::MeasuredEngine;

/// The content of `costs.toml`: cells that are counted call by call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selection {
    /// Regular expression over the names of cells.
    cells: String,
}

/// The counts, and what could not be counted.
#[derive(Debug)]
pub struct Counted {
    pub header: Header,
    pub lines: Vec<Line>,
    pub problems: Vec<String>,
    /// Why there are no system calls and signals, if they could not be traced.
    pub untraced: Option<String>,
}

/// Counts the operators of all cases, and page faults, system calls, signals and artifact sizes of
/// the cells in `costs.toml`, as far as the filter matches. `caller` makes the command of a process
/// that calls [`serve`]. At most `most` engines count the operators of a call; two if it is long.
/// Errors of single cases are among the problems.
pub fn count(
    cases: &[Case],
    engines: &[Arc<dyn MeasuredEngine>],
    most: usize,
    filter: &Filter,
    caller: impl Fn() -> Result<Command> + Sync,
) -> Result<Counted> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("costs.toml");
    let Selection { cells } = data::read(&file, "the selection of cells")?;
    let selected = Filter::new(Some(&cells))?;
    let plan = Plan::new(cases, engines, &mut Guests::built())?;
    let mut works = Vec::new();
    for case in cases {
        let case = Arc::new(case.clone());
        works.extend(case.guests.iter().map(|guest| (Arc::clone(&case), (**guest).to_owned())));
    }
    works.retain(|(case, guest)| filter.matches(&work(&case.name, guest)));
    let is_counted = |cell: &&Cell| {
        let name = cell.name();
        cell.key.threads == 1 && selected.matches(&name) && cell.is_selected(filter)
    };
    let cells: Vec<Cell> = plan.cells.iter().filter(is_counted).cloned().collect();
    let is_any = !works.is_empty() || !cells.is_empty();
    ensure!(is_any, "the filter matches no case and no counted cell");
    let progress = Progress::new(works.len() + cells.len(), true);
    let (mut lines, mut problems, mut untraced) = (Vec::new(), Vec::new(), None);
    // In parallel: the calls of the cells run in another process.
    let seen = std::thread::scope(|scope| {
        let counted = scope.spawn(|| {
            if cells.is_empty() {
                return Ok(Vec::new());
            }
            usage::count(caller()?, &cells, true, &progress).or_else(|error| {
                untraced = Some(format!("{error:#}"));
                usage::count(caller()?, &cells, false, &progress)
            })
        });
        let mut counter = Counter::new(engines, most, &plan);
        for (case, guest) in &works {
            let name = work(&case.name, guest);
            progress.next(name.clone());
            match counter.count(case, guest) {
                Ok(count) => lines.push(Line::Count(count)),
                Err(error) => problems.push(format!("{name}: {error:#}")),
            }
        }
        counted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    lines.extend(seen.into_iter().map(Line::Observations));
    let sampling = Sampling::untimed("counts", 0);
    Ok(Counted { header: run::header(sampling, engines, &plan), lines, problems, untraced })
}

impl Counted {
    pub fn book(&self) -> Book {
        Book::of(self.header.clone(), self.lines.clone())
    }
}

/// Replaces the stored counts in one step, so that a full disk or a kill leaves the old file
/// intact.
pub fn store(path: &Path, header: &Header, lines: &[Line]) -> Result<()> {
    let mut file = RecordFile::replacing(path)?;
    file.append(&Line::Run(Box::new(header.clone())))?;
    lines.iter().try_for_each(|line| file.append(line))?;
    file.finish()
}

/// The name of a case on a guest in filters and tables.
pub fn work(case: &str, guest: &str) -> String {
    format!("{case}_from_{}", GuestName::new(guest))
}
