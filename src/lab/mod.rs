//! The loader: opens cells. Guests, artifacts and modules are made when first needed. A cell
//! is returned only after its output was compared with the expected one.

mod instances;
mod opened;

pub use instances::Instances;
pub use opened::{Opened, Refused, abbreviate};
pub(crate) use opened::{checked_call, elapsed, host};

use crate::case::Guests;
use crate::plan::Cell;
use crate::record::Status;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::probe::{Kernel, check_execution};
use touchstone_executor::{Artifact, ArtifactFolder, Config, Engine, Module, Strategy, Support};

/// Opens cells, and keeps the artifacts and the module that they share.
pub struct Lab {
    guests: Guests,
    config: Config,
    artifacts: HashMap<ArtifactKey, (Artifact, u64)>,
    /// The folder through which the processes of a run share artifacts.
    shared: Option<ArtifactFolder>,
    /// Executors whose claimed way of execution was probed.
    executions: HashMap<(&'static str, Strategy), Option<Kernel>>,
    /// The module of the previous cell: the next cell often needs the same.
    last: Option<(ModuleKey, Loaded)>,
    /// Whether the way of execution is probed by the time of a kernel.
    probes_execution: bool,
}

type ArtifactKey = (&'static str, &'static str, String, HeapPages);
/// Engine, strategy, guest, memory, codec, and the case that it is loaded for.
type ModuleKey = (&'static str, Strategy, String, HeapPages, Option<String>, String);

/// A loaded module, and the cost of compiling and loading it.
#[derive(Clone)]
pub struct Loaded {
    /// The module.
    pub module: Arc<dyn Module>,
    /// The guest it was made of.
    pub guest: GuestModule,
    /// Its idle instances.
    pub instances: Instances,
    /// Time to compile, ns; `None` if an earlier process of the run compiled it.
    pub compile_ns: Option<u64>,
    /// Time to load, ns.
    pub load_ns: u64,
    /// Size of the artifact, bytes.
    pub artifact_bytes: u64,
}

/// The settings for cells of up to `threads` threads. Two modules may be loaded at once,
/// each with one instance per thread.
#[must_use]
pub fn config_for(threads: usize) -> Config {
    let config = Config::default();
    let wanted = u32::try_from(threads * 2).unwrap_or(u32::MAX);
    Config { instances: config.instances.max(wanted), ..config }
}

impl Lab {
    /// A lab over some guests. Every engine gets `config`.
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

    /// Skips the probe of the way of execution, for work that publishes no times: then nothing
    /// depends on time.
    #[must_use]
    pub fn without_times(self) -> Self {
        Self { probes_execution: false, ..self }
    }

    /// Saves artifacts in a private folder, and restores those that an earlier process of the
    /// same run saved there.
    ///
    /// # Errors
    ///
    /// When the folder is not private to this user.
    pub fn sharing_artifacts(self, folder: &Path) -> touchstone_executor::Result<Self> {
        Ok(Self { shared: Some(ArtifactFolder::open(folder)?), ..self })
    }

    /// Drops the loaded module, so that the next cell loads its own.
    pub fn unload(&mut self) {
        self.last = None;
    }

    /// The settings that every engine gets.
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

    /// Loads what the cell needs, calls the export twice and compares both outputs. The second
    /// call is the first that could see what an earlier one left.
    ///
    /// # Errors
    ///
    /// [`Refused`], when the cell cannot be run, gives a wrong output, or exceeds the time
    /// budget of its case.
    pub fn open(&mut self, cell: &Cell) -> Result<Opened, Refused> {
        self.open_for(cell, &cell.case.name)
    }

    /// Opens a cell on the module that was loaded for another case with the same memory.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_for(&mut self, cell: &Cell, family: &str) -> Result<Opened, Refused> {
        let failed = |error: anyhow::Error| Refused::new(Status::Failed, error);
        let loaded = self.load_for(cell, family)?;
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
        // The first call may set things up and is allowed three times the budget.
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
            period: cell.engine.period(cell.key.strategy),
        })
    }

    /// Compiles, loads and probes the module of a cell, unless the previous cell needed the
    /// same.
    ///
    /// # Errors
    ///
    /// [`Refused`], when the engine does not support it or does not execute as it claims.
    pub fn load(&mut self, cell: &Cell) -> Result<Loaded, Refused> {
        self.load_for(cell, &cell.case.name)
    }

    /// Each case has a module of its own: what instances or a runtime's pool learned from
    /// another case's calls, such as pages that they keep resident, would be paid for in this
    /// one's.
    fn load_for(&mut self, cell: &Cell, family: &str) -> Result<Loaded, Refused> {
        let engine = &*cell.engine;
        let strategy = cell.key.strategy;
        let heap = HeapPages::from(cell.case.heap);
        let codec = cell.case.codec.clone();
        let key = (engine.id(), strategy, cell.guest.clone(), heap, codec, family.to_owned());
        if let Some((last, loaded)) = &self.last
            && *last == key
        {
            return Ok(loaded.clone());
        }
        // Drop the old module first: the address space may not hold two pools.
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

    /// The staged artifact of a guest for a strategy: from this process, from an earlier one
    /// of the run, or compiled now; and the time to compile it, if known.
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

    /// Probes the way of execution, once per executor, before its first module is used.
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
