//! `touchstone repeat`.

use super::Ended;
use super::output::{Style, Table, print};
use super::progress::Progress;
use anyhow::{Context, Result};
use std::time::Duration;
use touchstone::guests::Guests;
use touchstone::measure::{Beside, PhaseTimes, Side, phases, until_quiet, watched};
use touchstone::session::{Opened, Session};
use touchstone::{case, matrix};
use touchstone_executor::Config;
use touchstone_executor::probe::thread_usage;

/// Makes the same call again and again and says what each one costs: time, its
/// parts, page faults, switches.
///
/// Meant to be looked into from outside while it runs:
/// `perf record -- touchstone repeat …`, `strace -cf touchstone repeat …`. The
/// output is compared before and after, as always.
#[derive(Debug, clap::Args)]
pub(super) struct Repeat {
    /// Regular expression over the cells' names, which are
    /// `<case>_from_<guest>/<backend>_<strategy>/<n>_threads`; the cells that it
    /// means are taken one after the other
    filter: String,
    /// How long each
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// So many calls instead
    #[arg(long)]
    calls: Option<u64>,
}

/// Time between two looks at the clock; on several threads the others begin and end
/// with it.
const TURN: Duration = Duration::from_millis(50);

/// How long to wait for a core that nothing else uses, for the parts of a call.
const PATIENCE: Duration = Duration::from_secs(1);

/// What one cell came to.
struct Row {
    name: String,
    calls: u64,
    ns: f64,
    phases: PhaseTimes,
    faults: f64,
    switches: f64,
    system_ns: f64,
}

impl Repeat {
    pub(super) fn execute(self) -> Result<Ended> {
        let cases = case::load_all(&case::default_folder())?;
        let cells = matrix::cells(&cases, &touchstone_runtimes::engines());
        let cells = matrix::select(cells, Some(&self.filter))?;
        let mut session = Session::new(Guests::built(), Config::default());
        let (mut rows, mut refused) = (Vec::new(), Vec::new());
        let progress = Progress::new(cells.len(), true);
        for cell in &cells {
            let name = cell.key.id();
            progress.next(name.clone());
            match session.open(cell) {
                Ok(opened) => {
                    let row = self.repeat(&opened, cell.key.threads, &name);
                    rows.push(row.with_context(|| name.clone())?);
                }
                Err(reason) => refused.push(format!("{name}: {reason}")),
            }
        }
        drop(progress);
        print(&table(&rows, &refused))?;
        Ok(if rows.is_empty() { Ended::Badly } else { Ended::Well })
    }

    fn repeat(&self, opened: &Opened, threads: usize, name: &str) -> Result<Row> {
        let mut patience = PATIENCE;
        let phases = || watched(|| phases(opened, Duration::from_millis(50)));
        let (phases, _) = until_quiet(&mut patience, phases)?;
        let mut side = match threads {
            1 => Beside::alone(opened)?,
            several => Beside::start(opened, several)?,
        };
        let a_turn = (TURN.as_nanos() as u64 / opened.estimate_ns.max(1)).max(1);
        // Warm: what the first calls bring into memory is not every call's.
        side.time(a_turn.min(1000))?;
        let before = thread_usage().context("the kernel does not count")?;
        let at_most = Duration::from_secs_f64(self.seconds.clamp(0.0, 3600.0));
        let (mut calls, mut took) = (0, Duration::ZERO);
        while self.calls.map_or(took < at_most, |wanted| calls < wanted) {
            let turn = self.calls.map_or(a_turn, |wanted| a_turn.min(wanted - calls));
            took += side.time(turn)?;
            calls += turn;
        }
        let after = thread_usage().context("the kernel does not count")?;
        side.done().others_kept_up()?;
        side.stop()?;
        let each = |count: u64| count as f64 / calls.max(1) as f64;
        Ok(Row {
            name: name.to_owned(),
            calls,
            ns: each(took.as_nanos() as u64),
            phases,
            faults: each(after.page_faults - before.page_faults),
            switches: each(after.switches - before.switches),
            system_ns: each((after.system - before.system).as_nanos() as u64),
        })
    }
}

fn table(rows: &[Row], refused: &[String]) -> String {
    let head = [
        "cell",
        "calls",
        "ns a call",
        "prepare",
        "invoke",
        "finish",
        "in the kernel",
        "faults",
        "switches",
    ];
    let mut table = Table::new(&head).right(&[1, 2, 3, 4, 5, 6, 7, 8]);
    for row in rows {
        let whole = |value: f64| format!("{value:.0}");
        table.row([
            row.name.clone(),
            row.calls.to_string(),
            whole(row.ns),
            whole(row.phases.prepare_ns as f64),
            whole(row.phases.invoke_ns as f64),
            whole(row.phases.finish_ns as f64),
            whole(row.system_ns),
            format!("{:.3}", row.faults),
            format!("{:.4}", row.switches),
        ]);
    }
    let mut text = table.render(Style::of_stdout());
    for refusal in refused {
        text += &format!("not run: {refusal}\n");
    }
    text
}
