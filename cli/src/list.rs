use super::Ended;
use super::common::{CasesOf, Known, print_lines};
use anyhow::Result;
use std::collections::BTreeSet;
use touchstone::case::Suite;
use touchstone::plan::{Cell, Filter};
use touchstone::record::{CellKey, Refusal};
use touchstone::terminal::{Style, Table, print};
use touchstone_executor::Support;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::guest::text::plural;

/// Lists every cell (case, guest, engine, strategy, threads), and the reasons for omitted ones.
///
/// Status `runtime`: the runtime implements the strategy. Status `touchstone`: Touchstone
/// implements it on top of the runtime. Below the table are the state that each guest can
/// change, which a strategy must restore, and the omitted combinations with the reason. Nothing
/// is compiled or run.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  touchstone list '^call_empty_function_from_test_runtime/.*/1_threads'"
)]
pub(super) struct List {
    /// List only cells whose name this regular expression matches
    filter: Option<String>,
    #[command(flatten)]
    of: CasesOf,
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
        let filter = Filter::new(self.filter.as_deref())?;
        let Known { plan, mut guests, .. } = Known::load(&Suite::of(self.of.cases.as_deref())?)?;
        // The state that each guest can change.
        let (mut lines, mut changes) = (Vec::new(), BTreeSet::new());
        for cell in plan.select(&filter)? {
            let module = guests.of_case(&cell.case, &cell.guest)?;
            changes.insert(format!(
                "{} can change: {}\n",
                cell.key.guest,
                module.info().changeable()
            ));
            lines.push(line(cell, &module));
        }
        let refused = plan.refusals.iter().filter(|_| self.filter.is_none()).map(refusal);
        if self.json {
            let lines = lines.into_iter().chain(refused).map(serde_json::to_value);
            print_lines(lines.collect::<Result<Vec<_>, _>>()?)?;
        } else {
            let changes: String = changes.into_iter().collect();
            let noun = plural("cell", lines.len());
            print(&format!("{}\n{changes}{} {noun}\n", table(&lines), lines.len()))?;
            let refused: Vec<Line> = refused.collect();
            if !refused.is_empty() {
                let reasons = refused.len();
                let table = table(&refused);
                print(&format!("\n{table}{reasons} reasons for what is left out\n"))?;
            }
        }
        Ok(Ended::Well)
    }
}

fn line(cell: &Cell, guest: &GuestModule) -> Line {
    let (status, reason) = match cell.engine.support_for(cell.key.strategy, guest) {
        Support::Unsupported { reason } => ("unsupported", Some(reason)),
        Support::Emulated { how } => ("touchstone", Some(how.to_owned())),
        Support::Native => ("runtime", None),
    };
    let CellKey { case, guest, engine, strategy, threads } = cell.key.clone();
    let (strategy, status) = (strategy.to_string(), status.to_owned());
    Line { case, guest, engine, strategy, threads: Some(threads), status, reason }
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
