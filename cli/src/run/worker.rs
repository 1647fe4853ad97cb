//! The process of an engine: it loads the module under each strategy and calls it twice.

use super::answer::{Answer, State};
use super::content::Content;
use super::program::Program;
use super::streams::Streams;
use super::timing;
use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::Guests;
use touchstone::files::read_whole;
use touchstone::lab::{Lab, Loaded, Refused};
use touchstone::record::{Comparison, Executor};
use touchstone::solo;
use touchstone::terminal::complain;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::text::harmless;
use touchstone_executor::{
    Config, Error, ExportId, Imports, Instance, MeasuredEngine, Outcome, Signature, Strategy, TrapKind,
};

/// Most live instances. Only one is used, and a pool reserves address space for each.
const INSTANCES: u32 = 4;

/// The question to a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ask {
    pub(super) call: Call,
    pub(super) task: Task,
    /// The private folder in which workers share compiled code.
    pub(super) artifacts: PathBuf,
}

/// The work of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Task {
    /// Make the call on an engine, under some strategies.
    Call { engine: String, strategies: Vec<Strategy> },
    /// Time a combination in turns with the baseline, for about this long.
    Time { subject: Executor, baseline: Executor, each: Duration, process: u32 },
}

/// The call, for a process that has only the files of the target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) module: PathBuf,
    pub(super) input: PathBuf,
    pub(super) name: String,
    pub(super) heap: HeapPages,
    pub(super) export: String,
    pub(super) abi: Abi,
    pub(super) deadline: Option<Duration>,
    pub(super) log: bool,
    pub(super) effects: Effects,
    pub(super) program: Program,
}

/// The part of the memory that is taken after a call.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Effects {
    /// Its digest, which is compared.
    pub(super) digest: bool,
    /// Some of its bytes: address and length.
    pub(super) dump: Option<(u64, u64)>,
    /// `true` if requested: each row shows it, also after a trap.
    pub(super) is_shown: bool,
}

impl Effects {
    fn of(self, memory: &[u8]) -> Content {
        let range = self.dump.and_then(|(start, length)| {
            let end = start.checked_add(length)?;
            memory.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        });
        Content::new(range.unwrap_or_default(), memory)
    }

    fn are_wanted(self) -> bool {
        self.digest || self.dump.is_some()
    }
}

/// Progress of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Step {
    /// It compiles for a strategy.
    Compiles(Strategy),
    /// It loads the compiled module.
    Loads(Strategy),
    /// It makes a call.
    Calls(Strategy),
    /// The answer under a strategy.
    Answers(Strategy, Box<Answer>),
}

/// A message from a worker. At the end, a timing.
pub(super) type FromWorker = solo::FromProcess<Step, Option<Comparison>>;

/// Serves as a worker.
pub(super) fn serve() -> Result<()> {
    solo::serve("--worker", |ask, say| {
        let mut loader = Loader::new(ask)?;
        match &ask.task {
            Task::Call { engine, strategies } => {
                let engine = self::engine(engine)?;
                for strategy in strategies {
                    let answer = loader.call_twice(&*engine, *strategy, say);
                    let answer = answer.unwrap_or_else(|answer| *answer);
                    let is_stopped = answer.state == State::Stopped;
                    say(Step::Answers(*strategy, Box::new(answer)));
                    // Other strategies run the same code and would take the same time.
                    if is_stopped {
                        break;
                    }
                }
                Ok(None)
            }
            Task::Time { subject, baseline, each, process } => {
                Ok(Some(timing::turn(&mut loader, subject, baseline, *each, *process)?))
            }
        }
    })
}

pub(super) fn engine(name: &str) -> Result<Arc<dyn MeasuredEngine>> {
    let engines = touchstone_runtimes::engines();
    let found = engines.into_iter().find(|engine| engine.id() == name);
    found.with_context(|| format!("there is no engine '{name}'"))
}

pub(super) struct Loader {
    pub(super) call: Call,
    pub(super) input: Vec<u8>,
    guest: GuestModule,
    /// Compiles once for all strategies that share an artifact.
    lab: Lab,
    /// The combination whose log is printed now.
    logged: Arc<Mutex<Option<String>>>,
    streams: Streams,
}

impl Loader {
    fn new(ask: &Ask) -> Result<Self> {
        let call = ask.call.clone();
        let wasm = read_whole(&call.module)?;
        let guest = GuestModule::new(&call.name, &wasm, call.heap)?;
        let input = read_whole(&call.input)?;
        let logged = Arc::new(Mutex::new(None));
        let engine = match &ask.task {
            Task::Call { engine, .. } => Some(self::engine(engine)?),
            Task::Time { .. } => None,
        };
        let can_stop = engine.is_some_and(|engine| engine.capabilities().deadline);
        let deadline = call.deadline.filter(|_| can_stop);
        let wasi = Some(Arc::new(call.program.settings()?));
        let mut config = Config {
            deadline,
            instances: INSTANCES,
            wasi,
            imports: Imports::Trap,
            ..Config::default()
        };
        let streams = Streams::default();
        // Copying takes time.
        if matches!(ask.task, Task::Call { .. }) {
            config.streams = Some(streams.sink());
        }
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
        Ok(Self { call, input, guest, lab, logged, streams })
    }

    /// The loaded module. `say` gets the progress.
    pub(super) fn load(
        &mut self,
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
        say: &mut dyn FnMut(Step),
    ) -> Result<Loaded, Box<Answer>> {
        let (guest, heap) = (&self.guest, self.call.heap);
        say(Step::Compiles(strategy));
        // The artifact is reused below.
        let compiled = self.lab.artifact(engine, strategy, guest, heap);
        compiled.map_err(|error| Box::new(Refused::from(error).into()))?;
        say(Step::Loads(strategy));
        // Loading may instantiate, and so run a start function.
        let config = self.lab.config().clone();
        self.lab
            .load_guest(engine, strategy, guest, heap, &config)
            .map_err(|error| Box::new(Answer::failed(error, guest.info().has_start)))
    }

    /// Calls the export twice on clean instances, and compares both.
    fn call_twice(
        &mut self,
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
        say: &mut dyn FnMut(Step),
    ) -> Result<Answer, Box<Answer>> {
        *self.logged.lock() = Some(format!("{} {strategy}", engine.id()));
        let streams = self.streams.clone();
        let written = |answer: Box<Answer>| Box::new(answer.with_written(streams.of_start()));
        let Loaded { instances, .. } = self.load(engine, strategy, say).map_err(written)?;
        let has_start = self.guest.info().has_start;
        let failed = |error: Error| written(Box::new(Answer::failed(error, has_start)));
        let export = instances.export(&self.call.export, self.call.abi).map_err(failed)?;
        say(Step::Calls(strategy));
        let mut instance = instances.take().map_err(failed)?;
        let first = self.call(&mut *instance, export).map_err(failed)?;
        if first.state == State::Stopped {
            return Ok(first);
        }
        // The second call logs the same again.
        *self.logged.lock() = None;
        say(Step::Calls(strategy));
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
        let (abi, mut output) = (self.call.abi, Vec::new());
        instance.prepare()?;
        let start_wrote = self.streams.begin_call(abi);
        let outcome = instance.invoke(export, &self.input, &mut output);
        let written = self.streams.of_call(abi, &output, start_wrote);
        let effects = self.call.effects;
        let is_wanted = match &outcome {
            Ok(Outcome::Returned) => effects.are_wanted(),
            Ok(Outcome::Trapped(trap)) => effects.is_shown && leaves_its_memory(&trap.kind),
            Err(_) => false,
        };
        let memory = match is_wanted {
            true => instance.memory().map(|memory| effects.of(memory)),
            false => None,
        };
        instance.finish()?;
        let answer = match outcome? {
            Outcome::Returned => Answer::returned(&output),
            Outcome::Trapped(trap) => Answer::trapped(&trap),
        };
        Ok(answer.with_memory(memory).with_written(written))
    }
}

/// `true` if the memory after a trap is the same on every engine. Traps that depend on time or on
/// the size of the stack leave other memories.
fn leaves_its_memory(trap: &TrapKind) -> bool {
    !matches!(trap, TrapKind::DeadlineExceeded | TrapKind::StackOverflow)
}

/// `true` if a call has no result, so that only its effects can be compared.
pub(super) fn has_only_effects(abi: Abi, signature: &Signature) -> bool {
    abi != Abi::Substrate && signature.results.is_empty()
}
