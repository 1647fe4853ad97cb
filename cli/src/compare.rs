use super::Ended;
use super::common::{CasesOf, begin, newest, print_lines, verdicts};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use touchstone::case::{self, Suite};
use touchstone::compare::{Judged, MARGIN, Verdict, of_records};
use touchstone::contest::{Contest, FromSide, Made, ToSide, contest, serve_side};
use touchstone::plan::{Budget, check_threads, hint};
use touchstone::record::{Contender, Executor, Match, Means, Purpose, Role};
use touchstone::run::seed;
use touchstone::supervise::{Parent, Stop, this_program};
use touchstone::terminal::{Progress, complain, print};
use touchstone_executor::Strategy;
use touchstone_executor::adapter::MeasuredEngine;

/// Compares two executors, two stored runs, or two builds of this program.
///
/// A and B are executors (`<engine>_<strategy>`, as listed by `touchstone list`), record
/// files, or paths of `touchstone` programs; programs need --executor. The ratio is the time
/// of A over the time of B: times slower than the baseline B. Executors and builds run in pairs
/// of fresh processes that make rounds in turns, in random order. The verdict compares the 95 %
/// interval of the ratio with the threshold: *equivalent* if it lies within, *slower* or
/// *faster* if it lies beyond, otherwise *not enough data*. The command
/// ends with a verdict, after at least 12 pairs of processes.
///
/// Exits with 1 when A is slower than B.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  touchstone compare wasmtime_pooling_cow_resident wasmtime_instance_reuse_tracked"
)]
pub(super) struct Compare {
    /// The subject
    #[arg(required_unless_present = "side")]
    a: Option<String>,
    /// The baseline
    #[arg(required_unless_present = "side")]
    b: Option<String>,
    /// Treat differences of up to this many per cent as equivalent [default: 2, for two builds 8]
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    threshold: Option<f64>,
    #[command(flatten)]
    cases: CasesOf,
    /// Call the export of this case, or of <case>_from_<guest> [default: the empty call]
    #[arg(long)]
    case: Option<String>,
    /// Call this guest [default: the first of the case]
    #[arg(long)]
    guest: Option<String>,
    /// Make calls on N threads at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Run this executor in both builds
    #[arg(long, value_name = "EXECUTOR")]
    executor: Option<String>,
    /// Start at most N pairs of fresh processes
    #[arg(long, value_name = "N", default_value_t = 200)]
    processes: u32,
    /// Make N rounds in each pair of processes
    #[arg(long, value_name = "N", default_value_t = 9)]
    rounds: usize,
    /// Use this seed for the order [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Serve as one side of a comparison of another process
    #[arg(long, hide = true)]
    side: bool,
}

/// The margin for two builds, which the order of their functions alone does not reach: see
/// METHODOLOGY.md, Comparisons.
const LAYOUT: f64 = 0.08;

impl Compare {
    pub(super) fn execute(self) -> Result<Ended> {
        let engines = touchstone_runtimes::engines();
        let suite = Suite::of(self.cases.cases.as_deref())?;
        if self.side {
            let cases = suite.cases()?;
            let parent = Parent::<ToSide, FromSide>::join()?;
            let parent = parent.context("--side is for this program's own use")?;
            serve_side(parent, &cases, &engines, suite.guests())?;
            return Ok(Ended::Well);
        }
        ensure!(
            self.threshold.is_none_or(|own| own > 0.0 && own <= MOST_THRESHOLD),
            "--threshold must be a number above 0 and up to {MOST_THRESHOLD}"
        );
        let margin = |default: f64| self.threshold.map_or(default, |own| own / 100.0);
        ensure!(
            self.processes > 0 && self.rounds > 0,
            "--processes and --rounds must be at least 1"
        );
        let (Some(a), Some(b)) = (&self.a, &self.b) else {
            bail!("name the subject A and the baseline B")
        };
        check_threads(self.threads)?;
        match (is_file(&engines, a)?, is_file(&engines, b)?) {
            (true, true) if is_program(Path::new(a)) && is_program(Path::new(b)) => {
                let executor = self.executor.as_deref();
                let executor =
                    executor.context("two builds need --executor, the executor that both run")?;
                let label = |path: &str| Means::Build(path.to_owned());
                let of = self.of(&suite, &engines, (executor, label(a)), (executor, label(b)))?;
                let side = |path: &str| Ok(self.cases.hand_to(side(Path::new(path))));
                self.contest(of, &|| side(a), &|| side(b), margin(LAYOUT))
            }
            (true, true) => self.records(Path::new(a), Path::new(b), margin(MARGIN)),
            (false, false) => {
                let of = self.of(&suite, &engines, (a, Means::Contract), (b, Means::Contract))?;
                let side = || Ok(self.cases.hand_to(own_side()));
                self.contest(of, &side, &side, margin(MARGIN))
            }
            _ => bail!("one of '{a}' and '{b}' is a file and the other is not; give two of a kind"),
        }
    }

    fn of(
        &self,
        suite: &Suite,
        engines: &[Arc<dyn MeasuredEngine>],
        a: (&str, Means),
        b: (&str, Means),
    ) -> Result<Match> {
        let cases = suite.cases()?;
        let (case, guest) = match &self.case {
            Some(name) => case::find_work(&cases, name)?,
            None => {
                let empty = cases.iter().find(|case| case.role == Some(Role::EmptyCall));
                let none = "there is no case with an empty call; name a case with --case";
                (empty.context(none)?, None)
            }
        };
        let guest = match &self.guest {
            None => guest.unwrap_or(&case.guests[0]),
            Some(name) => case.guest(name)?,
        };
        let contender = |(name, means): (&str, Means)| {
            let executor = executor(engines, name)?;
            anyhow::Ok(Contender { executor, threads: self.threads, means })
        };
        let (case, guest) = (case.name.clone(), guest.to_string());
        let (subject, baseline) = (contender(a)?, contender(b)?);
        Ok(Match { purpose: Purpose::Asked, case, guest, subject, baseline })
    }

    fn contest(
        &self,
        of: Match,
        subject: &dyn Fn() -> Result<Command>,
        baseline: &dyn Fn() -> Result<Command>,
        margin: f64,
    ) -> Result<Ended> {
        let stop = Stop::default();
        begin(&stop, false)?;
        let (name, processes) = (of.work(), self.processes);
        let budget = Budget { rounds: self.rounds, ..Budget::full(seed(self.seed)) };
        let longest = None;
        let asked = Contest { of, subject, baseline, processes, longest, budget, margin, stop };
        let progress = Progress::new(processes as usize, true);
        let pair = |process| {
            progress.next(format!("pair of processes {} of at most {processes}", process + 1));
        };
        let mut made = Made::default();
        let came = contest(&asked, pair, &mut made);
        drop(progress);
        let print = |own| self.print(&[(name, own)], margin);
        let ended = made.judged.map_or(Ok(Ended::Badly), print)?;
        if asked.stop.asked() {
            return Ok(Ended::Stopped);
        }
        came.map(|()| ended)
    }

    fn records(&self, a: &Path, b: &Path, margin: f64) -> Result<Ended> {
        let (a, b) = (newest(a, "touchstone bench")?, newest(b, "touchstone bench")?);
        if a.header.machine != b.header.machine {
            complain("warning: the two runs were made on different machines");
        }
        let common = of_records(&a, &b, margin);
        ensure!(!common.is_empty(), "the two runs have no cell in common");
        let rows: Vec<(String, Judged)> =
            common.iter().map(|(cell, judged)| (b.name(cell), *judged)).collect();
        self.print(&rows, margin)
    }

    fn print(&self, rows: &[(String, Judged)], margin: f64) -> Result<Ended> {
        let is_slower = rows.iter().any(|(_, judged)| judged.verdict == Verdict::Slower);
        let ended = Ended::well_if(!is_slower);
        if self.json {
            let line = |(name, judged): &(String, Judged)| {
                let (low, high) = judged.ratio.interval.unzip();
                serde_json::json!({
                    "name": name,
                    "ratio": judged.ratio.median,
                    "low": low,
                    "high": high,
                    "marked": judged.ratio.marked,
                    "verdict": judged.verdict.to_string(),
                    "a_ns": judged.subject.median,
                    "b_ns": judged.baseline.median,
                })
            };
            print_lines(rows.iter().map(line))?;
            return Ok(ended);
        }
        let is_marked = rows.iter().any(|(_, judged)| judged.ratio.marked);
        print(&format!(
            "{}\nA / B: times slower than the baseline B; threshold {} %{}\n",
            verdicts(["", "A", "B", "A / B [95 %]", "verdict"], rows),
            (margin * 1e5).round() / 1e3,
            if is_marked { "; †: interference left too few clean rounds" } else { "" }
        ))?;
        Ok(ended)
    }
}

pub(super) fn own_side() -> Command {
    this_program(&["compare", "--side"])
}

/// The largest difference that may be called equivalent, per cent.
const MOST_THRESHOLD: f64 = 1000.0;

fn side(program: &Path) -> Command {
    let program = std::fs::canonicalize(program).unwrap_or(program.to_owned());
    let mut command = Command::new(program);
    command.args(["compare", "--side"]);
    command
}

/// `true` for a file, `false` for an executor. Fails if the name is neither.
fn is_file(engines: &[Arc<dyn MeasuredEngine>], name: &str) -> Result<bool> {
    if Path::new(name).exists() {
        return Ok(true);
    }
    let known = executor(engines, name);
    ensure!(known.is_ok() || !name.contains(['/', '.']), "there is no file '{name}'");
    known.map(|_| false)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn executor(engines: &[Arc<dyn MeasuredEngine>], name: &str) -> Result<Executor> {
    let found = name.parse::<Executor>().ok();
    let found = found.filter(|found| engines.iter().any(|engine| engine.id() == found.engine));
    found.with_context(|| {
        let mut names = Vec::new();
        for engine in engines {
            let all = Strategy::all().into_iter();
            let all = all.filter(|strategy| engine.support(*strategy).is_supported());
            names.extend(all.map(|strategy| format!("{}_{strategy}", engine.id())));
        }
        let near = hint(name, &names);
        format!("'{name}' is neither a file nor an executor of this build{near}")
    })
}
