//! `touchstone machine`.

use super::Ended;
use super::common::begin;
use super::doctor;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::case::{self, Case, Guests};
use touchstone::compare::{Judged, MARGIN};
use touchstone::contest::{Contest, Made, contest};
use touchstone::doctor::{Ticks, examine, load, stolen};
use touchstone::files;
use touchstone::measure::probe::{state, watch};
use touchstone::plan::{Budget, Compare, Filter, Plan, Rows, default_rows};
use touchstone::record::packed::{packed, unpacked};
use touchstone::record::verify::{headlines, verify};
use touchstone::record::{self, Line, Purpose, RecordFile, Sink};
use touchstone::run::{Host, Job, Selection, ThisClone, run, seed, shown};
use touchstone::supervise::{Stop, this_program};
use touchstone::terminal::{Progress, Style, Table, complain, print};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};
use touchstone_report::units;

/// Measures this machine in a few minutes and writes one file for the page of machines.
///
/// Examines the machine as `touchstone doctor` does, compares the executors of the headlines in
/// turns as `touchstone compare` does, and measures each engine against itself and the cases of
/// the overview on one thread, under some strategies, as `touchstone bench --overview` does. Measures
/// no cell again after 345 seconds; what has too few samples by then is marked. The file has the
/// processor, the kernel and the state of the machine, and no name of the host.
///
/// Exits with 1 if the file would not be accepted, and says why.
#[derive(Debug, clap::Args)]
pub(super) struct Machine {
    /// Write the file to DIR/<machine>/<date>.jsonl.zst [default: records/machines of the project]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Use this seed for the order of cells and rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// The strategies of the cells: the runtimes' own new instances and pools, and Touchstone's.
const STRATEGIES: [&str; 8] = [
    "interpreted",
    "recreate_instance",
    "recreate_instance_cow",
    "recreate_instance_tracked",
    "pooling_cow",
    "pooling_cow_resident",
    "instance_reuse",
    "instance_reuse_tracked",
];
/// Time of the probes before the run.
const PROBED: Duration = Duration::from_secs(5);
/// Time after which no cell is measured again.
const LONGEST: Duration = Duration::from_secs(345);
/// Longest time of a cell, compilation included.
const LIMIT: Duration = Duration::from_secs(60);
/// Most pairs of processes of a comparison.
const PAIRS: u32 = 24;
/// Rounds of each pair.
const ROUNDS: usize = 9;

impl Machine {
    pub(super) fn execute(self) -> Result<Ended> {
        let began = Instant::now();
        let stop = Stop::default();
        begin(&stop, false)?;
        let (before, load) = (Ticks::now(), load());
        let looks = watch(PROBED)?;
        let findings = examine(&looks, before, load);
        print(&(doctor::in_words(&findings, &looks, PROBED) + "\n"))?;
        let state = state(&looks, stolen(before, Ticks::now()), load);

        let (cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
        let (mut job, compares) = self.job(&cases, &engines)?;
        job.header.state = Some(state);
        let header = job.header.clone();
        if header.tools.commit.ends_with("-dirty") {
            complain(
                "warning: the project has changes that are not committed: `touchstone verify` \
                 refuses files of such a build",
            );
        }
        let scratch = Scratch::new()?;
        let mut records = RecordFile::append_to(scratch.path().join("machine.jsonl"))?;
        records.append(&Line::Run(Box::new(job.header.clone())))?;
        job.done.begun = true;
        let tasks = compares.len() + job.tasks().len() * job.budget.processes as usize;
        let mut progress = Progress::new(tasks, true);
        for compare in &compares {
            if stop.asked() {
                return Ok(Ended::Stopped);
            }
            progress.next(compare.name());
            if let Err(error) = self.compare(compare, &stop, &mut records) {
                progress.print(&format!("{}: {error:#}", compare.name()));
            }
        }
        let host = Host {
            cases: &cases,
            engines: &engines,
            guests: &Guests::built,
            worker: &|| Ok(super::bench::worker()),
            limit: LIMIT,
            until: Some(began + LONGEST),
            stop,
        };
        let came = run(job, &host, &mut records, &mut progress)?;
        drop(progress);
        if came.stopped {
            complain("stopped; nothing was written");
            return Ok(Ended::Stopped);
        }
        if let Some(reason) = came.broken_off {
            bail!("the run was broken off: {reason}");
        }
        let content = packed(&files::read_whole(records.path())?);
        let folder = self.into.unwrap_or_else(|| record::default_path("machines"));
        let folder = folder.join(header.machine.slug());
        let path = folder.join(format!("{}.jsonl.zst", header.date()));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        files::stage(&path, &content)?.commit()?;
        let (book, fault) = match verify(&content, None, &ThisClone) {
            Ok(book) => (book, None),
            Err(fault) => (record::load(&path)?.newest().unwrap_or_default(), Some(fault)),
        };
        let rows: Vec<(String, Judged)> =
            headlines(&book).map(|(of, judged)| (of.name(), judged)).collect();
        print(&table(&rows))?;
        print(&format!(
            "state: {}\n{} cells and {} comparisons in {:.0} s\nwrote {}, {} KiB ({} unpacked)\n",
            state.words(),
            book.cells.len(),
            book.comparisons.len(),
            began.elapsed().as_secs_f64(),
            shown(&path),
            content.len().div_ceil(1024),
            unpacked(content.clone())?.len().div_ceil(1024),
        ))?;
        if let Some(fault) = fault {
            complain(&format!("the file would not be accepted: {fault}"));
            return Ok(Ended::Badly);
        }
        print(&next(&path))?;
        Ok(Ended::Well)
    }

    /// The cells and comparisons of workers, and the comparisons in pairs of processes.
    fn job(
        &self,
        cases: &[Case],
        engines: &[Arc<dyn MeasuredEngine>],
    ) -> Result<(Job, Vec<Compare>)> {
        let selection = Selection {
            overview: true,
            threads: vec![1],
            strategies: STRATEGIES.iter().flat_map(|name| name.parse()).collect(),
            purposes: vec![Purpose::Null],
            ..Selection::default()
        };
        let budget =
            |_| Budget { name: "machine".to_owned(), extra: 0, ..Budget::quick(seed(self.seed)) };
        let (mut guests, rows) = (Guests::built(), default_rows());
        let mut job = Job::new(cases, engines, &mut guests, &rows, &selection, budget, false)?;
        let plan = Plan::new(cases, engines, &mut guests)?;
        let rows = Rows::load(&rows, cases)?;
        let all = Filter::default();
        let (compares, missing) = rows.select(&[Purpose::Machine], cases, engines, &plan, &all)?;
        for wanted in missing {
            complain(&format!("left out: {}: {}", wanted.of.name(), wanted.reason));
        }
        let of_cells = job.cells.iter().map(|cell| (cell.key.case.clone(), cell.key.guest.clone()));
        let of_compares = compares.iter().chain(&job.compares);
        let of_compares = of_compares.map(|own| (own.of.case.clone(), own.of.guest.clone()));
        let used: BTreeSet<(String, String)> = of_cells.chain(of_compares).collect();
        let is_used = |case: &str, guest: &str| used.contains(&(case.to_owned(), guest.to_owned()));
        job.header.works.retain(|work| is_used(&work.case, &work.guest));
        Ok((job, compares))
    }

    /// Compares two executors in pairs of fresh processes, and records each pair.
    fn compare(&self, compare: &Compare, stop: &Stop, records: &mut RecordFile) -> Result<()> {
        let side = || anyhow::Ok(this_program(&["compare", "--side"]));
        let asked = Contest {
            of: compare.of.clone(),
            subject: &side,
            baseline: &side,
            processes: PAIRS,
            longest: None,
            budget: Budget { rounds: ROUNDS, ..Budget::full(seed(self.seed)) },
            margin: MARGIN,
            stop: stop.clone(),
        };
        let mut made = Made::default();
        let came = contest(&asked, |_| {}, &mut made);
        let pairs = made.pairs.into_iter();
        let lines: Vec<Line> = pairs.map(|pair| Line::Comparison(Box::new(pair))).collect();
        records.append_all(&lines)?;
        came
    }
}

fn table(rows: &[(String, Judged)]) -> String {
    let head = ["", "subject", "baseline", "subject / baseline [95 %]", "verdict"];
    let mut table = Table::new(&head).right(&[1, 2]);
    for (name, judged) in rows {
        let [subject, baseline] = [judged.subject.median, judged.baseline.median].map(units::time);
        let ratio = units::ratio_with_interval(&judged.ratio);
        table.row([name.clone(), subject, baseline, ratio, judged.verdict.to_string()]);
    }
    format!("{}\n", table.render(Style::of_stdout()))
}

/// Instructions for a file.
fn next(path: &Path) -> String {
    let path = shown(path);
    format!(
        "\nTo add this machine to the page of machines:\n  1. touchstone verify {path}\n  \
         2. touchstone report        adds it to benchmark/machines.md\n  \
         3. commit the file and the page, and open a pull request\n"
    )
}
