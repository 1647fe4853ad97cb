use super::Ended;
use super::bench::{in_pairs, worker};
use super::common::{begin, verdicts};
use super::doctor;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::case::{self, Case, Guests};
use touchstone::compare::Judged;
use touchstone::doctor::{Ticks, examine, load, stolen};
use touchstone::files;
use touchstone::measure::probe::{state, watch};
use touchstone::plan::{Budget, default_rows};
use touchstone::record::packed::{packed, unpacked};
use touchstone::record::verify::{headlines, verify};
use touchstone::record::{self, Line, Purpose, RecordFile, Sink};
use touchstone::run::{Host, Job, Selection, ThisClone, run, seed, shown};
use touchstone::supervise::Stop;
use touchstone::terminal::{Progress, complain, print};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};

/// Measures this machine in a few minutes and writes one file for the page of machines.
///
/// Examines the machine as `touchstone doctor` does, makes the cells and comparisons of
/// `touchstone bench --overview`, and measures each engine against itself. Measures no cell again
/// after 150 seconds; what has too few samples by then is marked. The file has the processor, the
/// kernel and the state of the machine, and no name of the host.
///
/// Exits with 1 if the file would not be accepted, and says why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone machine")]
pub(super) struct Machine {
    /// Write the file to DIR/<machine>/<date>.jsonl.zst [default: records/machines of the project]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Use this seed for the order of cells and rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Time of the probes before the run.
const PROBED: Duration = Duration::from_secs(5);
/// Time after which no cell is measured again.
const LONGEST: Duration = Duration::from_secs(150);
/// Longest time of a cell, compilation included.
const LIMIT: Duration = Duration::from_secs(60);
/// Longest time of a comparison, but for its first pairs of processes.
const COMPARED: Duration = Duration::from_secs(15);

impl Machine {
    pub(super) fn execute(self) -> Result<Ended> {
        let began = Instant::now();
        let stop = Stop::default();
        begin(&stop, false)?;
        let (cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
        let mut job = self.job(&cases, &engines)?;
        if job.header.tools.commit.ends_with("-dirty") {
            complain(
                "warning: the project has changes that are not committed: `touchstone verify` \
                 refuses files of such a build",
            );
        }
        let folder = self.into.unwrap_or_else(|| record::default_path("machines"));
        let file = format!("{}.jsonl.zst", job.header.date());
        let path = folder.join(job.header.machine.slug()).join(file);
        files::stage(&path, &[]).context("name another folder with --into")?;

        let (before, load) = (Ticks::now(), load());
        let looks = watch(PROBED)?;
        let findings = examine(&looks, before, load);
        print(&(doctor::in_words(&findings, &looks, PROBED) + "\n"))?;
        let state = state(&looks, stolen(before, Ticks::now()), load);
        job.header.state = Some(state);
        let scratch = Scratch::new()?;
        let mut records = RecordFile::append_to(scratch.path().join("machine.jsonl"))?;
        records.append(&Line::Run(Box::new(job.header.clone())))?;
        job.done.begun = true;
        let tasks = job.contests.len() + job.tasks().len() * job.budget.processes as usize;
        let mut progress = Progress::new(tasks, true);
        let host = Host {
            cases: &cases,
            engines: &engines,
            guests: &Guests::built,
            worker: &|| Ok(worker()),
            pairs: &|of, seed, made| in_pairs(of, seed, made, COMPARED, &stop),
            limit: LIMIT,
            until: Some(began + LONGEST),
            stop: stop.clone(),
        };
        let came = run(job, &host, &mut records, &mut progress)?;
        drop(progress);
        if came.stopped {
            // Only if it is empty.
            let _ = std::fs::remove_dir(files::folder_of(&path));
            complain("stopped; nothing was written");
            return Ok(Ended::Stopped);
        }
        if let Some(reason) = came.broken_off {
            bail!("the run was broken off: {reason}");
        }
        let content = packed(&files::read_whole(records.path())?);
        files::stage(&path, &content)?.commit()?;
        let (book, fault) = match verify(&content, None, &ThisClone) {
            Ok(book) => (book, None),
            Err(fault) => (record::load(&path)?.newest().unwrap_or_default(), Some(fault)),
        };
        let rows: Vec<(String, Judged)> =
            headlines(&book).map(|(of, judged)| (of.name(), judged)).collect();
        let head = ["", "subject", "baseline", "subject / baseline [95 %]", "verdict"];
        print(&(verdicts(head, &rows) + "\n"))?;
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

    /// The overview, and the noise floor of each engine.
    fn job(&self, cases: &[Case], engines: &[Arc<dyn MeasuredEngine>]) -> Result<Job> {
        let purposes = vec![Purpose::Null, Purpose::Overview];
        let selection = Selection { overview: true, purposes, ..Selection::default() };
        let budget =
            |_| Budget { name: "machine".to_owned(), extra: 0, ..Budget::quick(seed(self.seed)) };
        let (mut guests, rows) = (Guests::built(), default_rows());
        let mut job = Job::new(cases, engines, &mut guests, &rows, &selection, budget, false)?;
        let of_cells = job.cells.iter().map(|cell| (&*cell.key.case, &*cell.key.guest));
        let compared = job.compares.iter().map(|own| &own.of).chain(&job.contests);
        let compared = compared.map(|of| (&*of.case, &*of.guest));
        let used: BTreeSet<(&str, &str)> = of_cells.chain(compared).collect();
        job.header.works.retain(|work| used.contains(&(&*work.case, &*work.guest)));
        Ok(job)
    }
}

fn next(path: &Path) -> String {
    let path = shown(path);
    format!(
        "\nTo add this machine to the page of machines:\n  1. touchstone verify {path}\n  \
         2. touchstone report        adds it to benchmark/machines.md\n  \
         3. commit the file and the page, and open a pull request\n"
    )
}
