//! Opening cells: guests, artifacts and modules are made when first needed, and
//! no cell is handed out before its output was compared with the expected one.

use crate::guests::Guests;
use crate::matrix::Cell;
use crate::record::Status;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::probe::{Kernel, check_execution};
use touchstone_executor::{
    Artifact, Config, EffectiveConfig, ExportId, Instance, Module, Outcome, Strategy, Support,
};

/// Makes and keeps what cells share.
pub struct Session {
    guests: Guests,
    config: Config,
    artifacts: HashMap<ArtifactKey, (Artifact, u64)>,
    /// Executors whose way of execution was held against their claim.
    executions: HashMap<(&'static str, Strategy), Option<Kernel>>,
    /// The module of the cell before: the next one often differs in threads only.
    last: Option<(ModuleKey, Loaded)>,
    /// Whether the way of execution is seen, by how long a kernel takes.
    sees_execution: bool,
}

type ArtifactKey = (&'static str, &'static str, String, String);
type ModuleKey = (&'static str, String, String, String, Option<String>);

#[derive(Clone)]
struct Loaded {
    module: Arc<dyn Module>,
    guest: GuestModule,
    instances: Instances,
    compile_ns: u64,
    load_ns: u64,
    /// Time of the first instance and its first call, by case.
    first_call_ns: HashMap<String, u64>,
    artifact_bytes: u64,
}

/// Idle instances of a module. Making one can cost as much as a thousand calls
/// (a memory of 128 MiB that is cleared once), so they are made once and handed
/// from one measurement to the next.
#[derive(Clone)]
pub struct Instances {
    module: Arc<dyn Module>,
    idle: Arc<Mutex<Vec<Box<dyn Instance>>>>,
}

impl Instances {
    /// No instance yet.
    #[must_use]
    pub fn new(module: Arc<dyn Module>) -> Self {
        Self { module, idle: Arc::default() }
    }

    /// Whether an instance of the one is an instance of the other.
    #[must_use]
    pub fn are_of_one_module(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.module, &other.module)
    }

    /// An idle instance, or a new one.
    ///
    /// # Errors
    ///
    /// When the runtime cannot make one.
    pub fn take(&self) -> touchstone_executor::Result<Box<dyn Instance>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.module.new_instance(), Ok)
    }

    /// The handle of another export of the module.
    ///
    /// # Errors
    ///
    /// When there is none of that name and convention.
    pub fn export(&self, name: &str, abi: Abi) -> touchstone_executor::Result<ExportId> {
        self.module.export(name, abi)
    }

    /// For the next one who needs it. Its next `prepare` cleans up whatever a
    /// call broken off has left.
    pub fn give_back(&self, instance: Box<dyn Instance>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(instance);
    }
}

/// A cell that gave the right output and can be timed.
#[derive(Clone)]
pub struct Opened {
    /// Instances of the loaded module.
    pub instances: Instances,
    /// The export to call.
    pub export: ExportId,
    /// An export that only takes the input, where the case names one.
    pub take: Option<ExportId>,
    /// What it is given.
    pub input: Arc<[u8]>,
    /// What has to come out.
    pub expected: Arc<[u8]>,
    /// What is really in force.
    pub effective: EffectiveConfig,
    /// Whether the runtime or this project does the strategy, and how.
    pub support: Support,
    /// Time to compile, ns; that of the run that filled the artifact cache.
    pub compile_ns: u64,
    /// Time to load, ns.
    pub load_ns: u64,
    /// Time of making an instance and its first call, ns.
    pub first_call_ns: u64,
    /// Time of the second call, ns: enough to plan the sampling.
    pub estimate_ns: u64,
    /// Size of the artifact, bytes.
    pub artifact_bytes: u64,
}

/// A cell that is not timed, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// What kind of refusal.
    pub status: Status,
    /// In words.
    pub reason: String,
}

impl Refused {
    fn new(status: Status, reason: impl std::fmt::Display) -> Self {
        // `{:#}` prints the chain of causes where there is one.
        Self { status, reason: format!("{reason:#}") }
    }
}

/// The settings for a session whose widest cells have so many threads: two
/// modules may be loaded at once, each with an instance a thread.
#[must_use]
pub fn config_for(threads: usize) -> Config {
    let config = Config::default();
    let wanted = u32::try_from(threads * 2).unwrap_or(u32::MAX);
    Config { instances: config.instances.max(wanted), ..config }
}

/// Processors that this process may use.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Why a cell will not be run, as far as that is known without loading anything.
#[must_use]
pub fn refused_beforehand(cell: &Cell, cores: usize) -> Option<Refused> {
    if let Support::Unsupported { reason } = cell.engine.support(cell.strategy) {
        return Some(Refused { status: Status::Unsupported, reason });
    }
    too_many_threads(cell, cores)
}

/// The refusal of a cell with more threads than processors.
#[must_use]
pub fn too_many_threads(cell: &Cell, cores: usize) -> Option<Refused> {
    (cell.key.threads > cores).then(|| Refused {
        status: Status::Skipped,
        reason: format!(
            "{} threads on {cores} processors would time the scheduler",
            cell.key.threads
        ),
    })
}

impl Session {
    /// A session over some guests. `config` goes to every engine.
    #[must_use]
    pub fn new(guests: Guests, config: Config) -> Self {
        Self {
            guests,
            config,
            artifacts: HashMap::new(),
            executions: HashMap::new(),
            last: None,
            sees_execution: true,
        }
    }

    /// For work that publishes no times: nothing in it depends on time, and how an
    /// engine executes is taken from its word.
    #[must_use]
    pub fn without_times(self) -> Self {
        Self { sees_execution: false, ..self }
    }

    /// Lets go of the loaded module: the next cell loads its own anew.
    pub fn unload(&mut self) {
        self.last = None;
    }

    /// What goes to every engine.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The guest's digest, for the record; empty when the file cannot be read.
    pub fn digest(&mut self, guest: &str) -> String {
        self.guests.file(guest).map(|file| file.sha256.clone()).unwrap_or_default()
    }

    /// Loads what the cell needs, calls it twice and compares the output both
    /// times: the second call is the first that sees what an earlier one left.
    ///
    /// # Errors
    ///
    /// [`Refused`], when the cell cannot be run or must not be believed.
    pub fn open(&mut self, cell: &Cell) -> Result<Opened, Refused> {
        if let Some(refused) = refused_beforehand(cell, cores()) {
            return Err(refused);
        }
        let failed = |error: anyhow::Error| Refused::new(Status::Failed, error);
        let loaded = self.load(cell)?;
        let heap_base = loaded.guest.info().heap_base;
        let input = cell.case.input.bytes(heap_base).map_err(failed)?;
        let expected = cell.case.expect.output.bytes(heap_base).map_err(failed)?;
        let export = loaded.module.export(&cell.case.export, cell.case.abi).map_err(host)?;
        let started = Instant::now();
        let mut instance = loaded.instances.take().map_err(host)?;
        let made_ns = elapsed(started);
        let first_ns = made_ns + checked_call(&mut *instance, export, &input, &expected)?;
        let estimate_ns = checked_call(&mut *instance, export, &input, &expected)?;
        let take = match &cell.case.take {
            Some(take) => {
                let export = loaded.module.export(&take.export, take.abi).map_err(host)?;
                checked_call(&mut *instance, export, &input, &[])?;
                Some(export)
            }
            None => None,
        };
        loaded.instances.give_back(instance);
        let first_call_ns = match &mut self.last {
            Some((_, last)) => *last.first_call_ns.entry(cell.key.case.clone()).or_insert(first_ns),
            None => first_ns,
        };
        Ok(Opened {
            effective: match self.executions.get(&(cell.engine.id(), cell.strategy)) {
                Some(Some(seen)) => {
                    loaded.module.effective().with("execution seen", seen.to_string())
                }
                _ => loaded.module.effective(),
            },
            instances: loaded.instances,
            export,
            take,
            input: input.into(),
            expected: expected.into(),
            support: cell.engine.support_for(cell.strategy, &loaded.guest),
            compile_ns: loaded.compile_ns,
            load_ns: loaded.load_ns,
            first_call_ns,
            estimate_ns,
            artifact_bytes: loaded.artifact_bytes,
        })
    }

    /// The prepared guest of a cell.
    ///
    /// # Errors
    ///
    /// When its file is missing or cannot be hosted.
    pub fn guest(&mut self, cell: &Cell) -> anyhow::Result<GuestModule> {
        self.guests.module(&cell.guest, cell.case.heap.into())
    }

    /// Once per executor, before the first of its modules: a mode is seen, not
    /// believed.
    fn check_execution(&mut self, cell: &Cell) -> touchstone_executor::Result<()> {
        let key = (cell.engine.id(), cell.strategy);
        if self.sees_execution && !self.executions.contains_key(&key) {
            let seen = check_execution(&*cell.engine, cell.strategy, &self.config)?;
            self.executions.insert(key, seen);
        }
        Ok(())
    }

    fn load(&mut self, cell: &Cell) -> Result<Loaded, Refused> {
        let heap = format!("{:?}", HeapPages::from(cell.case.heap));
        let codec = cell.case.codec.clone();
        let key =
            (cell.engine.id(), cell.key.strategy.clone(), cell.guest.clone(), heap.clone(), codec);
        if let Some((last, loaded)) = &self.last
            && *last == key
        {
            return Ok(loaded.clone());
        }
        // The old module goes first: two pools need not fit the addresses.
        self.last = None;
        let guest = self.guest(cell).map_err(|error| Refused::new(Status::Failed, error))?;
        if let Support::Unsupported { reason } = cell.engine.support_for(cell.strategy, &guest) {
            return Err(Refused { status: Status::Unsupported, reason });
        }
        self.check_execution(cell).map_err(host)?;
        let class = cell.engine.artifact_class(cell.strategy);
        let artifact_key = (cell.engine.id(), class, cell.guest.clone(), heap);
        if !self.artifacts.contains_key(&artifact_key) {
            let started = Instant::now();
            let artifact =
                cell.engine.compile(&guest, cell.strategy, &self.config).map_err(host)?;
            self.artifacts.insert(artifact_key.clone(), (artifact, elapsed(started)));
        }
        let (artifact, compile_ns) = &self.artifacts[&artifact_key];
        cell.engine.stage(artifact, cell.strategy).map_err(host)?;
        let codec = cell.case.codec.as_ref();
        let codec = codec.map(|name| self.guests.module(name, HeapPages::default())).transpose();
        let codec = codec.map_err(|error| Refused::new(Status::Failed, error))?;
        let config = Config { codec, ..self.config.clone() };
        let started = Instant::now();
        let mut module =
            cell.engine.load(&guest, artifact, cell.strategy, &config).map_err(host)?;
        let load_ns = elapsed(started);
        module.probe().map_err(host)?;
        let module: Arc<dyn Module> = module.into();
        let loaded = Loaded {
            instances: Instances::new(Arc::clone(&module)),
            module,
            guest,
            first_call_ns: HashMap::new(),
            compile_ns: *compile_ns,
            load_ns,
            artifact_bytes: artifact.size() as u64,
        };
        self.last = Some((key, loaded.clone()));
        Ok(loaded)
    }
}

/// The refusal of a cell by its backend.
fn host(error: touchstone_executor::Error) -> Refused {
    use touchstone_executor::Error::{ExportUnsupported, Unsupported};
    let status = match error {
        Unsupported { .. } | ExportUnsupported { .. } => Status::Unsupported,
        _ => Status::Failed,
    };
    Refused::new(status, error)
}

/// ns since then.
pub(crate) fn elapsed(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn checked_call(
    instance: &mut dyn Instance,
    export: ExportId,
    input: &[u8],
    expected: &[u8],
) -> Result<u64, Refused> {
    let mut output = Vec::new();
    let started = Instant::now();
    let outcome = instance.call(export, input, &mut output).map_err(host)?;
    let took = elapsed(started);
    match outcome {
        Outcome::Trapped(trap) => Err(Refused::new(Status::Trapped, trap)),
        Outcome::Returned if output == expected => Ok(took),
        Outcome::Returned => Err(Refused {
            status: Status::Wrong,
            reason: format!("expected {}, got {}", abbreviate(expected), abbreviate(&output)),
        }),
    }
}

/// Bytes for a message: hexadecimal, the first 32.
#[must_use]
pub fn abbreviate(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > 32 {
        format!("0x{shown}… ({} bytes)", bytes.len())
    } else {
        format!("0x{shown}")
    }
}
