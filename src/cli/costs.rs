//! `touchstone costs` and `touchstone gate`.

use super::Ended;
use touchstone::terminal::{Style, Table, complain, print, short};
use touchstone::terminal::progress::Progress;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;
use touchstone::case;
use touchstone::cost::count::{Counted, Job, default_plan};
use touchstone::cost::gate::{Change, Verdict, compare};
use touchstone::cost::{self, Costs as Counts, usage};
use touchstone::guests::Guests;
use touchstone::matrix::Filter;
use touchstone::session::Session;
use touchstone_executor::Config;

/// Counts what calls cost: operators that the guests execute, page faults, system calls,
/// signals, bytes of code.
///
/// Without --store, nothing is written. The operators of each case are counted by every
/// means that this build has, and have to be the same by all of them.
#[derive(Debug, clap::Args)]
pub(super) struct Costs {
    /// Regular expression over `<case>_from_<guest>` and over the cells' names
    filter: Option<String>,
    /// Replace the stored counts; not with a filter
    #[arg(long, conflicts_with = "filter")]
    store: bool,
    /// Where they are stored [default: $TOUCHSTONE_COSTS, or `costs.json` beside the
    /// records]
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

/// Counts again and compares with the stored counts: exits with 1 and a table of what
/// grew, if anything did.
///
/// Operators and sizes of guests are compared everywhere; page faults, system calls and
/// signals where the kernel is the one of the stored counts; sizes of artifacts where
/// the processor is.
#[derive(Debug, clap::Args)]
pub(super) struct Gate {
    /// Regular expression over `<case>_from_<guest>` and over the cells' names
    filter: Option<String>,
    /// Where the stored counts are [default: $TOUCHSTONE_COSTS, or `costs.json` beside
    /// the records]
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

/// Makes the calls that another process of this command counts.
#[derive(Debug, clap::Args)]
pub(super) struct CountedCalls {
    filter: Option<String>,
    #[arg(long)]
    traced: bool,
}

impl CountedCalls {
    pub(super) fn execute(self) -> Result<Ended> {
        let job = job(self.filter.as_deref())?;
        let mut session = Session::new(Guests::built(), Config::default()).without_times();
        usage::make_calls(&mut session, job.cells(), self.traced)?;
        Ok(Ended::Well)
    }
}

impl Costs {
    pub(super) fn execute(self) -> Result<Ended> {
        let Counted { costs, problems, untraced } = count(self.filter.as_deref())?;
        print(&table(&costs))?;
        say(&problems, untraced.as_deref());
        if !problems.is_empty() {
            return Ok(Ended::Badly);
        }
        if self.store {
            if let Some(reason) = untraced {
                bail!("counts without system calls are not stored: {reason}");
            }
            let path = self.costs.unwrap_or_else(cost::default_path);
            costs.store(&path)?;
            print(&format!("wrote {}\n", short(&path)))?;
        }
        Ok(Ended::Well)
    }
}

impl Gate {
    pub(super) fn execute(self) -> Result<Ended> {
        let path = self.costs.unwrap_or_else(cost::default_path);
        let mut stored = Counts::load(&path)?;
        if let Some(filter) = &self.filter {
            let filter = Filter::new(Some(filter));
            stored.operators.retain(|name, _| filter.matches(name));
        }
        let Counted { costs, problems, untraced } = count(self.filter.as_deref())?;
        let verdict = compare(&stored, &costs);
        say(&problems, untraced.as_deref());
        print(&words(&verdict))?;
        Ok(if verdict.is_open() && problems.is_empty() { Ended::Well } else { Ended::Badly })
    }
}

fn job(filter: Option<&str>) -> Result<Job> {
    let cases = case::load_all(&case::default_folder())?;
    let engines = touchstone_runtimes::engines();
    Job::new(&cases, &engines, &default_plan(), &Filter::new(filter))
}

fn count(filter: Option<&str>) -> Result<Counted> {
    let job = job(filter)?;
    let progress = Progress::new(job.steps(), true);
    let caller = |traced: bool| {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg("counted-calls").args(filter).args(traced.then_some("--traced"));
        Ok(command)
    };
    job.count(caller, |step| progress.next(step))
}

fn say(problems: &[String], untraced: Option<&str>) {
    for problem in problems {
        complain(&format!("not counted: {problem}"));
    }
    if let Some(reason) = untraced {
        complain(&format!("system calls and signals are not counted: {reason}"));
    }
}

fn table(costs: &Counts) -> String {
    let style = Style::of_stdout();
    let mut text = String::new();
    if !costs.operators.is_empty() {
        let head = ["operators", "second call", "guest bytes", "case and guest", "counted by"];
        let mut table = Table::new(&head).right(&[0, 1, 2]);
        for (name, one) in &costs.operators {
            table.row([
                one.operators.to_string(),
                one.warm.map_or_else(|| "-".to_owned(), |warm| warm.to_string()),
                one.guest_bytes.to_string(),
                name.clone(),
                one.counted_by.join(", "),
            ]);
        }
        text += &table.render(style);
    }
    if !costs.usage.is_empty() {
        let head = ["page faults", "system calls", "signals", "artifact bytes", "cell"];
        let mut table = Table::new(&head).right(&[0, 1, 2, 3]);
        for (name, one) in &costs.usage {
            table.row([
                number(one.page_faults),
                number(one.system_calls),
                number(one.signals),
                one.artifact_bytes.to_string(),
                name.clone(),
            ]);
        }
        text += "\n";
        text += &table.render(style);
    }
    text
}

/// A count or a mean; a dash where there is none.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn words(verdict: &Verdict) -> String {
    let style = Style::of_stdout();
    let mut text = String::new();
    for (changes, heading) in [
        (&verdict.grown, style.bad("grown")),
        (&verdict.shrunk, style.good("less than stored; `make costs` stores the new counts")),
    ] {
        if changes.is_empty() {
            continue;
        }
        text += &format!("{heading}\n");
        let mut table =
            Table::new(&["what", "stored", "now", "change", "where"]).right(&[1, 2, 3]).indented(2);
        for Change { name, what, stored, now } in changes {
            let change = match (stored, now) {
                (Some(stored), Some(now)) if *stored > 0.0 => {
                    format!("{:+.2} %", (now / stored - 1.0) * 100.0)
                }
                (None, _) => "new".to_owned(),
                (_, None) => "gone".to_owned(),
                _ => String::new(),
            };
            table.row([(*what).to_owned(), number(*stored), number(*now), change, name.clone()]);
        }
        text += &table.render(style);
    }
    for left_out in &verdict.left_out {
        text += &format!("not compared: {left_out}\n");
    }
    text += &match verdict.grown.len() {
        0 => format!("nothing grew: {} counts compared\n", verdict.compared),
        grown => format!(
            "{grown} counts grew or are new, of {} compared. If that is meant, `make costs` stores \
             the new ones, for the same commit.\n",
            verdict.compared
        ),
    };
    text
}
