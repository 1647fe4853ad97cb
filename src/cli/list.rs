//! `touchstone list`.

use super::Ended;
use touchstone::terminal::{Style, Table, complain, print};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use touchstone::case::{self, Case};
use touchstone::lab::Guests;
use touchstone::plan::{Cell, Filter, Plan, near};
use touchstone::record::Refusal;
use touchstone_executor::Support;

/// Lists every cell (case, guest, engine, strategy, threads) and why others are left out.
///
/// Status `runtime`: the runtime implements the strategy. Status `touchstone`: Touchstone
/// implements it on top of the runtime. Below the table are the state that each guest can
/// change, which a strategy must restore, and what is left out, with the reason. Nothing is
/// compiled or run.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// List only cells whose name this regular expression matches
    filter: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// A row of the output; its fields are the keys of `--json`.
#[derive(serde::Serialize)]
struct Line {
    case: String,
    guest: String,
    engine: String,
    strategy: String,
    threads: Option<usize>,
    status: String,
    reason: Option<String>,
}

impl List {
    pub(super) fn execute(self) -> Result<Ended> {
        let cases = case::load_all(&case::default_folder())?;
        let mut guests = Guests::built();
        let plan = Plan::new(&cases, &touchstone_runtimes::engines(), &mut guests)?;
        let filter = Filter::new(self.filter.as_deref())?;
        let names: Vec<String> = plan.cells.iter().map(Cell::name).collect();
        let cells: Vec<&Cell> =
            plan.cells.iter().filter(|cell| filter.matches(&cell.name())).collect();
        if let (Some(text), true) = (&self.filter, cells.is_empty()) {
            bail!("no cell matches '{text}'{}", near(text, &names));
        }
        let lines: Vec<Line> = cells.iter().map(|cell| line(cell, &mut guests)).collect();
        let refused = || plan.refusals.iter().filter(|_| self.filter.is_none());
        let text = if self.json {
            json(&lines.into_iter().chain(refused().map(refusal)).collect::<Vec<_>>())?
        } else {
            let refused: Vec<Line> = refused().map(refusal).collect();
            table(&lines, &refused, &changes(&cases, &cells, &mut guests))
        };
        print(&text)?;
        Ok(Ended::Well)
    }
}

/// The state that each guest can change, one line for each memory that its cases give it.
fn changes(cases: &[Case], cells: &[&Cell], guests: &mut Guests) -> BTreeSet<String> {
    let mut changes = BTreeSet::new();
    let used: BTreeSet<(&str, &str)> =
        cells.iter().map(|cell| (cell.key.case.as_str(), cell.guest.as_str())).collect();
    for (name, guest) in used {
        let Some(case) = cases.iter().find(|case| case.name == name) else { continue };
        match guests.module(guest, case.heap.into()) {
            Ok(module) => {
                changes.insert(format!("{guest} can change: {}", module.info().changeable()));
            }
            Err(error) => complain(&format!("warning: {guest}: {error:#}")),
        }
    }
    changes
}

fn line(cell: &Cell, guests: &mut Guests) -> Line {
    let strategy = cell.key.strategy;
    let support = match guests.module(&cell.guest, cell.case.heap.into()) {
        Ok(guest) => cell.engine.support_for(strategy, &guest),
        Err(_) => cell.engine.support(strategy),
    };
    let (status, reason) = match support {
        Support::Unsupported { reason } => ("unsupported", Some(reason)),
        Support::Emulated { how } => ("touchstone", Some(how.to_owned())),
        Support::Native => ("runtime", None),
    };
    Line {
        case: cell.key.case.clone(),
        guest: cell.key.guest.clone(),
        engine: cell.key.engine.clone(),
        strategy: strategy.to_string(),
        threads: Some(cell.key.threads),
        status: status.to_owned(),
        reason,
    }
}

/// The row of a refusal; `*` stands for all.
fn refusal(refusal: &Refusal) -> Line {
    let all = |name: &Option<String>| name.clone().unwrap_or_else(|| "*".to_owned());
    Line {
        case: all(&refusal.case),
        guest: all(&refusal.guest),
        engine: refusal.engine.clone(),
        strategy: all(&refusal.strategy.map(|strategy| strategy.to_string())),
        threads: refusal.threads,
        status: refusal.status.to_string(),
        reason: Some(refusal.reason.clone()),
    }
}

fn json(lines: &[Line]) -> Result<String> {
    let mut text = String::new();
    for line in lines {
        text += &serde_json::to_string(line).context("a cell that JSON cannot hold")?;
        text.push('\n');
    }
    Ok(text)
}

fn table(lines: &[Line], refused: &[Line], changes: &BTreeSet<String>) -> String {
    let head = ["case", "guest", "engine", "strategy", "threads", "status", "reason"];
    let rows = |lines: &[Line]| {
        let mut table = Table::new(&head).right(&[4]);
        for line in lines {
            table.row([
                line.case.clone(),
                line.guest.clone(),
                line.engine.clone(),
                line.strategy.clone(),
                line.threads.map_or_else(|| "*".to_owned(), |threads| threads.to_string()),
                line.status.clone(),
                line.reason.clone().unwrap_or_default(),
            ]);
        }
        table.render(Style::of_stdout())
    };
    let changes: String = changes.iter().map(|line| format!("{line}\n")).collect();
    let noun = if lines.len() == 1 { "cell" } else { "cells" };
    let refused = match refused.len() {
        0 => String::new(),
        count => format!("\n{}{count} reasons for what is left out\n", rows(refused)),
    };
    format!("{}\n{changes}{} {noun}\n{refused}", rows(lines), lines.len())
}
