//! The process of an engine: it loads the module under each strategy and calls it twice.

use super::answer::{Answer, State};
use super::content::Content;
use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::Guests;
use touchstone::files::read_whole;
use touchstone::lab::Lab;
use touchstone::solo::{self, FromProcess};
use touchstone::terminal::complain;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::text::harmless;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::wasi::{Directory, MOST_OUTPUT, Settings};
use touchstone_executor::{
    Abi, Config, Error, ExportId, Imports, Instance, Outcome, Strategy, Stream, TrapKind,
};

/// Most live instances. Only one is used, and a pool reserves address space for each.
const INSTANCES: u32 = 4;

/// The question to a worker: the call on an engine, under some strategies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ask {
    pub(super) call: Call,
    pub(super) engine: String,
    pub(super) strategies: Vec<Strategy>,
    /// The private folder in which workers share compiled code.
    pub(super) artifacts: PathBuf,
}

/// The call, for a process that has only these files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) module: PathBuf,
    pub(super) input: PathBuf,
    pub(super) name: String,
    pub(super) heap: HeapPages,
    pub(super) export: String,
    pub(super) abi: Abi,
    pub(super) deadline: Duration,
    pub(super) log: bool,
    pub(super) imports: Imports,
    pub(super) effects: Effects,
    /// Arguments of a WASI program; the first one is its name.
    pub(super) arguments: Vec<String>,
    /// Names and values of its environment variables.
    pub(super) environment: Vec<(String, String)>,
    pub(super) directory: Option<PathBuf>,
}

/// The part of the memory that is taken after a call.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Effects {
    pub(super) digest: bool,
    /// Some of its bytes: address and length.
    pub(super) dump: Option<(u64, u64)>,
    /// `true` if requested: each row shows it, also after a trap.
    pub(super) is_shown: bool,
}

impl Effects {
    pub(super) fn are_wanted(self) -> bool {
        self.digest || self.dump.is_some()
    }

    fn of(self, memory: &[u8]) -> Content {
        let range = self.dump.and_then(|(start, length)| {
            let end = start.checked_add(length)?;
            memory.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        });
        Content::new(range.unwrap_or_default(), memory)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    Compiling,
    Loading,
    Calling,
}

/// Progress of a worker, strategy by strategy.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Step {
    Begins(Phase),
    Answers(Box<Answer>),
}

pub(super) type FromWorker = FromProcess<Step, ()>;

pub(super) fn serve() -> Result<()> {
    solo::serve("--worker", |ask, say| {
        let mut loader = Loader::new(ask)?;
        for strategy in &ask.strategies {
            let answer = loader.call_twice(*strategy, &mut |phase| say(Step::Begins(phase)));
            let answer = answer.unwrap_or_else(|answer| *answer);
            let is_stopped = answer.state == State::Stopped;
            say(Step::Answers(Box::new(answer)));
            // Other strategies run the same code and would take the same time.
            if is_stopped {
                break;
            }
        }
        Ok(())
    })
}

struct Loader {
    call: Call,
    input: Vec<u8>,
    engine: Arc<dyn MeasuredEngine>,
    guest: GuestModule,
    /// Compiles once for all strategies that share an artifact.
    lab: Lab,
    /// The combination whose log is printed now.
    logged: Arc<Mutex<Option<String>>>,
    /// Copies of standard output and error since they were last taken.
    streams: Arc<Mutex<[Vec<u8>; 2]>>,
}

impl Loader {
    fn new(ask: &Ask) -> Result<Self> {
        let call = ask.call.clone();
        let guest = GuestModule::new(&call.name, &read_whole(&call.module)?, call.heap)?;
        let input = read_whole(&call.input)?;
        let engine = touchstone_runtimes::engine(&ask.engine)
            .with_context(|| format!("there is no engine '{}'", ask.engine))?;
        let streams = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
        let copies = Arc::clone(&streams);
        let mut config = Config {
            deadline: engine.capabilities().deadline.then_some(call.deadline),
            instances: INSTANCES,
            imports: call.imports,
            wasi: Some(Arc::new(call.settings()?)),
            streams: Some(Arc::new(move |stream, bytes| {
                let copy: &mut Vec<u8> = &mut copies.lock()[usize::from(stream == Stream::Error)];
                let room = MOST_OUTPUT.saturating_sub(copy.len());
                copy.extend_from_slice(&bytes[..bytes.len().min(room)]);
            })),
            ..Config::default()
        };
        let logged = Arc::new(Mutex::new(None::<String>));
        if call.log {
            const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
            let logged = Arc::clone(&logged);
            config.max_log_level = 5;
            config.log = Some(Arc::new(move |level, target, message| {
                if let Some(name) = &*logged.lock() {
                    let level = LEVELS.get(level as usize).copied().unwrap_or("?");
                    let (target, message) = (harmless(target), harmless(message));
                    complain(&format!("[{name}] {level} {target}: {message}"));
                }
            }));
        }
        let lab = Lab::new(Guests::built(), config).without_times();
        let lab = lab.sharing_artifacts(&ask.artifacts)?;
        Ok(Self { call, input, engine, guest, lab, logged, streams })
    }

    /// Calls the export twice on clean instances, and compares both. `say` gets the progress.
    fn call_twice(
        &mut self,
        strategy: Strategy,
        say: &mut dyn FnMut(Phase),
    ) -> Result<Answer, Box<Answer>> {
        let (engine, guest, heap) = (Arc::clone(&self.engine), &self.guest, self.call.heap);
        *self.logged.lock() = Some(format!("{} {strategy}", engine.id()));
        let (streams, has_start) = (Arc::clone(&self.streams), guest.info().has_start);
        // With what a start function has written.
        let failed = |error: Error| {
            let written = std::mem::take(&mut *streams.lock());
            Box::new(Answer::failed(error, has_start).with_written(true, written))
        };
        say(Phase::Compiling);
        // The artifact is reused below.
        let compiled = self.lab.artifact(&*engine, strategy, guest, heap);
        compiled.map_err(failed)?;
        say(Phase::Loading);
        // Loading may instantiate, and so run a start function.
        let config = self.lab.config.clone();
        let loaded = self.lab.load_guest(&*engine, strategy, guest, heap, &config);
        let instances = loaded.map_err(failed)?.instances;
        let export = instances.module.export(&self.call.export, self.call.abi).map_err(failed)?;
        say(Phase::Calling);
        let mut instance = instances.take().map_err(failed)?;
        let first = self.call(&mut *instance, export).map_err(failed)?;
        if first.state == State::Stopped {
            return Ok(first);
        }
        // The second call logs the same again.
        *self.logged.lock() = None;
        say(Phase::Calling);
        let second = self.call(&mut *instance, export).map_err(failed)?;
        if first.is_like(&second) {
            return Ok(first);
        }
        let (first, second) = (first.in_words(), second.in_words());
        let words = format!("two calls on clean instances differ: first {first}, then {second}");
        Ok(Answer::nothing(State::Unstable, &words))
    }

    /// A call and the memory after it.
    fn call(
        &self,
        instance: &mut dyn Instance,
        export: ExportId,
    ) -> touchstone_executor::Result<Answer> {
        let (is_program, mut output) = (self.call.abi == Abi::Wasi, Vec::new());
        instance.prepare()?;
        // A program's output contains that of its start function.
        let [out, error] = std::mem::take(&mut *self.streams.lock());
        let start_wrote = !error.is_empty() || !is_program && !out.is_empty();
        let outcome = instance.invoke(export, &self.input, &mut output, None);
        let [out, error] = std::mem::take(&mut *self.streams.lock());
        let effects = self.call.effects;
        let is_wanted = match &outcome {
            Ok(Outcome::Returned) => effects.are_wanted(),
            Ok(Outcome::Trapped(trap)) => effects.is_shown && leaves_its_memory(&trap.kind),
            Err(_) => false,
        };
        let memory = is_wanted.then(|| instance.memory().map(|memory| effects.of(memory)));
        instance.finish()?;
        let answer = match outcome? {
            Outcome::Returned => Answer::returned(&output),
            Outcome::Trapped(trap) => Answer::trapped(&trap),
        };
        let answer = Answer { memory: memory.flatten(), start_wrote, ..answer };
        Ok(answer.with_written(is_program, [if is_program { output } else { out }, error]))
    }
}

impl Call {
    /// The settings of a WASI program, with the directory opened.
    pub(super) fn settings(&self) -> Result<Settings> {
        let open = |path: &PathBuf| {
            Directory::open(path).with_context(|| format!("cannot use {}", path.display()))
        };
        Ok(Settings {
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            directory: self.directory.as_ref().map(open).transpose()?,
        })
    }
}

/// `true` if the memory after a trap is the same on every engine. Traps that depend on time or on
/// the size of the stack leave other memories.
fn leaves_its_memory(trap: &TrapKind) -> bool {
    !matches!(trap, TrapKind::DeadlineExceeded | TrapKind::StackOverflow)
}
