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

use crate::case::{Case, Guests};
use crate::files;
use crate::plan::{Cell, Filter, Plan};
use crate::record::{self, Book, Header, Line, Sampling};
use crate::run;
use anyhow::{Context, Result, bail};
use operators::Counter;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use touchstone_executor::Engine;

/// Which cells are counted call by call, as `benches/costs.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    usage: Usage,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Usage {
    /// Regular expression over the names of cells.
    cells: String,
}

/// The file that selects cells: `benches/costs.toml` in the project.
#[must_use]
pub fn default_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/costs.toml")
}

/// The selected counts.
pub struct Job<'a> {
    engines: &'a [Arc<dyn Engine>],
    plan: Plan,
    works: Vec<(Arc<Case>, String)>,
    cells: Vec<Cell>,
}

/// The counts, and what could not be counted.
#[derive(Debug)]
pub struct Counted {
    /// The header of the run.
    pub header: Header,
    /// The counts.
    pub lines: Vec<Line>,
    /// Why counts are missing.
    pub problems: Vec<String>,
    /// Why there are no system calls and signals, if they could not be traced.
    pub untraced: Option<String>,
}

impl<'a> Job<'a> {
    /// The operators of all cases, and page faults, system calls, signals and artifact sizes
    /// of the cells that the file selects, as far as the filter matches them.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a guest is missing, or the filter matches nothing.
    pub fn new(
        cases: &[Case],
        engines: &'a [Arc<dyn Engine>],
        file: &Path,
        filter: &Filter,
    ) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let parsed: File =
            toml::from_str(&text).with_context(|| format!("{} is wrong", file.display()))?;
        let selected = Filter::new(Some(&parsed.usage.cells))
            .with_context(|| format!("the cells in {}", file.display()))?;
        let mut works = Vec::new();
        for case in cases {
            let case = Arc::new(case.clone());
            works.extend(case.guests.iter().map(|guest| (Arc::clone(&case), guest.clone())));
        }
        works.retain(|(case, guest)| filter.matches(&work(&case.name, guest)));
        let plan = Plan::new(cases, engines, &mut Guests::built())?;
        let is_counted = |cell: &&Cell| {
            let name = cell.name();
            cell.key.threads == 1 && selected.matches(&name) && filter.matches(&name)
        };
        let cells: Vec<Cell> = plan.cells.iter().filter(is_counted).cloned().collect();
        if works.is_empty() && cells.is_empty() {
            bail!("the filter matches no case and none of the cells that are counted");
        }
        Ok(Self { engines, plan, works, cells })
    }

    /// Largest number of steps that `progress` receives.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.works.len() + self.cells.len()
    }

    /// Counts. `caller` makes the command that starts the process with the counted calls, which
    /// must call [`serve`].
    ///
    /// # Errors
    ///
    /// When the calls cannot be made. Errors of single cases are among the problems.
    pub fn count(
        &self,
        caller: impl Fn() -> Result<Command>,
        mut progress: impl FnMut(String),
    ) -> Result<Counted> {
        let (mut lines, mut problems, mut untraced) = (Vec::new(), Vec::new(), None);
        let mut counter = Counter::new(self.engines, &self.plan);
        for (case, guest) in &self.works {
            let name = work(&case.name, guest);
            progress(name.clone());
            match counter.count(case, guest) {
                Ok(count) => lines.push(Line::Count(count)),
                Err(error) => problems.push(format!("{name}: {error:#}")),
            }
        }
        drop(counter);
        if !self.cells.is_empty() {
            let seen = match usage::count(caller()?, &self.cells, true, &mut progress) {
                Ok(seen) => seen,
                Err(error) => {
                    untraced = Some(format!("{error:#}"));
                    usage::count(caller()?, &self.cells, false, &mut progress)?
                }
            };
            lines.extend(seen.into_iter().map(Line::Observations));
        }
        let sampling = Sampling {
            name: "counts".to_owned(),
            seed: 0,
            processes: 1,
            samples: 1,
            sample_us: 0,
            in_process: false,
        };
        let header = run::header(sampling, self.engines, &self.plan);
        Ok(Counted { header, lines, problems, untraced })
    }
}

impl Counted {
    /// The counts as indexed records.
    #[must_use]
    pub fn book(&self) -> Book {
        Book::of(self.header.clone(), self.lines.clone())
    }
}

/// Replaces the stored counts in one step: a full disk or a kill leaves the old file whole.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn store(path: &Path, header: &Header, lines: &[Line]) -> Result<()> {
    let header = Line::Run(Box::new(header.clone()));
    let mut text = Vec::new();
    for line in std::iter::once(&header).chain(lines) {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    files::stage(path, &text)?.commit()?;
    Ok(())
}

/// Reads stored counts: the newest run of a file.
///
/// # Errors
///
/// When the file cannot be read, or holds no run of this layout.
pub fn load(path: &Path) -> Result<Book> {
    let unreadable =
        || format!("cannot read the counts in {}; `make costs` makes them", path.display());
    let loaded = record::load(path).with_context(unreadable)?;
    let Some((header, lines)) = loaded.runs.into_iter().next_back() else {
        let why = loaded.skipped.first();
        let why = why.map_or_else(String::new, |skipped| format!(": {}", skipped.reason));
        bail!("{} holds no counts{why}; `make costs` makes them anew", path.display());
    };
    Ok(Book::of(header, lines))
}

/// The name of a case on a guest in filters and tables.
#[must_use]
pub fn work(case: &str, guest: &str) -> String {
    format!("{case}_from_{}", guest.replace('-', "_"))
}
