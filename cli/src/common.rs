use super::Ended;
use anyhow::{Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use touchstone::case::{Case, Guests, Suite};
use touchstone::compare::Judged;
use touchstone::lab::obstacles;
use touchstone::plan::Plan;
use touchstone::record::{self, Book, RecordFile};
use touchstone::run::{Came, shown, watch_for_ctrl_c};
use touchstone::supervise::Stop;
use touchstone::terminal::{Style, Table, complain, print, warn_of_skipped};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_report::units;

/// Ends a stopped measurement: names the file of its records. Earlier records stay.
pub(super) fn stopped(records: &RecordFile) -> Ended {
    let part = shown(records.path());
    complain(&format!("stopped; what was measured is in {part}, earlier records are as before"));
    Ended::Stopped
}

#[derive(Debug, clap::Args)]
pub(super) struct CasesOf {
    /// Use the cases of DIR, with the guests (*.wasm, listed in SHA256SUMS) beside them, instead of
    /// the built-in ones; `touchstone init` makes such a folder
    #[arg(long, value_name = "DIR")]
    pub(super) cases: Option<PathBuf>,
}

impl CasesOf {
    /// A process of this program, on the same cases.
    pub(super) fn hand_to(&self, mut command: Command) -> Command {
        command.args(self.cases.iter().flat_map(|folder| [Path::new("--cases"), folder]));
        command
    }
}

/// All cases, the engines of this build, and their cells.
pub(super) struct Known {
    pub(super) cases: Vec<Case>,
    pub(super) engines: Vec<Arc<dyn MeasuredEngine>>,
    pub(super) plan: Plan,
    pub(super) guests: Guests,
}

impl Known {
    pub(super) fn load(suite: &Suite) -> Result<Self> {
        let (cases, engines) = (suite.cases()?, touchstone_runtimes::engines());
        let mut guests = suite.guests();
        let plan = Plan::new(&cases, &engines, &mut guests)?;
        Ok(Self { cases, engines, plan, guests })
    }
}

/// Before guests run: prints limits that keep runtimes from working, and watches for signals.
pub(super) fn begin(stop: &Stop, in_process: bool) -> Result<()> {
    for obstacle in obstacles() {
        complain(&format!("warning: {obstacle}"));
    }
    watch_for_ctrl_c(stop, in_process)
}

pub(super) fn print_lines(values: impl IntoIterator<Item = Value>) -> Result<()> {
    print(&values.into_iter().map(|value| format!("{value}\n")).collect::<String>())
}

/// The times of two sides, their ratio and its verdict.
pub(super) fn verdicts(head: [&str; 5], rows: &[(String, Judged)]) -> String {
    let mut table = Table::new(&head).right(&[1, 2]);
    for (name, judged) in rows {
        let [a, b] = [judged.subject.median, judged.baseline.median].map(units::time);
        let ratio = units::ratio_with_interval(&judged.ratio);
        table.row([name.clone(), a, b, ratio, judged.verdict.to_string()]);
    }
    table.render(Style::of_stdout())
}

/// The newest run of a record file, which `made_by` makes. Names unreadable lines.
pub(super) fn newest(path: &Path, made_by: &str) -> Result<Book> {
    let (book, skipped) = record::newest(path, made_by)?;
    warn_of_skipped(path, &skipped);
    Ok(book)
}

/// The end of a run. Fails with the reason if it was broken off.
pub(super) fn ended(came: &Came, is_good: bool) -> Result<Ended> {
    match &came.broken_off {
        Some(reason) => bail!("the run was broken off: {reason}"),
        None if came.stopped => Ok(Ended::Stopped),
        None => Ok(Ended::well_if(is_good)),
    }
}
