//! The one loader: guests, artifacts and modules are made when first needed, and no cell
//! is handed out before its output was compared with the expected one.

mod guests;
mod instances;
mod opened;

pub use guests::{GuestFile, Guests, digest};
pub use instances::Instances;
pub use opened::{Opened, Refused, abbreviate};
pub(crate) use opened::{checked_call, elapsed, host};

use crate::plan::Cell;
use crate::record::Status;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::probe::{Kernel, check_execution};
use touchstone_executor::{Artifact, ArtifactFolder, Config, Engine, Module, Strategy, Support};

/// Makes and keeps what cells share.
pub struct Lab {
    guests: Guests,
    config: Config,
    artifacts: HashMap<ArtifactKey, (Artifact, u64)>,
    /// Where artifacts are left for later processes of the same run.
    shared: Option<ArtifactFolder>,
    /// Executors whose way of execution was held against their claim.
    executions: HashMap<(&'static str, Strategy), Option<Kernel>>,
    /// The module of the cell before: the next one often differs in threads only.
    last: Option<(ModuleKey, Loaded)>,
    /// Whether the way of execution is probed, by how long a kernel takes.
    probes_execution: bool,
}

type ArtifactKey = (&'static str, &'static str, String, HeapPages);
type ModuleKey = (&'static str, Strategy, String, HeapPages, Option<String>);

/// A loaded module, and what it took to get there.
#[derive(Clone)]
pub struct Loaded {
    /// The module.
    pub module: Arc<dyn Module>,
    /// The guest it was made of.
    pub guest: GuestModule,
    /// Its idle instances.
    pub instances: Instances,
    /// Time to compile, ns; `None` where a former process of the run compiled it.
    pub compile_ns: Option<u64>,
    /// Time to load, ns.
    pub load_ns: u64,
    /// Size of the artifact, bytes.
    pub artifact_bytes: u64,
}

/// The settings for cells of up to so many threads: two modules may be loaded at once,
/// each with an instance a thread.
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

impl Lab {
    /// A lab over some guests. `config` goes to every engine.
    #[must_use]
    pub fn new(guests: Guests, config: Config) -> Self {
        Self {
            guests,
            config,
            artifacts: HashMap::new(),
            shared: None,
            executions: HashMap::new(),
            last: None,
            probes_execution: true,
        }
    }

    /// For work that publishes no times: how an engine executes is taken from its word, so
    /// that nothing depends on time.
    #[must_use]
    pub fn without_times(self) -> Self {
        Self { probes_execution: false, ..self }
    }

    /// Leaves artifacts in a private folder, and takes those that a former process of the
    /// same run has left there.
    ///
    /// # Errors
    ///
    /// When the folder is not this user's alone.
    pub fn sharing_artifacts(self, folder: &Path) -> touchstone_executor::Result<Self> {
        Ok(Self { shared: Some(ArtifactFolder::open(folder)?), ..self })
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

    /// The guests.
    pub fn guests(&mut self) -> &mut Guests {
        &mut self.guests
    }

    /// The prepared guest of a cell.
    ///
    /// # Errors
    ///
    /// When its file is missing or cannot be hosted.
    pub fn guest(&mut self, cell: &Cell) -> anyhow::Result<GuestModule> {
        self.guests.module(&cell.guest, cell.case.heap.into())
    }

    /// Loads what the cell needs, calls it twice and compares the output both times: the
    /// second call is the first that sees what an earlier one left.
    ///
    /// # Errors
    ///
    /// [`Refused`], when the cell cannot be run, must not be believed, or takes longer for
    /// a call than its case's budget.
    pub fn open(&mut self, cell: &Cell) -> Result<Opened, Refused> {
        let failed = |error: anyhow::Error| Refused::new(Status::Failed, error);
        let loaded = self.load(cell)?;
        let heap_base = loaded.guest.info().heap_base;
        let input = cell.case.input.bytes(heap_base).map_err(failed)?;
        let expected = cell.case.expect.output.bytes(heap_base).map_err(failed)?;
        let export = loaded.module.export(&cell.case.export, cell.case.abi).map_err(host)?;
        let within_budget = |ns: u64| match cell.case.budget() {
            Some(budget) if Duration::from_nanos(ns) > budget => {
                Err(Refused::over_budget(Duration::from_nanos(ns), budget))
            }
            _ => Ok(()),
        };
        let started = Instant::now();
        let mut instance = loaded.instances.take().map_err(host)?;
        let made_ns = elapsed(started);
        let first_ns = checked_call(&mut *instance, export, &input, &expected)?;
        // The first call may set things up: three times the budget is allowed for it.
        within_budget(first_ns / 3)?;
        let estimate_ns = checked_call(&mut *instance, export, &input, &expected)?;
        within_budget(estimate_ns)?;
        let take = match &cell.case.take {
            Some(take) => {
                let export = loaded.module.export(&take.export, take.abi).map_err(host)?;
                checked_call(&mut *instance, export, &input, &[])?;
                Some(export)
            }
            None => None,
        };
        loaded.instances.give_back(instance);
        Ok(Opened {
            effective: match self.executions.get(&(cell.engine.id(), cell.key.strategy)) {
                Some(Some(seen)) => loaded.module.effective().with(
                    "execution seen",
                    format!("a compute kernel runs as {} code does", seen.execution()),
                ),
                _ => loaded.module.effective(),
            },
            instances: loaded.instances,
            export,
            take,
            input: input.into(),
            expected: expected.into(),
            support: cell.engine.support_for(cell.key.strategy, &loaded.guest),
            compile_ns: loaded.compile_ns,
            load_ns: loaded.load_ns,
            first_call_ns: made_ns + first_ns,
            estimate_ns,
            artifact_bytes: loaded.artifact_bytes,
        })
    }

    /// Compiles and loads what the cell needs, and probes it, unless the cell before needed
    /// the same.
    ///
    /// # Errors
    ///
    /// [`Refused`], when the engine cannot do it or is not what it claims to be.
    pub fn load(&mut self, cell: &Cell) -> Result<Loaded, Refused> {
        let engine = &*cell.engine;
        let strategy = cell.key.strategy;
        let heap = HeapPages::from(cell.case.heap);
        let key = (engine.id(), strategy, cell.guest.clone(), heap, cell.case.codec.clone());
        if let Some((last, loaded)) = &self.last
            && *last == key
        {
            return Ok(loaded.clone());
        }
        // The old module goes first: two pools need not fit the addresses.
        self.last = None;
        let failed = |error: anyhow::Error| Refused::new(Status::Failed, error);
        let guest = self.guest(cell).map_err(failed)?;
        if let Support::Unsupported { reason } = engine.support_for(strategy, &guest) {
            return Err(Refused { status: Status::Unsupported, reason });
        }
        self.check_execution(engine, strategy).map_err(host)?;
        let (artifact, compile_ns) = self.artifact(engine, strategy, &guest, heap).map_err(host)?;
        let codec = cell.case.codec.as_ref();
        let codec = codec.map(|name| self.guests.module(name, HeapPages::default())).transpose();
        let config = Config { codec: codec.map_err(failed)?, ..self.config.clone() };
        let started = Instant::now();
        let mut module = engine.load(&guest, &artifact, strategy, &config).map_err(host)?;
        let load_ns = elapsed(started);
        module.probe().map_err(host)?;
        let module: Arc<dyn Module> = module.into();
        let loaded = Loaded {
            instances: Instances::new(Arc::clone(&module)),
            module,
            guest,
            compile_ns,
            load_ns,
            artifact_bytes: artifact.size() as u64,
        };
        self.last = Some((key, loaded.clone()));
        Ok(loaded)
    }

    /// The artifact of a guest for a strategy, staged: from this process, from a former one
    /// of the run, or compiled now; with the time it took to compile, where that is known.
    ///
    /// # Errors
    ///
    /// When the runtime cannot compile or store it.
    pub fn artifact(
        &mut self,
        engine: &dyn Engine,
        strategy: Strategy,
        guest: &GuestModule,
        heap: HeapPages,
    ) -> touchstone_executor::Result<(Artifact, Option<u64>)> {
        let class = engine.artifact_class(strategy);
        let key = (engine.id(), class, guest.name().to_owned(), heap);
        let (artifact, compile_ns) = match self.artifacts.get(&key) {
            Some((artifact, ns)) => (artifact.clone(), Some(*ns).filter(|ns| *ns > 0)),
            None => {
                let (artifact, ns) = self.compile(engine, strategy, guest)?;
                self.artifacts.insert(key, (artifact.clone(), ns.unwrap_or(0)));
                (artifact, ns)
            }
        };
        engine.stage(&artifact, strategy)?;
        Ok((artifact, compile_ns))
    }

    fn compile(
        &self,
        engine: &dyn Engine,
        strategy: Strategy,
        guest: &GuestModule,
    ) -> touchstone_executor::Result<(Artifact, Option<u64>)> {
        if let Some(folder) = &self.shared
            && let Some(artifact) = engine.restore(guest, strategy, &self.config, folder)?
        {
            return Ok((artifact, None));
        }
        let started = Instant::now();
        let artifact = engine.compile(guest, strategy, &self.config)?;
        let took = elapsed(started).max(1);
        if let Some(folder) = &self.shared {
            artifact.save(folder)?;
        }
        Ok((artifact, Some(took)))
    }

    /// Once per executor, before the first of its modules: a mode is seen, not believed.
    fn check_execution(
        &mut self,
        engine: &dyn Engine,
        strategy: Strategy,
    ) -> touchstone_executor::Result<()> {
        let key = (engine.id(), strategy);
        if self.probes_execution && !self.executions.contains_key(&key) {
            let seen = check_execution(engine, strategy, &self.config)?;
            self.executions.insert(key, seen);
        }
        Ok(())
    }
}
