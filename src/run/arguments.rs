//! The options of a run, as `touchstone bench` and `cargo bench` take them.

use super::job::Selection;
use super::resume::{go_on, goes_on, going_on, starting_again};
use super::{Came, FromWorker, Host, Job, Observer, Pairs, ToWorker, run, serve};
use crate::case::{Case, Suite};
use crate::files::FilePath;
use crate::plan::{Budget, Filter, default_rows};
use crate::record::{self, Purpose, RecordFile, Stream};
use crate::supervise::{Parent, Stop};
use anyhow::{Context, Result, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant, SystemTime};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::text::harmless;

/// The options: what to measure, how long, and where the records go.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Measure only cells and comparisons whose name this regular expression matches
    pub filter: Option<String>,
    #[command(flatten)]
    pub selection: Selection,
    /// Take many samples, or few with wider intervals
    #[arg(long, value_enum, value_name = "HOW", default_value = "full")]
    pub sampling: SamplingName,
    /// Share this many seconds among the samples of all cells
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub budget: Option<Duration>,
    /// Use this seed for the order of cells and rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Continue the last run of the record file, if this build made it on this machine
    #[arg(long)]
    pub resume: bool,
    /// Run all engines in this process instead of one fresh process per engine and pass, for
    /// debugging: a crash ends the run
    #[arg(long)]
    pub in_process: bool,
    /// Fail a cell that takes longer than this many seconds, compilation included
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "600", value_parser = seconds)]
    pub cell_limit: Duration,
    /// Append the records to FILE, or print them if it is `-` [default: records/records.jsonl of
    /// the project]
    #[arg(long, value_name = "FILE")]
    pub records: Option<PathBuf>,
    /// Empty the record file first
    #[arg(long, conflicts_with = "resume")]
    pub replace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SamplingName {
    Full,
    /// For a first look.
    Quick,
}

pub fn seed(given: Option<u64>) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    given.unwrap_or_else(|| now.map_or(1, |now| now.as_secs()))
}

/// For clap: a time above 0 s, and of a year at most.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|own: &f64| *own > 0.0 && *own <= YEAR);
    let time = seconds.map(Duration::from_secs_f64).filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("'{text}' is not a number of seconds above 0 and up to {YEAR}"))
}

const YEAR: f64 = 365.0 * 24.0 * 3600.0;

/// Time of an overview after which no cell is measured again, so that busy machines have a page.
const OVERVIEW: Duration = Duration::from_secs(75);

/// A requested run without its progress display.
pub struct Asked<'a> {
    pub arguments: &'a Arguments,
    pub suite: &'a Suite,
    pub engines: &'a [Arc<dyn MeasuredEngine>],
    /// Purposes of comparisons to make beside the cells.
    pub purposes: Vec<Purpose>,
    /// Makes the command that starts a worker; see [`serve_if_worker`].
    pub worker: &'a dyn Fn() -> Result<Command>,
    pub pairs: Pairs<'a>,
}

/// Serves and returns `true` if this process was started as a worker.
pub fn serve_if_worker(engines: &[Arc<dyn MeasuredEngine>], suite: &Suite) -> Result<bool> {
    let Some(parent) = Parent::<ToWorker, FromWorker>::join()? else { return Ok(false) };
    serve(parent, &suite.cases()?, engines, suite.guests())?;
    Ok(true)
}

impl Asked<'_> {
    /// The requested job. Fails if a name is unknown, a file is invalid, or nothing is selected.
    pub fn job(&self) -> Result<(Vec<Case>, Job)> {
        let arguments = self.arguments;
        let cases = self.suite.cases()?;
        let filter = Filter::new(arguments.filter.as_deref())?;
        let purposes = self.purposes.clone();
        let selection = Selection { filter, purposes, ..arguments.selection.clone() };
        let sampled = match arguments.sampling {
            SamplingName::Full => Budget::full(seed(arguments.seed)),
            SamplingName::Quick => Budget::quick(seed(arguments.seed)),
        };
        let budget = |cells| match arguments.budget {
            Some(time) => sampled.within(time, cells),
            None => sampled,
        };
        let (engines, mut guests) = (self.engines, self.suite.guests());
        let (rows, here) = (default_rows(), arguments.in_process);
        let job = Job::new(&cases, engines, &mut guests, &rows, &selection, budget, here)?;
        Ok((cases, job))
    }

    /// Runs the job and appends the records to the file, which is locked meanwhile.
    pub fn run(
        &self,
        cases: &[Case],
        mut job: Job,
        stop: &Stop,
        observer: &mut dyn Observer,
    ) -> Result<Came> {
        let path = self.records();
        let host = Host {
            cases,
            engines: self.engines,
            guests: &|| self.suite.guests(),
            worker: self.worker,
            pairs: self.pairs,
            limit: self.arguments.cell_limit,
            until: self.arguments.selection.overview.then(|| Instant::now() + OVERVIEW),
            stop: stop.clone(),
        };
        if self.prints_records() {
            let Arguments { resume, replace, selection, .. } = self.arguments;
            ensure!(
                !(*resume || *replace || selection.overview),
                "--resume, --replace and --overview need a record file, and '-' is none"
            );
            return run(job, &host, &mut Stream::new(std::io::stdout()), observer);
        }
        if job.header.shard.is_some() {
            return run_shard(job, &host, &path, observer);
        }
        let mut records = RecordFile::append_to(&path)?;
        if self.arguments.resume {
            let begun = go_on(&mut job, record::load(&path)?.runs);
            let none = || "no run of this build on this machine can be continued".to_owned();
            observer.says(&begun.map_or_else(none, |done| going_on_with(&job, done)));
        }
        if self.arguments.replace {
            records.clear()?;
        }
        run(job, &host, &mut records, observer)
    }

    /// `true` if the records go to the standard output.
    pub fn prints_records(&self) -> bool {
        self.arguments.records.as_deref() == Some(Path::new("-"))
    }

    /// The record file. A folder of cases has its own.
    pub fn records(&self) -> FilePath {
        match (&self.arguments.records, self.suite) {
            (Some(path), _) => path.into(),
            (None, Suite::Folder(folder)) => folder.join("records").join(record::BENCH),
            (None, Suite::BuiltIn) => record::default_path(record::BENCH).into(),
        }
    }
}

fn going_on_with(job: &Job, done: usize) -> String {
    going_on(&job.header.run, &format!("{done} cells and comparisons were begun"))
}

/// Measures a shard, and gives its record file the name only when the shard is complete. Goes on
/// with what a killed run left, and measures nothing if the file is complete. Fails if the file
/// holds something else.
fn run_shard(
    mut job: Job,
    host: &Host<'_>,
    path: &FilePath,
    observer: &mut dyn Observer,
) -> Result<Came> {
    if path.exists() {
        let stored = record::load(path)?;
        let newest = stored.runs.len().checked_sub(1);
        let is_ours = |run: usize| goes_on(&stored.runs[run].0, &job.header);
        ensure!(
            newest.is_some_and(|run| stored.is_whole(run) && is_ours(run)),
            "{path} is not this shard, complete, by this build, on a machine of this kind: remove \
             it, or name another file with --records"
        );
        return Ok(Came { was_complete: true, ..Came::default() });
    }
    let (mut records, begun) = RecordFile::go_on(path.path())?;
    match begun.and_then(|run| go_on(&mut job, vec![run])) {
        Some(done) => observer.says(&going_on_with(&job, done)),
        None if records.clear()? => observer.says(&starting_again(records.path())),
        None => {}
    }
    let came = run(job, host, &mut records, observer)?;
    if !came.stopped && came.broken_off.is_none() {
        records.finish()?;
    }
    Ok(came)
}

/// The signal that ended this process's run; 0 if none did.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

/// Makes Ctrl-C, SIGTERM and SIGHUP end a run in order: workers end, and everything that is
/// finished is on the disk. A second signal ends the process at once.
pub fn watch_for_ctrl_c(stop: &Stop, in_process: bool) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
    let stop = stop.clone();
    let watch = move || {
        for signal in signals.forever() {
            ENDED_BY.store(signal, Ordering::Relaxed);
            if stop.asked() || in_process {
                std::process::exit(stopped_code().into());
            }
            // On its own thread: it waits for the workers, and a second signal may come.
            let stop = stop.clone();
            std::thread::spawn(move || stop.now());
        }
    };
    std::thread::Builder::new().spawn(watch).context("cannot start a thread")?;
    Ok(())
}

/// The exit code after a signal, as shells have it: 130 for Ctrl-C, 143 for SIGTERM.
pub fn stopped_code() -> u8 {
    match ENDED_BY.load(Ordering::Relaxed) {
        0 => 128 + SIGINT as u8,
        signal => 128 + signal as u8,
    }
}

/// A path for display, relative to the current folder if below it.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    harmless(&below.unwrap_or_else(|| path.to_owned()).to_string_lossy())
}
