//! The loader: opens cells. Guests, artifacts and modules are made when first needed. A cell
//! is returned only after its output was compared with the expected one.

mod opened;
mod reason;

pub use opened::{Instances, Loaded, Opened, Refused, VERY_LONG, abbreviate, abbreviate_to};
pub(crate) use opened::{checked_call, elapsed, ns};
pub use reason::obstacles;

use crate::case::Guests;
use crate::plan::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::harness::check_execution;
use touchstone_executor::{
    Artifact, ArtifactFolder, Config, Error, Execution, Imports, Strategy, Support,
};

/// Opens cells, and keeps the artifacts and the module that they share.
pub struct Lab {
    pub guests: Guests,
    pub config: Config,
    artifacts: HashMap<ArtifactKey, Compiled>,
    /// The folder through which the processes of a run share artifacts.
    shared: Option<ArtifactFolder>,
    /// Executors whose claimed way of execution was probed.
    executions: HashMap<(&'static str, Strategy), Option<Execution>>,
    /// The module of the previous cell: the next cell often needs the same.
    last: Option<(ModuleKey, Loaded)>,
    /// `true` to probe the way of execution by the time of a kernel.
    probes_execution: bool,
    /// Tells whether nothing else uses this core now, and the time within which a module is
    /// compiled again if something did.
    pub watch: (fn() -> bool, Duration),
}

/// A deadline that no call reaches.
const FAR_AWAY: Duration = Duration::from_secs(3600);

/// An artifact and the time to compile it, ns; `None` if an earlier process of the run compiled it.
type Compiled = (Artifact, Option<u64>);
/// Engine, class of artifacts, guest with the digest of its bytes, and heap.
type ArtifactKey = (&'static str, &'static str, String, [u8; 32], HeapPages);
type ModuleKey = (&'static str, Strategy, String, String);

/// The settings for cells of up to `threads` threads. Two modules may be loaded at once,
/// each with one instance per thread.
pub fn config_for(threads: usize) -> Config {
    let config = Config::default();
    let wanted = u32::try_from(threads * 2).unwrap_or(u32::MAX);
    Config { instances: config.instances.max(wanted), imports: Imports::Trap, ..config }
}

impl Lab {
    pub fn new(guests: Guests, config: Config) -> Self {
        Self {
            guests,
            config,
            artifacts: HashMap::new(),
            shared: None,
            executions: HashMap::new(),
            last: None,
            probes_execution: true,
            watch: (|| true, Duration::ZERO),
        }
    }

    /// Skips the probe of the way of execution, for work that must not depend on time.
    pub fn without_times(self) -> Self {
        Self { probes_execution: false, ..self }
    }

    /// A lab over the same guests with a deadline that no call reaches. Shares no artifacts,
    /// because code that checks the clock is different code.
    pub fn limited(&self) -> Self {
        let config = Config { deadline: Some(FAR_AWAY), ..self.config.clone() };
        Self { probes_execution: self.probes_execution, ..Self::new(self.guests.clone(), config) }
    }

    /// Stores artifacts in a private folder, and restores those of an earlier process of the same
    /// run. Fails if the folder is not private to this user.
    pub fn sharing_artifacts(self, folder: &Path) -> touchstone_executor::Result<Self> {
        Ok(Self { shared: Some(ArtifactFolder::open(folder)?), ..self })
    }

    /// Drops the loaded module, so that the next cell loads its own.
    pub fn unload(&mut self) {
        self.last = None;
    }

    /// Loads the module of a cell, calls the export twice and compares both outputs.
    pub fn open(&mut self, cell: &Cell) -> Result<Opened, Refused> {
        self.load(cell)?.open(&cell.case)
    }

    /// Compiles, loads and probes the module of a cell, unless the previous cell had the same. Each
    /// case has its own module: otherwise it would pay for what instances or a pool learned from
    /// another case's calls, such as pages kept resident. Fails if the engine does not support it
    /// or does not execute as it claims.
    pub fn load(&mut self, cell: &Cell) -> Result<Loaded, Refused> {
        let (engine, strategy, case) = (&*cell.engine, cell.key.strategy, &cell.case);
        let key = (engine.id(), strategy, cell.guest.clone(), case.name.clone());
        if let Some((last, loaded)) = &self.last
            && *last == key
        {
            return Ok(loaded.clone());
        }
        // Drop the old module first: the address space may not hold two pools.
        self.last = None;
        let guest = self.guests.of_case(case, &cell.guest)?;
        let codec = case.codec.as_ref();
        let codec = codec.map(|name| self.guests.module(name, HeapPages::default())).transpose()?;
        let wasi = case.program(&cell.guest).map(Arc::new).or_else(|| self.config.wasi.clone());
        let config = Config { codec, wasi, imports: case.imports, ..self.config.clone() };
        let loaded = self.load_guest(engine, strategy, &guest, case.heap, &config)?;
        self.last = Some((key, loaded.clone()));
        Ok(loaded)
    }

    /// Compiles, loads and probes the module of a guest. `config` differs from
    /// [`config`](Self::config) at most in the guest's parameters. Fails if the engine does not
    /// support it or does not execute as it claims, or if the guest traps during instantiation.
    pub fn load_guest(
        &mut self,
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
        guest: &GuestModule,
        heap: HeapPages,
        config: &Config,
    ) -> touchstone_executor::Result<Loaded> {
        let support = engine.support_for(strategy, guest);
        if let Support::Unsupported { reason } = support {
            return Err(Error::Unsupported { engine: engine.id(), strategy, reason });
        }
        let seen = self.check_execution(engine, strategy)?;
        let (artifact, compile_ns) = self.artifact(engine, strategy, guest, heap)?;
        let started = Instant::now();
        let mut module = engine.load(guest, &artifact, strategy, config)?;
        let load_ns = elapsed(started);
        module.probe()?;
        let effective = match seen {
            Some(seen) => module
                .effective()
                .with("execution seen", format!("a compute kernel runs as {seen} code does")),
            None => module.effective(),
        };
        Ok(Loaded {
            instances: Instances::new(module.into()),
            guest: guest.clone(),
            effective,
            support,
            compile_ns,
            load_ns,
            artifact_bytes: artifact.size() as u64,
            period: engine.period(strategy),
        })
    }

    /// The staged artifact of a guest for a strategy, from this process, from an earlier one of the
    /// run, or compiled now, with the time to compile it if known.
    pub fn artifact(
        &mut self,
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
        guest: &GuestModule,
        heap: HeapPages,
    ) -> touchstone_executor::Result<Compiled> {
        let class = engine.artifact_class(strategy);
        let key = (engine.id(), class, guest.name().to_owned(), guest.sha256(), heap);
        let (config, folder) = (&self.config, self.shared.as_ref());
        let compiled = match self.artifacts.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let ((is_alone, retry), began) = (self.watch, Instant::now());
                let mut before = is_alone();
                let mut made = engine.restore_or_compile(guest, strategy, config, folder)?;
                while made.1.is_some() && !(before && is_alone()) && began.elapsed() < retry {
                    before = is_alone();
                    made = engine.restore_or_compile(guest, strategy, config, None)?;
                }
                place.insert((made.0, made.1.map(ns)))
            }
        };
        compiled.0.stage(strategy)?;
        Ok(compiled.clone())
    }

    /// The way of execution, probed once per executor, before its first module is used.
    fn check_execution(
        &mut self,
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
    ) -> touchstone_executor::Result<Option<Execution>> {
        let key = (engine.id(), strategy);
        if !self.probes_execution {
            return Ok(None);
        }
        if let Some(seen) = self.executions.get(&key) {
            return Ok(*seen);
        }
        let kernel = check_execution(engine, strategy, &self.config)?;
        let seen = kernel.map(|kernel| kernel.execution());
        self.executions.insert(key, seen);
        Ok(seen)
    }
}
