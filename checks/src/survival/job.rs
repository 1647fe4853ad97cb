//! The work of a child process: a real run on an engine without a runtime. No other file of this
//! check knows the run loop.

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, raise};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::{self, Case, Guests};
use touchstone::plan::{Budget, Plan};
use touchstone::record::{self, CellKey, Line, Observations, Prevailing, RecordFile, Sink};
use touchstone::run::{self, Host, Observer, Selection, go_on, serve, watch_for_ctrl_c};
use touchstone::supervise::{Parent, Stop};
use touchstone_executor::Strategy;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::mock::{Answer, MockEngine};

pub(super) const ENGINES: [&str; 2] = ["first", "second"];

/// Processes in which each cell is measured.
pub(super) const PROCESSES: u32 = 2;

/// The guest is loaded and never executed.
const CASE: &str = "[case]\nname = \"nothing\"\nguests = [\"core-runtime\"]\n\
    export = \"Core_version\"\nabi = \"substrate\"\nthreads = [1]\n\
    expect = { output = \"0x\" }\nanalysis = \"For the survival checks.\"\n";

/// The work of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub(super) folder: PathBuf,
    pub(super) records: PathBuf,
    /// Resume the last run.
    pub(super) resume: bool,
    pub(super) workers: bool,
    /// `true` in a worker.
    pub(super) is_worker: bool,
    /// Time limit of a cell in a worker.
    pub(super) limit: Duration,
    pub(super) mishaps: Vec<(CellKey, Mishap)>,
    pub(super) room: Option<u64>,
}

/// A message of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// The run holds the record file and is about to begin its first cell.
    Begun,
    /// A record was written.
    Finished(String),
    /// A message for users.
    Sentence(String),
}

/// A mishap of an engine, which affects its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mishap {
    Abort,
    Fault,
    Killed,
    Exit,
    Panic,
    Hang,
}

pub(super) fn write_case(folder: &Path) -> Result<()> {
    std::fs::write(folder.join("nothing.toml"), CASE).context("cannot write the case")
}

impl Job {
    /// Reads the job that a process was started with.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("not a job of the survival checks")
    }

    /// The text that starts a process.
    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string(self).context("cannot write the job as JSON")
    }

    pub(super) fn cells(&self) -> Result<Vec<CellKey>> {
        let plan = Plan::new(&self.cases()?, &self.engines(), &mut Guests::built())?;
        let keys = plan.cells.into_iter().map(|cell| cell.key);
        Ok(keys.filter(|key| strategies().contains(&key.strategy)).collect())
    }

    fn cases(&self) -> Result<Vec<Case>> {
        case::load(self.folder.join("nothing.toml"))
    }

    fn engines(&self) -> Vec<Arc<dyn MeasuredEngine>> {
        ENGINES.map(|name| -> Arc<dyn MeasuredEngine> { Arc::new(self.engine(name)) }).to_vec()
    }

    fn engine(&self, name: &'static str) -> MockEngine {
        let of = self.mishaps.iter().filter(|(cell, _)| cell.engine == name);
        let mishaps: Vec<(Strategy, Mishap)> =
            of.map(|(cell, mishap)| (cell.strategy, *mishap)).collect();
        MockEngine::new(name).answering(move |call| {
            for (strategy, mishap) in &mishaps {
                if *strategy == call.strategy {
                    mishap.happen();
                }
            }
            Answer::Output(call.input.to_vec())
        })
    }

    /// Does the work and returns the number of failed cells. `command` makes the process of a
    /// worker.
    pub fn execute(&self, command: &dyn Fn(&str) -> Result<Command>) -> Result<usize> {
        let alone = "this process is a run of the survival checks, which did not start it";
        let (cases, engines, mut guests) = (self.cases()?, self.engines(), Guests::built());
        if self.is_worker {
            serve(Parent::join()?.context(alone)?, &cases, &engines, guests)?;
            return Ok(0);
        }
        let parent = Rc::new(RefCell::new(Parent::<(), Said>::join()?.context(alone)?));
        let all = Selection { strategies: strategies(), ..Selection::default() };
        let (in_process, rows) = (!self.workers, &self.folder);
        // No time is used here, so the machine's state need not be known: that takes half a second.
        touchstone::measure::probe::calibrated(Prevailing::default());
        let mut job =
            run::Job::new(&cases, &engines, &mut guests, rows, &all, |_| budget(), in_process)?;
        if self.resume {
            // Without records, there is nothing to resume.
            let _ = go_on(&mut job, record::load(&self.records)?.runs);
        }
        if let Some(room) = self.room {
            limit_files(room)?;
        }
        let mut sink =
            Telling { records: RecordFile::append_to(&self.records)?, parent: Rc::clone(&parent) };
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, in_process)?;
        let worker = Self { is_worker: true, ..self.clone() }.text()?;
        let host = Host {
            cases: &cases,
            engines: &engines,
            guests: &Guests::built,
            worker: &|| command(&worker),
            pairs: &run::no_pairs,
            limit: self.limit,
            until: None,
            stop,
        };
        parent.borrow_mut().say(&Said::Begun)?;
        let came = run::run(job, &host, &mut sink, &mut Speaker(parent))?;
        if came.stopped {
            std::process::exit(run::stopped_code().into());
        }
        if let Some(reason) = &came.broken_off {
            anyhow::bail!("{reason}");
        }
        Ok(came.failed())
    }
}

/// Enough strategies for a run to be interrupted.
fn strategies() -> Vec<Strategy> {
    Strategy::all().into_iter().take(6).collect()
}

/// The shortest possible budget: no time of these runs is used.
fn budget() -> Budget {
    let short = Duration::from_micros(100);
    Budget {
        name: "custom".to_owned(),
        processes: PROCESSES,
        extra: 0,
        most: 0,
        samples: 3,
        sample: short,
        cell: short,
        retry: Duration::ZERO,
        rounds: 1,
        seed: 1,
    }
}

pub(super) fn name(cell: &CellKey, process: u32) -> String {
    format!("{} in process {process}", cell.name(None))
}

/// Reports each written record.
struct Telling {
    records: RecordFile,
    parent: Rc<RefCell<Parent<(), Said>>>,
}

impl Sink for Telling {
    fn append(&mut self, line: &Line) -> Result<()> {
        self.records.append(line)?;
        if let Line::Observations(Observations { cell, process, .. }) = line {
            self.parent.borrow_mut().say(&Said::Finished(name(cell, *process)))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.records.end()
    }
}

/// Reports messages for users.
struct Speaker(Rc<RefCell<Parent<(), Said>>>);

impl Observer for Speaker {
    fn begins(&mut self, _: &str) {}

    fn more(&mut self, _: usize) {}

    fn says(&mut self, sentence: &str) {
        // Without a parent this process ends anyway.
        let _ = self.0.borrow_mut().say(&Said::Sentence(sentence.to_owned()));
    }
}

impl Mishap {
    fn happen(self) {
        match self {
            Self::Abort => std::process::abort(),
            // A handler may remove itself at the first signal.
            Self::Fault => repeatedly(Signal::SIGSEGV),
            Self::Killed => repeatedly(Signal::SIGKILL),
            Self::Exit => std::process::exit(3),
            Self::Panic => std::panic::panic_any("a panic that was asked for"),
            Self::Hang => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
        }
    }
}

fn repeatedly(signal: Signal) {
    loop {
        // A signal that cannot be raised is tried again.
        let _ = raise(signal);
    }
}

/// Limits the size of files, as a full disk does: a write beyond the limit is cut off.
fn limit_files(room: u64) -> Result<()> {
    // Otherwise the kernel ends the process.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().context("cannot block SIGXFSZ")?;
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(room), maximum })
        .context("cannot limit the size of files")
}
