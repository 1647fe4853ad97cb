//! What commands share.

use super::Ended;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::{self, Case, Guests};
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::plan::{Budget, Cell, Compare, Filter, Plan, near};
use touchstone::record::{self, Book, Comparison, Header, Refusal, Sink};
use touchstone::run::{
    Came, Finished, Host, Job, Progress, artifacts, header, run, shared_in, shown, watch_for_ctrl_c,
};
use touchstone::supervise::Stop;
use touchstone::terminal::warn_of_skipped;
use touchstone_executor::Engine;

/// The cases of the project.
pub(super) fn cases() -> Result<Vec<Case>> {
    case::load_all(&case::default_folder())
}

/// All cases, the engines of this build, and what the cases ask of them.
pub(super) struct Known {
    pub(super) cases: Vec<Case>,
    pub(super) engines: Vec<Arc<dyn Engine>>,
    pub(super) plan: Plan,
}

impl Known {
    pub(super) fn load() -> Result<Self> {
        let (cases, engines) = (cases()?, touchstone_runtimes::engines());
        let plan = Plan::new(&cases, &engines, &mut Guests::built())?;
        Ok(Self { cases, engines, plan })
    }

    /// The cells whose names a regular expression matches: at least one, if there is one.
    pub(super) fn cells(&self, filter: Option<&str>) -> Result<Vec<&Cell>> {
        let pattern = Filter::new(filter)?;
        let all = &self.plan.cells;
        let cells: Vec<&Cell> = all.iter().filter(|cell| pattern.matches(&cell.name())).collect();
        if let (Some(text), true) = (filter, cells.is_empty()) {
            let names: Vec<String> = all.iter().map(Cell::name).collect();
            bail!("no cell matches '{text}'{}", near(text, &names));
        }
        Ok(cells)
    }
}

/// This program with other arguments.
pub(super) fn this_program(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(arguments);
    Ok(command)
}

/// A run of comparisons alone.
pub(super) struct Comparing<'a> {
    pub(super) cases: &'a [Case],
    pub(super) engines: &'a [Arc<dyn Engine>],
    /// What the run's header describes.
    pub(super) plan: &'a Plan,
    pub(super) compares: Vec<Compare>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) budget: Budget,
    /// Longest time of a comparison in a process.
    pub(super) limit: Duration,
}

impl Comparing<'_> {
    /// Makes the comparisons in fresh processes of this program; the lines go to `sink`.
    pub(super) fn run(self, sink: &mut dyn Sink) -> Result<(Came, Header)> {
        let Self { cases, engines, plan, compares, refusals, budget, limit } = self;
        let header = header(budget.sampling(false), engines, plan);
        let steps = compares.len() * budget.processes as usize;
        let job = Job {
            header: header.clone(),
            cells: Vec::new(),
            compares,
            refusals,
            budget,
            in_process: false,
            done: Finished::default(),
        };
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, false)?;
        let artifacts = artifacts()?;
        let host = Host {
            cases,
            engines,
            guests: &Guests::built,
            worker: &super::bench::worker,
            limit,
            artifacts: Some(shared_in(&artifacts)),
            stop,
        };
        Ok((run(job, &host, sink, &mut Progress::new(steps))?, header))
    }
}

/// The newest run of a record file. Lines that cannot be read are named.
pub(super) fn newest(path: &Path) -> Result<Book> {
    let mut loaded = record::load(path)?;
    warn_of_skipped(path, &loaded.skipped);
    let (path, run) = (shown(path), loaded.runs.pop());
    let (header, lines) = run.with_context(|| {
        format!("{path} holds no run that this build can read; `make bench` makes one")
    })?;
    Ok(Book::of(header, lines))
}

/// What the processes of a comparison come to together.
pub(super) fn judged(processes: &[Comparison]) -> Option<Judged> {
    judge(processes, MARGIN)
}

/// How a run ended.
pub(super) fn ended(came: &Came) -> Ended {
    if came.stopped { Ended::Stopped } else { Ended::well_if(came.failed() == 0) }
}
