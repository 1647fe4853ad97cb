//! The job of a run, and its outcome.

use super::Task;
use super::resume::Done;
use crate::case::{Case, Guests};
use crate::plan::{
    Budget, Cell, Compare, Filter, MAIN_PAGE, OVERVIEW, Plan, Rows, check_asked_threads, hint,
    keep_selected,
};
use crate::record::{CellKey, Header, MOST_WORKS, Match, Purpose, Refusal, Shard, Status};
use anyhow::{Result, bail, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;

/// A run that is about to begin or to resume.
pub struct Job {
    pub header: Header,
    pub cells: Vec<Cell>,
    /// Tasks that get more processes: cells of the main page, comparisons with a deadline.
    pub main: Vec<Task>,
    pub compares: Vec<Compare>,
    /// Comparisons that need pairs of processes of their own.
    pub contests: Vec<Match>,
    /// Refusals that are known beforehand.
    pub refusals: Vec<Refusal>,
    pub budget: Budget,
    /// `true` if all engines share this process.
    pub in_process: bool,
    pub done: Done,
}

/// Numbers of cells or comparisons, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub measured: usize,
    /// Left out, with a recorded reason.
    pub left_out: usize,
    /// Wrong, trapped or failed.
    pub failed: usize,
    /// Failed with a wrong output or a trap.
    pub wrong: usize,
    /// Measured, but with too few clean samples (†).
    pub marked: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Came {
    pub cells: Tally,
    pub comparisons: Tally,
    /// Number of workers that died.
    pub deaths: usize,
    /// `true` if the run was ended from outside.
    pub stopped: bool,
    /// `true` if nothing was to be done, because the record file is complete.
    pub was_complete: bool,
    pub broken_off: Option<String>,
}

impl Came {
    pub fn failed(&self) -> usize {
        self.cells.failed + self.comparisons.failed
    }

    /// `true` if there is a result: something was measured, and no output was wrong.
    pub fn has_result(&self) -> bool {
        let Self { cells, comparisons, .. } = self;
        cells.measured + comparisons.measured > 0 && cells.wrong + comparisons.wrong == 0
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
pub struct Selection {
    /// A filter over the names of cells and comparisons.
    #[arg(skip)]
    pub filter: Filter,
    /// Measure only these engines
    #[arg(long, value_name = "ENGINE,…", value_delimiter = ',')]
    pub engines: Vec<String>,
    /// Measure only these strategies
    #[arg(long, value_name = "STRATEGY,…", value_delimiter = ',')]
    pub strategies: Vec<touchstone_executor::Strategy>,
    /// Measure only these numbers of threads. Cells on more threads than processors are measured
    /// only if asked for here: threads then take turns, and their times stand in other tables
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub threads: Vec<usize>,
    /// Measure only shard I of N shards, and write --records FILE when the shard is complete, or
    /// nothing if FILE is complete already; `touchstone merge` joins the files of all shards
    #[arg(long, value_name = "I/N", requires = "records", conflicts_with_all = ["replace", "resume", "overview"])]
    pub shard: Option<Shard>,
    /// Measure an overview in one to two minutes: an empty call, a call that dirties memory, and a
    /// JSON text, on every engine, with Touchstone's strategies and the best of the runtime's own.
    /// Compare these in turns, in pairs of fresh processes
    #[arg(long)]
    pub overview: bool,
    /// The purposes of the comparisons to make.
    #[arg(skip)]
    pub purposes: Vec<Purpose>,
}

impl Selection {
    /// `true` if an option, such as `--engines`, leaves cells out.
    pub fn is_part(&self) -> bool {
        let Self { engines, strategies, threads, overview, .. } = self;
        *overview || engines.len() + strategies.len() + threads.len() > 0
    }

    fn has(&self, cell: &Cell) -> bool {
        let key = &cell.key;
        (self.engines.is_empty() || self.engines.contains(&key.engine))
            && (self.strategies.is_empty() || self.strategies.contains(&key.strategy))
            && (self.threads.is_empty() || self.threads.contains(&key.threads))
    }
}

/// Cells that the machine leaves out, as the end of a message.
fn skipped(plan: &Plan) -> String {
    let skipped = plan.refusals.iter().filter(|refusal| refusal.status == Status::Skipped);
    let reasons: BTreeSet<&str> = skipped.map(|refusal| refusal.reason.as_str()).collect();
    reasons.into_iter().map(|reason| format!("; {reason}")).collect()
}

impl Job {
    /// Selects cells and comparisons, and makes the header. Fails if a guest is missing, the file
    /// of comparisons is invalid, or nothing is selected.
    pub fn new(
        cases: &[Case],
        engines: &[Arc<dyn MeasuredEngine>],
        guests: &mut Guests,
        rows: &Path,
        selection: &Selection,
        budget: impl FnOnce(usize) -> Budget,
        in_process: bool,
    ) -> Result<Self> {
        let known: Vec<String> = engines.iter().map(|engine| engine.id().to_owned()).collect();
        if let Some(name) = selection.engines.iter().find(|name| !known.contains(name)) {
            bail!("there is no engine '{name}' in this build{}", hint(name, &known));
        }
        selection.threads.iter().try_for_each(|threads| check_asked_threads(*threads))?;
        let mut plan = Plan::new(cases, engines, guests)?;
        if selection.overview {
            keep_selected(&mut plan.cells, OVERVIEW)?;
            plan.crowded.clear();
        }
        let works = plan.works.len();
        ensure!(
            works <= MOST_WORKS,
            "{works} cases on guests; a record file holds at most {MOST_WORKS}"
        );
        let (mut compares, mut contests) = (Vec::new(), Vec::new());
        if !selection.purposes.is_empty() {
            let Selection { purposes, filter, .. } = selection;
            let rows = Rows::load(rows, cases)?;
            let (found, _) = rows.select(purposes, cases, engines, &plan, filter)?;
            for found in found.into_iter().filter(|found| selection.has(&found.subject)) {
                match found.of.purpose {
                    Purpose::Overview => contests.push(found.of),
                    _ => compares.push(found),
                }
            }
        }
        let is_meant = |cell: &Cell| cell.is_selected(&selection.filter) && selection.has(cell);
        let is_asked = |cell: &&Cell| selection.threads.contains(&cell.key.threads);
        let all = plan.cells.iter().chain(plan.crowded.iter().filter(is_asked));
        let mut cells: Vec<Cell> = all.filter(|cell| is_meant(cell)).cloned().collect();
        if cells.is_empty() && compares.is_empty() && contests.is_empty() {
            let names: Vec<String> = plan.cells.iter().map(Cell::name).collect();
            let is_met = names.iter().any(|name| selection.filter.matches(name));
            if let (Filter::Pattern(text), false) = (&selection.filter, is_met) {
                let text = text.as_str();
                bail!("nothing matches '{text}'{}", hint(text, &names));
            }
            bail!("nothing to measure: the options exclude every cell{}", skipped(&plan));
        }
        // Only selected engines need reasons for omissions.
        let wanted: BTreeSet<&str> = cells.iter().map(|cell| cell.key.engine.as_str()).collect();
        let is_asked = |threads: usize| selection.threads.contains(&threads);
        let is_needed =
            |r: &&Refusal| r.status != Status::Skipped || !r.threads.is_some_and(is_asked);
        let refusals = plan.refusals.iter().filter(|r| wanted.contains(&*r.engine));
        let refusals = refusals.filter(is_needed).cloned().collect();
        // That of the whole run, so that all shards of a run have the same.
        let budget = budget(cells.len() + compares.len());
        let mut header = super::header(budget.sampling(in_process), engines, &plan);
        if let Some(shard) = selection.shard {
            let keys: Vec<&CellKey> = cells.iter().map(|cell| &cell.key).collect();
            let names: Vec<&Match> = compares.iter().map(|compare| &compare.of).collect();
            header.questions = super::digest_of(&(keys, names))?;
            header.shard = Some(shard);
            cells.retain(|cell| shard.has(&cell.key.case, &cell.key.guest));
            compares.retain(|compare| shard.has(&compare.of.case, &compare.of.guest));
        }
        let mut main = if budget.most > 0 { cells.clone() } else { Vec::new() };
        keep_selected(&mut main, MAIN_PAGE)?;
        let deadlines = compares.iter().filter(|compare| compare.of.purpose == Purpose::Deadline);
        let deadlines = deadlines.map(|compare| Task::Compare(compare.of.clone()));
        let main = main.into_iter().map(|cell| Task::Cell(cell.key)).chain(deadlines).collect();
        let done = Done::default();
        Ok(Self { header, cells, main, compares, contests, refusals, budget, in_process, done })
    }

    /// All tasks, the comparisons first.
    pub fn tasks(&self) -> Vec<Task> {
        let compares = self.compares.iter().map(|compare| Task::Compare(compare.of.clone()));
        let cells = self.cells.iter().map(|cell| Task::Cell(cell.key.clone()));
        compares.chain(cells).collect()
    }

    pub fn name(&self, task: &Task) -> String {
        match task {
            Task::Cell(key) => {
                let cell = self.cells.iter().find(|cell| cell.key == *key);
                cell.map_or_else(|| key.name(None), Cell::name)
            }
            Task::Compare(of) => of.name(),
        }
    }
}
