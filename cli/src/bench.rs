use super::Ended;
use super::common::{CasesOf, begin, ended};
use super::compare::own_side;
use super::report::Report;
use anyhow::{Context, Result};
use std::process::Command;
use std::time::Duration;
use touchstone::case::Suite;
use touchstone::compare::MARGIN;
use touchstone::contest::{Contest, Made, contest};
use touchstone::files::{self, FilePath};
use touchstone::plan::Budget;
use touchstone::record::{Comparison, MOST_PROCESSES, Match, Purpose};
use touchstone::run::{Arguments, Asked, serve_if_worker, shown};
use touchstone::supervise::{Stop, this_program};
use touchstone::terminal::{Progress, complain, print};
use touchstone_report::{self as report, Options};

/// Measures cells and comparisons, and appends the records.
///
/// A cell is a case on a guest, an engine, a strategy and a number of threads. Each is measured in
/// at least three fresh processes, one per engine and pass, in random order. The output is compared
/// before anything is timed. A probe detects interference by other tenants of the processor.
/// Samples with interference are repeated, and estimates with too few clean samples are marked † in
/// the report.
///
/// With --cases DIR, a report goes to DIR, and so do the records unless --records is given.
///
/// Several machines of one kind can share a run: each measures shards (--shard), and
/// `touchstone merge` joins their records.
///
/// Exits with 0 if something was measured or a shard is complete, and with 1 if nothing was, or if
/// an output was wrong or a guest trapped. Cells that fail otherwise are listed in the report.
/// Exits with 2 if the run was broken off; the report then shows what was measured before. After
/// Ctrl-C it exits with 130, after SIGTERM with 143.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("cases", |cases| cases.conflicts_with("overview")),
    after_help = "Example:\n  touchstone bench --overview --sampling quick --records /tmp/quick/records.jsonl --report"
)]
pub(super) struct Bench {
    #[command(flatten)]
    arguments: Arguments,
    #[command(flatten)]
    of: CasesOf,
    /// Write the report afterwards, as `touchstone report --draft` does: of --records FILE beside
    /// FILE, otherwise into the project, whose page needs all cells
    #[arg(long)]
    report: bool,
    /// Serve as a worker process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

impl Bench {
    pub(super) fn execute(self) -> Result<Ended> {
        let suite = Suite::of(self.of.cases.as_deref())?;
        let engines = touchstone_runtimes::engines();
        if self.worker {
            anyhow::ensure!(
                serve_if_worker(&engines, &suite)?,
                "--worker is for this program's own use"
            );
            return Ok(Ended::Well);
        }
        let purposes = match (&self.of.cases, self.arguments.selection.overview) {
            // The comparisons are of the project's own cases.
            (Some(_), _) => Vec::new(),
            (None, true) => vec![Purpose::Overview],
            (None, false) => {
                vec![Purpose::Null, Purpose::Overhead, Purpose::Deadline, Purpose::Against]
            }
        };
        let stop = Stop::default();
        let asked = Asked {
            arguments: &self.arguments,
            suite: &suite,
            engines: &engines,
            purposes,
            worker: &|| Ok(self.of.hand_to(worker())),
            pairs: &|of, seed, made| in_pairs(of, seed, made, LONGEST, &stop),
        };
        let is_part = asked.prints_records() || self.arguments.selection.shard.is_some();
        anyhow::ensure!(
            !(is_part && self.report),
            "--report needs a record file with all shards: leave --shard and '-' out, or merge first"
        );
        let is_reported = !is_part && (self.report || self.of.cases.is_some());
        let report = is_reported.then(|| {
            let is_named = self.of.cases.is_some() || self.arguments.records.is_some();
            let records = is_named.then(|| asked.records().path().to_owned());
            Report::draft(self.of.cases.as_deref(), records).options()
        });
        let has_all = self.arguments.filter.is_none() && !self.arguments.selection.is_part();
        anyhow::ensure!(
            has_all || report.as_ref().is_none_or(|own| own.readme.is_none()),
            "--report would leave only these cells on the project's page; add --records FILE"
        );
        let (cases, job) = asked.job()?;
        if let Some(options) = &report {
            // Found before the run, not after it.
            files::stage(&options.page, &[]).context("make the folder of the report writable")?;
            let folder = FilePath::within(files::folder_of(&options.page))?;
            files::read(&folder.or_elsewhere(&options.page))?;
        }
        begin(&stop, self.arguments.in_process)?;
        if self.arguments.selection.overview {
            let engines = engines.len();
            complain(&format!(
                "measuring {} cells and {} comparisons on {engines} engines, which takes about a \
                 minute, and several beside other work",
                job.cells.len(),
                job.contests.len()
            ));
        }
        let steps = job.tasks().len() * job.budget.processes as usize + job.contests.len();
        let mut progress = Progress::new(steps, true);
        let came = asked.run(&cases, job, &stop, &mut progress)?;
        drop(progress);
        if came.was_complete {
            let path = asked.records();
            complain(&format!("{} is complete; nothing was measured", shown(path.path())));
            return Ok(Ended::Well);
        }
        complain(&format!(
            "{} cells and {} comparisons measured, {} and {} of them marked †; {} left out with the \
             reason, {} failed; records: {}",
            came.cells.measured,
            came.comparisons.measured,
            came.cells.marked,
            came.comparisons.marked,
            came.cells.left_out,
            came.failed(),
            shown(asked.records().path())
        ));
        if came.stopped {
            complain("stopped; what is finished is recorded: continue with --resume");
        }
        let reported = report.filter(|_| !came.stopped).map_or(Ok(()), |options| write(&options));
        if let (Err(error), Some(_)) = (&reported, &came.broken_off) {
            complain(&format!("error: cannot write the report: {error:#}"));
        }
        // A shard may have nothing that this build can measure.
        let is_empty = self.arguments.selection.shard.is_some() && came.failed() == 0;
        let ended = ended(&came, came.has_result() || is_empty)?;
        reported.map(|()| ended)
    }
}

/// Writes the report in spite of failures and broken rules of the publishing gate.
fn write(options: &Options) -> Result<()> {
    let made = report::write(options)?;
    super::report::warn(&made);
    let interactive = made.files.iter().find(|file| file.ends_with("benchmark/index.html"));
    let pages = [Some(&options.page), interactive].into_iter().flatten().map(|page| shown(page));
    print(&made.summary)?;
    complain(&format!("report: {}", pages.collect::<Vec<_>>().join(", ")));
    Ok(())
}

/// Longest time of a comparison of the overview, but for its first pairs of processes.
const LONGEST: Duration = Duration::from_secs(6);

/// Makes a comparison as `touchstone compare` does, in about the longest time, and adds its pairs.
pub(super) fn in_pairs(
    of: &Match,
    seed: u64,
    pairs: &mut Vec<Comparison>,
    longest: Duration,
    stop: &Stop,
) -> Result<()> {
    let side = || Ok(own_side());
    let (of, budget) = (of.clone(), Budget { rounds: 9, ..Budget::full(seed) });
    let (stop, longest, margin) = (stop.clone(), Some(longest), MARGIN);
    let (subject, baseline, processes) = (&side, &side, MOST_PROCESSES);
    let asked = Contest { of, subject, baseline, processes, longest, budget, margin, stop };
    let mut made = Made::default();
    let ended = contest(&asked, |_| (), &mut made);
    pairs.append(&mut made.pairs);
    ended
}

pub(super) fn worker() -> Command {
    this_program(&["bench", "--worker"])
}
