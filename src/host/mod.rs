//! The loader of a host over HTTP: files of a folder, and the executors that run them.

mod folder;

use crate::case::Guests;
use crate::record::preference;
use crate::terminal::complain;
use anyhow::{Result, bail, ensure};
use folder::Folder;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{self, Growth, GuestModule, HeapPages};
use touchstone_executor::{Config, Execution, Imports, Module, Strategy, Support};
use touchstone_systems::host::{Catalogue, File, Files, Guest, Load, Most, plain};

/// The codecs if no folder of codecs is given.
const CODECS: [&str; 2] = ["wasm-serde-json", "wasm-serde-toml"];
/// A module's memory may grow to 1 GiB: enough for most, and not enough to exhaust a machine.
const MAX_PAGES: u32 = 16_384;

/// The executors among `engines`, the preferred one first: of one engine or of one strategy, where
/// they are named. Fails if this build has no engine of that name.
pub fn executors(
    engines: &[Arc<dyn MeasuredEngine>],
    engine: Option<&str>,
    strategy: Option<Strategy>,
) -> Result<Vec<(Arc<dyn MeasuredEngine>, Strategy)>> {
    let mut own: Vec<&Arc<dyn MeasuredEngine>> = engines.iter().collect();
    match engine {
        Some(name) => {
            own.retain(|own| own.id() == name);
            let names: Vec<&str> = engines.iter().map(|engine| engine.id()).collect();
            let names = names.join(", ");
            ensure!(!own.is_empty(), "there is no engine '{name}'; this build has {names}");
        }
        // Native code isolates nothing, and endless recursion may end the host. An engine that
        // cannot stop a call blocks its thread.
        None => {
            own.retain(|engine| {
                engine.execution() != Execution::Native && engine.capabilities().recursion
            });
            own.sort_by_key(|own| {
                (own.execution() != Execution::Compiled, !own.capabilities().deadline)
            });
        }
    }
    let mut strategies = strategy.map_or_else(|| Strategy::all().to_vec(), |own| vec![own]);
    strategies.sort_by_key(|strategy| preference(*strategy));
    let pairs = own.into_iter();
    Ok(pairs.flat_map(|own| strategies.iter().map(|way| (own.clone(), *way))).collect())
}

/// The catalogue of a host with a folder of contracts and one of codecs, or the project's codecs;
/// nothing of it is loaded yet. The first of the executors that can runs a guest. Calls take up to
/// `time`, on so many threads. Files that cannot be used are named on standard error while the host
/// serves. Fails if a folder cannot be read, or there is no contract.
pub fn catalogue(
    contracts: &Path,
    codecs: Option<&Path>,
    executors: Vec<(Arc<dyn MeasuredEngine>, Strategy)>,
    time: Duration,
    threads: usize,
    most: Most,
) -> Result<Catalogue> {
    let folder = Folder::open(contracts)?;
    let contracts = contracts.display();
    ensure!(!folder.is_empty(), "there is no .wasm or .wat file in {contracts}");
    let codecs: Box<dyn Files> = match codecs {
        Some(folder) => Box::new(Folder::open(folder)?),
        None => Box::new(built_in_codecs()?),
    };
    let instances = u32::try_from(threads).unwrap_or(u32::MAX).saturating_add(1);
    let config = Config { instances, imports: Imports::Trap, ..Config::default() };
    let loader = Loader { executors, time, config };
    let catalogue = Catalogue::new(Box::new(folder), codecs, Box::new(loader), most);
    let tell = |name: &str, reason: &str| complain(&format!("left out: {name}: {reason}"));
    Ok(catalogue.checked(Box::new(tell)))
}

fn built_in_codecs() -> Result<Vec<File>> {
    let mut guests = Guests::built();
    let codec = |name: &&str| {
        let wasm = guests.file(name)?.bytes.to_vec();
        Ok(File { name: plain(name).into(), wasm })
    };
    CODECS.iter().map(codec).collect()
}

/// Loads guests on the first executor that can run them.
struct Loader {
    executors: Vec<(Arc<dyn MeasuredEngine>, Strategy)>,
    time: Duration,
    config: Config,
}

impl Loader {
    /// The executors that support a guest. The reason of the first one, if none does.
    fn candidates(&self, guest: &GuestModule) -> Result<Vec<&(Arc<dyn MeasuredEngine>, Strategy)>> {
        let (mut candidates, mut reason) = (Vec::new(), None);
        for executor @ (engine, strategy) in &self.executors {
            match engine.support_for(*strategy, guest) {
                Support::Unsupported { reason: own } => {
                    reason.get_or_insert_with(|| format!("{} with {strategy}: {own}", engine.id()));
                }
                _ => candidates.push(executor),
            }
        }
        if candidates.is_empty() {
            bail!("no executor can run it; {}", reason.unwrap_or_default());
        }
        Ok(candidates)
    }
}

fn guest(name: &str, wasm: &[u8]) -> guest::Result<GuestModule> {
    // A component brings the limits of its memories.
    let is_component = wasmparser::Parser::is_component(wasm);
    let growth = if is_component { Growth::default() } else { Growth::UpTo(MAX_PAGES) };
    GuestModule::new(name, wasm, HeapPages { growth, ..HeapPages::default() })
}

impl Load for Loader {
    fn load(&self, name: &str, wasm: &[u8]) -> Result<Guest> {
        let guest = guest(name, wasm)?;
        let mut failed = None;
        for (engine, strategy) in self.candidates(&guest)? {
            match load(&**engine, *strategy, &guest, &self.config, self.time) {
                Ok((module, code)) => {
                    let bytes = guest.wasm().len() + code;
                    return Ok(Guest { guest, module, bytes });
                }
                Err(error) => failed = Some(error),
            }
        }
        bail!("no executor can run it; {}", failed.map_or_else(String::new, |it| it.to_string()))
    }

    fn check(&self, name: &str, wasm: &[u8]) -> Result<()> {
        let guest = guest(name, wasm)?;
        self.candidates(&guest).map(drop)
    }
}

/// The loaded module, and the size of its code.
fn load(
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
    time: Duration,
) -> touchstone_executor::Result<(Arc<dyn Module>, usize)> {
    let deadline = engine.capabilities().deadline.then_some(time);
    let config = Config { deadline, ..config.clone() };
    let artifact = engine.compile(guest, strategy, &config)?;
    let mut module = engine.load(guest, &artifact, strategy, &config)?;
    module.probe()?;
    Ok((module.into(), artifact.size()))
}

/// A catalogue with one module that is loaded already.
pub(super) fn catalogue_of(guest: &GuestModule, module: Arc<dyn Module>) -> Catalogue {
    let file = File { name: guest.name().into(), wasm: guest.wasm().to_vec() };
    let loader = Box::new(Ready { guest: guest.clone(), module });
    let most = Most { entries: 1, bytes: usize::MAX };
    Catalogue::new(Box::new(vec![file]), Box::new(Vec::<File>::new()), loader, most)
}

struct Ready {
    guest: GuestModule,
    module: Arc<dyn Module>,
}

impl Load for Ready {
    fn load(&self, _name: &str, _wasm: &[u8]) -> Result<Guest> {
        let (guest, module) = (self.guest.clone(), Arc::clone(&self.module));
        Ok(Guest { bytes: guest.wasm().len(), guest, module })
    }

    fn check(&self, _name: &str, _wasm: &[u8]) -> Result<()> {
        Ok(())
    }
}
