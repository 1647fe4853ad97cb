//! `touchstone list`.

use super::Ended;
use super::common::Known;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use touchstone::case::Guests;
use touchstone::plan::Cell;
use touchstone::record::Refusal;
use touchstone::terminal::{Style, Table, complain, print};
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
        let known = Known::load()?;
        let cells = known.cells(self.filter.as_deref())?;
        let mut guests = Guests::built();
        let mut lines: Vec<Line> = cells.iter().map(|cell| line(cell, &mut guests)).collect();
        let refused = known.plan.refusals.iter().filter(|_| self.filter.is_none()).map(refusal);
        if !self.json {
            let refused: Vec<Line> = refused.collect();
            print(&text(&lines, &refused, &changes(&cells, &mut guests)))?;
            return Ok(Ended::Well);
        }
        lines.extend(refused);
        let json = |line| Ok(serde_json::to_string(line).context("as JSON")? + "\n");
        print(&lines.iter().map(json).collect::<Result<String>>()?)?;
        Ok(Ended::Well)
    }
}

/// The state that each guest can change, one line for each memory that its cases give it.
fn changes(cells: &[&Cell], guests: &mut Guests) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut changes = BTreeSet::new();
    for cell in cells.iter().filter(|cell| seen.insert((&cell.key.case, &cell.guest))) {
        match guests.module(&cell.guest, cell.case.heap) {
            Ok(module) => {
                changes.insert(format!(
                    "{} can change: {}",
                    cell.guest,
                    module.info().changeable()
                ));
            }
            Err(error) => complain(&format!("warning: {}: {error:#}", cell.guest)),
        }
    }
    changes
}

fn line(cell: &Cell, guests: &mut Guests) -> Line {
    let strategy = cell.key.strategy;
    let support = match guests.module(&cell.guest, cell.case.heap) {
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

fn table(lines: &[Line]) -> String {
    let head = ["case", "guest", "engine", "strategy", "threads", "status", "reason"];
    let mut table = Table::new(&head).right(&[4]);
    for line in lines {
        let Line { case, guest, engine, strategy, threads, status, reason } = line;
        let threads = threads.map_or_else(|| "*".to_owned(), |threads| threads.to_string());
        let reason = reason.as_deref().unwrap_or_default();
        table.row([case, guest, engine, strategy, &*threads, status, reason].map(str::to_owned));
    }
    table.render(Style::of_stdout())
}

fn text(lines: &[Line], refused: &[Line], changes: &BTreeSet<String>) -> String {
    let changes: String = changes.iter().map(|line| format!("{line}\n")).collect();
    let noun = if lines.len() == 1 { "cell" } else { "cells" };
    let refused = match refused.len() {
        0 => String::new(),
        count => format!("\n{}{count} reasons for what is left out\n", table(refused)),
    };
    format!("{}\n{changes}{} {noun}\n{refused}", table(lines), lines.len())
}
