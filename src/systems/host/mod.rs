//! The loader of a host over HTTP: files of a folder, and the executors that run them.

use crate::case::{self, Guests};
use crate::files::{FilePath, read_whole};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages, unpack};
use touchstone_executor::{Config, Engine, Execution, Module, Strategy, Support};
use touchstone_systems::host::{Catalogue, File, Load};

/// The codecs if no folder of codecs is given.
const CODECS: [&str; 2] = ["wasm-serde-json", "wasm-serde-toml"];
/// A module's memory may grow to 1 GiB: enough for most, and not enough to exhaust a machine.
const MAX_PAGES: u32 = 16_384;

/// What a host is made of.
pub struct Offer<'a> {
    /// The folder of the contracts.
    pub contracts: &'a Path,
    /// The folder of the codecs; those of the project where there is none.
    pub codecs: Option<&'a Path>,
    /// The executors that may run them, the first that can does.
    pub executors: Vec<(Arc<dyn Engine>, Strategy)>,
    /// The longest time of a call.
    pub time: Duration,
    /// Threads that make calls.
    pub threads: usize,
}

/// The executors among `engines`, the preferred one first: of one engine or of one strategy,
/// where they are named.
///
/// # Errors
///
/// When this build has no engine of that name.
pub fn executors(
    engines: &[Arc<dyn Engine>],
    engine: Option<&str>,
    strategy: Option<Strategy>,
) -> Result<Vec<(Arc<dyn Engine>, Strategy)>> {
    let mut own: Vec<&Arc<dyn Engine>> = engines.iter().collect();
    match engine {
        Some(name) => {
            own.retain(|own| own.id() == name);
            let names: Vec<&str> = engines.iter().map(|engine| engine.id()).collect();
            let names = names.join(", ");
            ensure!(!own.is_empty(), "there is no engine '{name}'; this build has {names}");
        }
        // Native code isolates nothing; an engine that cannot stop a call blocks its thread.
        None => {
            own.retain(|engine| engine.execution() != Execution::Native);
            own.sort_by_key(|own| (own.execution() != Execution::Compiled, !own.has_deadline()));
        }
    }
    let mut strategies = strategy.map_or_else(|| Strategy::all().to_vec(), |own| vec![own]);
    strategies.sort_by_key(|strategy| strategy.preference());
    let pairs = own.into_iter();
    Ok(pairs.flat_map(|own| strategies.iter().map(|way| (own.clone(), *way))).collect())
}

impl Offer<'_> {
    /// The catalogue of the host; nothing of it is loaded yet.
    ///
    /// # Errors
    ///
    /// When a folder or a file in it cannot be read, or there is no contract.
    pub fn catalogue(self) -> Result<Catalogue> {
        let contracts = files(self.contracts)?;
        if contracts.is_empty() {
            bail!("there is no .wasm or .wat file in {}", self.contracts.display());
        }
        let codecs = match self.codecs {
            Some(folder) => files(folder)?,
            None => built_in_codecs()?,
        };
        let instances = u32::try_from(self.threads).unwrap_or(u32::MAX).saturating_add(1);
        let config = Config { instances, ..Config::default() };
        let loader = Loader { executors: self.executors, time: self.time, config };
        Ok(Catalogue::new(contracts, codecs, Box::new(loader)))
    }
}

fn built_in_codecs() -> Result<Vec<File>> {
    let mut guests = Guests::built();
    let codec = |name: &&str| {
        let wasm = guests.file(name)?.bytes.to_vec();
        Ok(File { name: name.replace('-', "_"), wasm })
    };
    CODECS.iter().map(codec).collect()
}

/// The modules and components of a folder, by name.
fn files(folder: &Path) -> Result<Vec<File>> {
    let mut places = FilePath::within(folder)?.list()?;
    let is_module = |place: &FilePath| {
        let ending = place.path().extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("wasm" | "wat"))
    };
    places.retain(is_module);
    let mut files: Vec<File> = Vec::new();
    for place in places {
        let path = place.path();
        let unusable = || format!("cannot use {place}");
        let bytes = read_whole(&place)?;
        let wasm = case::binary(&bytes, path).with_context(unusable)?;
        let wasm = unpack(&wasm).with_context(unusable)?.into_owned();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_taken =
            files.iter().any(|file| file.name.replace('-', "_") == name.replace('-', "_"));
        ensure!(!is_taken, "two files of {} have the name {name}", folder.display());
        files.push(File { name, wasm });
    }
    Ok(files)
}

/// Loads guests on the first executor that can run them.
struct Loader {
    executors: Vec<(Arc<dyn Engine>, Strategy)>,
    time: Duration,
    config: Config,
}

impl Load for Loader {
    fn guest(&self, name: &str, wasm: &[u8]) -> touchstone_executor::Result<GuestModule> {
        // A component brings the limits of its memories.
        let is_component = touchstone_executor::guest::ModuleInfo::read(wasm)?.component.is_some();
        let growth = if is_component { Growth::default() } else { Growth::UpTo(MAX_PAGES) };
        GuestModule::new(name, wasm, HeapPages { growth, ..HeapPages::default() })
    }

    fn load(&self, guest: &GuestModule) -> Result<Arc<dyn Module>> {
        let mut reason = None;
        for (engine, strategy) in &self.executors {
            if let Support::Unsupported { reason: own } = engine.support_for(*strategy, guest) {
                reason.get_or_insert_with(|| format!("{} with {strategy}: {own}", engine.id()));
                continue;
            }
            match load(&**engine, *strategy, guest, &self.config, self.time) {
                Ok(module) => return Ok(module),
                Err(error) => reason = Some(error.to_string()),
            }
        }
        bail!("no executor can run it; {}", reason.unwrap_or_default())
    }
}

fn load(
    engine: &dyn Engine,
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
    time: Duration,
) -> touchstone_executor::Result<Arc<dyn Module>> {
    let deadline = engine.has_deadline().then_some(time);
    let config = Config { deadline, ..config.clone() };
    let artifact = engine.compile(guest, strategy, &config)?;
    let mut module = engine.load(guest, &artifact, strategy, &config)?;
    module.probe()?;
    Ok(module.into())
}

/// A catalogue with one module that is loaded already.
pub(super) fn catalogue_of(guest: &GuestModule, module: Arc<dyn Module>) -> Catalogue {
    let file = File { name: guest.name().to_owned(), wasm: guest.wasm().to_vec() };
    let loader = Box::new(Ready { guest: guest.clone(), module });
    Catalogue::new(vec![file], Vec::new(), loader)
}

struct Ready {
    guest: GuestModule,
    module: Arc<dyn Module>,
}

impl Load for Ready {
    fn guest(&self, _name: &str, _wasm: &[u8]) -> touchstone_executor::Result<GuestModule> {
        Ok(self.guest.clone())
    }

    fn load(&self, _guest: &GuestModule) -> Result<Arc<dyn Module>> {
        Ok(Arc::clone(&self.module))
    }
}
