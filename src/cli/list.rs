//! `touchstone list`.

use super::Ended;
use super::output::{Style, Table, complain, print};
use anyhow::{Context, Result};
use std::collections::{BTreeSet, HashMap};
use touchstone::guests::Guests;
use touchstone::matrix::{self, Cell};
use touchstone::session::{cores, refused_beforehand};
use touchstone::{case, record};
use touchstone_executor::Support;
use touchstone_executor::guest::GuestModule;

/// Lists every cell (case, guest, backend, strategy, threads) and whether it can be run.
///
/// `supported`: the runtime does it itself. `emulated`: this project does it
/// with what the runtime offers. `unsupported`: it cannot be had, or not for
/// this guest. `skipped`: more threads than processors. Nothing is compiled or
/// run. Below the table stands what of its state each guest can change, which is
/// what a strategy has to bring back.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Regular expression over the cells' names, which are
    /// `<case>_from_<guest>/<backend>_<strategy>/<n>_threads`
    filter: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of the answer; its fields are the keys of `--json`.
#[derive(serde::Serialize)]
struct Line<'a> {
    case: &'a str,
    guest: &'a str,
    backend: &'a str,
    strategy: &'a str,
    threads: usize,
    status: &'static str,
    reason: Option<String>,
}

impl List {
    pub(super) fn execute(self) -> Result<Ended> {
        let cases = case::load_all(&case::default_folder())?;
        let cells = matrix::cells(&cases, &touchstone_runtimes::engines());
        let cells = matrix::select(cells, self.filter.as_deref())?;
        let mut prepared = Prepared { guests: Guests::built(), modules: HashMap::new() };
        let lines: Vec<Line<'_>> = cells.iter().map(|cell| line(cell, &mut prepared)).collect();
        let text = if self.json { json(&lines)? } else { table(&lines, &prepared.changes()) };
        print(&text)?;
        Ok(Ended::Well)
    }
}

/// The guests, looked at once each; `None` for one that cannot be had.
struct Prepared {
    guests: Guests,
    modules: HashMap<(String, String), Option<GuestModule>>,
}

impl Prepared {
    fn guest(&mut self, cell: &Cell) -> Option<&GuestModule> {
        let key = (cell.guest.clone(), cell.case.name.clone());
        let guests = &mut self.guests;
        let module = self.modules.entry(key).or_insert_with(|| {
            guests
                .module(&cell.guest, cell.case.heap.into())
                .map_err(|error| {
                    complain(&format!(
                        "warning: {}: {error:#}; listed without a look at the module",
                        cell.case.name
                    ));
                })
                .ok()
        });
        module.as_ref()
    }

    /// What each guest can change, in a line: as far as its cases give it
    /// different memories, each of them.
    fn changes(&self) -> Vec<String> {
        let looked_at = self.modules.iter().filter_map(|((guest, _), module)| {
            Some(format!("{guest} can change: {}", module.as_ref()?.info().changeable()))
        });
        looked_at.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn line<'a>(cell: &'a Cell, prepared: &mut Prepared) -> Line<'a> {
    let support = match prepared.guest(cell) {
        Some(guest) => cell.engine.support_for(cell.strategy, guest),
        None => cell.engine.support(cell.strategy),
    };
    let (status, reason) = match support {
        Support::Unsupported { reason } => ("unsupported", Some(reason)),
        // What is left to refuse is the number of threads.
        support => match (refused_beforehand(cell, cores()), support) {
            (Some(refused), _) => ("skipped", Some(refused.reason)),
            (None, Support::Emulated { how }) => ("emulated", Some(how.to_owned())),
            (None, _) => ("supported", None),
        },
    };
    let record::CellKey { case, guest, backend, strategy, threads, .. } = &cell.key;
    Line { case, guest, backend, strategy, threads: *threads, status, reason }
}

fn json(lines: &[Line<'_>]) -> Result<String> {
    let mut text = String::new();
    for line in lines {
        text += &serde_json::to_string(line).context("a cell that JSON cannot hold")?;
        text.push('\n');
    }
    Ok(text)
}

fn table(lines: &[Line<'_>], changes: &[String]) -> String {
    let head = ["case", "guest", "backend", "strategy", "threads", "status", "reason"];
    let mut table = Table::new(&head).right(&[4]);
    for line in lines {
        table.row([
            line.case.to_owned(),
            line.guest.to_owned(),
            line.backend.to_owned(),
            line.strategy.to_owned(),
            line.threads.to_string(),
            line.status.to_owned(),
            line.reason.clone().unwrap_or_default(),
        ]);
    }
    let counts: Vec<String> = ["supported", "emulated", "unsupported", "skipped"]
        .into_iter()
        .map(|status| {
            let count = lines.iter().filter(|line| line.status == status).count();
            format!("{count} {status}")
        })
        .collect();
    let all = lines.len();
    let noun = if all == 1 { "cell" } else { "cells" };
    let table = table.render(Style::of_stdout());
    let changes: String = changes.iter().map(|line| format!("{line}\n")).collect();
    format!("{table}\n{changes}{all} {noun}: {}\n", counts.join(", "))
}
