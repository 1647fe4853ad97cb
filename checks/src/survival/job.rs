//! What a process of the survival checks is to do, and doing it: the real run over an
//! engine without a runtime. Nothing else of these checks knows the run loop.

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, raise};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case;
use touchstone::guests::Guests;
use touchstone::matrix::{self, Cell};
use touchstone::plan::Plan;
use touchstone::record::{CellKey, Ended, Provenance, Record, RecordFile, Sink};
use touchstone::run::{Runner, Sampler, Tally, blank, end_in_order, go_on};
use touchstone::session::Session;
use touchstone::supervise::{Parent, Stop};
use touchstone::worker::{Task, Unit, Worker, Workers};
use touchstone_executor::mock::{Answer, MockEngine};
use touchstone_executor::{Config, Engine, Strategy};

/// Names of the engines.
pub(super) const ENGINES: [&str; 2] = ["first", "second"];

/// Nothing of it is executed: the guest is only there to be loaded.
const CASE: &str = "[case]\nname = \"nothing\"\nguests = [\"core-runtime\"]\n\
    export = \"Core_version\"\nabi = \"substrate\"\nthreads = [1]\n\
    expect = { output = \"0x\" }\nanalysis = \"For the survival checks.\"\n";

/// What a run prints that was ended in order.
pub(super) const STOPPED: &str = "stopped";

/// What a process is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Folder of the case.
    pub(super) folder: PathBuf,
    /// Where records go.
    pub(super) records: PathBuf,
    /// Stands in every record.
    pub(super) provenance: Provenance,
    /// Go on where the last run was broken off.
    pub(super) resume: bool,
    /// Each engine in a process of its own.
    pub(super) workers: bool,
    /// Whether the process is one of these.
    pub(super) is_worker: bool,
    /// How long a cell may take there.
    pub(super) limit: Duration,
    /// What goes wrong, by the ends of cells' names.
    pub(super) mishaps: Vec<(String, Mishap)>,
    /// The engine whose workers die before they begin.
    pub(super) dies_as: Option<String>,
    /// Files must not become larger than this, bytes.
    pub(super) room: Option<u64>,
}

/// What a run says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// It holds the record file and is about to begin its first cell.
    Begun,
    /// This cell is finished: its record is kept.
    Finished(String),
    /// A sentence for people.
    Sentence(String),
}

/// What an engine does to its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mishap {
    Abort,
    Fault,
    Killed,
    Exit,
    Panic,
    Hang,
}

/// Puts the case where jobs look for it.
pub(super) fn write_case(folder: &Path) -> Result<()> {
    std::fs::write(folder.join("nothing.toml"), CASE).context("cannot write the case")
}

impl Job {
    /// What a process was started with.
    ///
    /// # Errors
    ///
    /// When it is no job.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("this is no job of the survival checks")
    }

    /// As it is handed to a process.
    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string(self).context("a job that JSON cannot hold")
    }

    /// All cells.
    pub(super) fn cells(&self) -> Result<Vec<Cell>> {
        let engines = ENGINES.map(|name| -> Arc<dyn Engine> { Arc::new(self.engine(name)) });
        Ok(matrix::cells(&case::load(&self.folder.join("nothing.toml"))?, &engines))
    }

    fn engine(&self, name: &'static str) -> MockEngine {
        let mishaps: Vec<(Strategy, Mishap)> = Strategy::all()
            .into_iter()
            .flat_map(|strategy| {
                let of = format!("/{name}_{strategy}/1_threads");
                let mishap = self.mishaps.iter().find(move |(cell, _)| *cell == of);
                mishap.map(|(_, mishap)| (strategy, *mishap))
            })
            .collect();
        MockEngine::new(name).answering(move |call| {
            for (strategy, mishap) in &mishaps {
                if *strategy == call.strategy {
                    mishap.happen();
                }
            }
            Answer::Output(call.input.to_vec())
        })
    }

    /// Does it; `command` makes a process for the job of a worker. Gives back how many cells
    /// failed.
    ///
    /// # Errors
    ///
    /// As a run has them: no room, no folder, another writer. Also when the process was not
    /// started by these checks.
    pub fn execute(&self, command: &dyn Fn(&str) -> Result<Command>) -> Result<usize> {
        let alone = "this process is a run of the survival checks, which did not start it";
        let all = self.cells()?;
        let mut session = Session::new(Guests::built(), Config::default()).without_times();
        if self.is_worker {
            let mut worker = Worker::join()?.context(alone)?;
            end_in_order("")?;
            let cells: Vec<&Cell> =
                all.iter().filter(|cell| worker.is_to_do(&cell.key.id())).collect();
            if cells.first().map(|cell| &cell.key.backend) == self.dies_as.as_ref() {
                Mishap::Abort.happen();
            }
            let came = run(&cells, &mut session, worker.provenance(), worker.plan(), &mut worker);
            worker.leave(came)?;
            return Ok(0);
        }
        let mut parent = Parent::<(), Said>::join()?.context(alone)?;
        let mut provenance = self.provenance.clone();
        let done = match self.resume {
            true => go_on(&self.records, &mut provenance, &all, &mut session)?.unwrap_or_default(),
            false => Vec::new(),
        };
        let done: HashSet<String> = done.into_iter().collect();
        let cells: Vec<&Cell> = all.iter().filter(|cell| !done.contains(&cell.key.id())).collect();
        if let Some(room) = self.room {
            limit_files(room)?;
        }
        let mut records = RecordFile::append_to(&self.records)?;
        if self.workers {
            return self.in_workers(
                &cells,
                &mut session,
                provenance,
                &mut records,
                command,
                parent,
            );
        }
        end_in_order(STOPPED)?;
        parent.say(&Said::Begun)?;
        let mut sink = Telling { records, parent };
        Ok(run(&cells, &mut session, provenance, plan(), &mut sink)?.failed)
    }

    fn in_workers(
        &self,
        cells: &[&Cell],
        session: &mut Session,
        provenance: Provenance,
        records: &mut RecordFile,
        command: &dyn Fn(&str) -> Result<Command>,
        mut parent: Parent<(), Said>,
    ) -> Result<usize> {
        let stop = Stop::default();
        let handle = stop.clone();
        ctrlc::set_handler(move || handle.now()).context("cannot watch for Ctrl-C")?;
        let mut units =
            ENGINES.map(|name| Unit { name: name.to_owned(), tasks: Vec::new() }).to_vec();
        for cell in cells {
            let digest = session.digest(&cell.guest);
            let task = Task {
                id: cell.key.id(),
                blank: Some(blank(cell, digest, &provenance)),
                counted: true,
            };
            for unit in units.iter_mut().filter(|unit| unit.name == cell.key.backend) {
                unit.tasks.push(task.clone());
            }
        }
        parent.say(&Said::Begun)?;
        let job = Self { is_worker: true, ..self.clone() }.text()?;
        let parent = RefCell::new(parent);
        // Who is killed says nothing; one that nobody hears goes on.
        let tell = |said: &Said| drop(parent.borrow_mut().say(said));
        let came = Workers {
            command: &|| command(&job),
            records,
            provenance,
            plan: plan(),
            limit: self.limit,
            stop,
            say: &mut |sentence| tell(&Said::Sentence(sentence.to_owned())),
            ended: &mut |id| tell(&Said::Finished(id.to_owned())),
        }
        .run(&units)?;
        if came.stopped {
            println!("{STOPPED}");
            std::process::exit(130);
        }
        Ok(came.cells.failed)
    }
}

fn run(
    cells: &[&Cell],
    session: &mut Session,
    provenance: Provenance,
    plan: Plan,
    sink: &mut dyn Sink,
) -> Result<Tally> {
    let mut runner = Runner {
        session,
        records: Some(sink),
        provenance,
        plan,
        tally: Tally::default(),
        disturbed: Vec::new(),
        again: false,
    };
    for cell in cells {
        runner.cell(cell, &mut OneCallEach)?;
    }
    Ok(runner.tally)
}

/// As short as it gets: what is timed here is nobody's.
pub(super) fn plan() -> Plan {
    let short = Duration::from_micros(500);
    Plan {
        name: "custom".to_owned(),
        warm_up: short,
        measurement: short,
        throughput: short,
        samples: 10,
        pair_rounds: 11,
    }
}

struct OneCallEach;

impl Sampler for OneCallEach {
    fn sample(
        &mut self,
        _: &CellKey,
        samples: usize,
        sample: &mut dyn FnMut(u64) -> Duration,
    ) -> Vec<(u64, u64)> {
        (0..samples).map(|_| (1, sample(1).as_nanos() as u64)).collect()
    }
}

/// Tells the parent which cells are finished, once they are kept.
struct Telling {
    records: RecordFile,
    parent: Parent<(), Said>,
}

impl Sink for Telling {
    fn append(&mut self, record: &Record) -> Result<()> {
        self.records.append(record)
    }

    fn end(&mut self, id: &str, _: Ended) -> Result<()> {
        Ok(self.parent.say(&Said::Finished(id.to_owned()))?)
    }
}

impl Mishap {
    fn happen(self) {
        match self {
            Self::Abort => std::process::abort(),
            // The first may go to a handler that takes itself out.
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
        // What cannot be raised is tried again.
        let _ = raise(signal);
    }
}

/// From here on, a write that would make a file larger than `room` fails, as on a full
/// disk: as much as there is room for is written.
fn limit_files(room: u64) -> Result<()> {
    // Otherwise the kernel would end the process instead.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().context("cannot block SIGXFSZ")?;
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(room), maximum })
        .context("cannot limit the size of files")
}
