//! What a host offers: components and modules, loaded when they are first needed.

use super::Refusal;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{self, FunctionType, GuestModule, ModuleInfo};
use touchstone_executor::{ExportId, Module};

/// Loads guests for calls by several threads.
pub trait Load: Send + Sync {
    /// Loads a component or a module.
    ///
    /// # Errors
    ///
    /// When no executor of the host can run it.
    fn load(&self, guest: &GuestModule) -> anyhow::Result<Arc<dyn Module>>;

    /// The guest of some bytes, with the heap that the host gives it.
    ///
    /// # Errors
    ///
    /// When it cannot be hosted.
    fn guest(&self, name: &str, wasm: &[u8]) -> touchstone_executor::Result<GuestModule>;
}

/// A component or a module by its name.
pub struct File {
    /// The name of its file without the ending. `-` and `_` are the same in requests.
    pub name: String,
    /// Its bytes.
    pub wasm: Vec<u8>,
}

/// What a host offers.
pub struct Catalogue {
    contracts: Vec<File>,
    codecs: Vec<File>,
    loader: Box<dyn Load>,
    loaded: Mutex<HashMap<Which, Slot>>,
}

/// Which guest: a codec, or a contract with its target, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Which {
    Codec(usize),
    Contract(usize, Option<usize>),
}

type Slot = Arc<OnceLock<Result<Arc<Loaded>, Refusal>>>;

/// A loaded guest.
pub(super) struct Loaded {
    pub(super) module: Arc<dyn Module>,
    functions: HashMap<String, Result<Function, Refusal>>,
}

/// A function that can be called.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) export: ExportId,
    /// Its type if it takes values; `None` if it takes bytes.
    pub(super) ty: Option<Arc<FunctionType>>,
}

/// The function of a codec.
pub(super) const TO_JSON: &str = "to-json";
/// What codecs are called in requests, beside the names of their files.
const SHORT: [(&str, &str); 2] = [("json", "wasm_serde_json"), ("toml", "wasm_serde_toml")];

/// A name as requests are compared with it.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

fn place(files: &[File], kind: &'static str, name: &str) -> Result<usize, Refusal> {
    let wanted = plain(name);
    files.iter().position(|file| plain(&file.name) == wanted).ok_or_else(|| Refusal::Unknown {
        kind,
        name: touchstone_executor::text::name(name),
        similar: guest::similar(name, files.iter().map(|file| file.name.as_str())),
    })
}

fn names(files: &[File]) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.join(", ")
}

impl Catalogue {
    /// A catalogue of these files.
    #[must_use]
    pub fn new(contracts: Vec<File>, codecs: Vec<File>, loader: Box<dyn Load>) -> Self {
        Self { contracts, codecs, loader, loaded: Mutex::default() }
    }

    /// Loads every codec and every contract without a target; the names of those that cannot be
    /// loaded, with the reasons.
    #[must_use]
    pub fn load_all(&self) -> Vec<(String, String)> {
        let codecs = (0..self.codecs.len()).map(Which::Codec);
        let contracts = (0..self.contracts.len()).map(|place| Which::Contract(place, None));
        let all = codecs.chain(contracts);
        all.filter_map(|which| match self.loaded(which) {
            Err(Refusal::Unusable { name, reason }) => Some((name, reason)),
            _ => None,
        })
        .collect()
    }

    /// The names of the contracts, for a message.
    pub(super) fn contracts(&self) -> String {
        names(&self.contracts)
    }

    /// The names of the codecs, for a message.
    pub(super) fn codecs(&self) -> String {
        names(&self.codecs)
    }

    /// The functions of a contract with their types, a line each.
    pub(super) fn functions(&self, contract: &str) -> Result<String, Refusal> {
        let file = &self.contracts[place(&self.contracts, "contract", contract)?];
        let info = ModuleInfo::read(&file.wasm).map_err(|error| unusable(&file.name, error))?;
        let exports = info.exports.iter().enumerate();
        let line = |(at, export): (usize, &guest::FunctionExport)| {
            let component = info.component.as_ref();
            let ty = match (component.and_then(|own| own.functions.get(at)), &export.signature) {
                (Some(ty), _) => ty.to_string(),
                (None, Some(signature)) => signature.to_string(),
                (None, None) => "a type with references that no host can pass".to_owned(),
            };
            format!("{}: {ty}\n", touchstone_executor::text::harmless(&export.name))
        };
        Ok(exports.map(line).collect())
    }

    pub(super) fn codec(&self, name: &str) -> Result<Which, Refusal> {
        let short = SHORT.iter().find(|(short, _)| *short == name);
        let name = short.map_or(name, |(_, name)| name);
        place(&self.codecs, "codec", name).map(Which::Codec)
    }

    pub(super) fn contract(&self, name: &str, target: Option<&str>) -> Result<Which, Refusal> {
        let contract = place(&self.contracts, "contract", name)?;
        let target = target.map(|name| place(&self.contracts, "target", name)).transpose()?;
        Ok(Which::Contract(contract, target))
    }

    /// The guest, loaded once.
    pub(super) fn loaded(&self, which: Which) -> Result<Arc<Loaded>, Refusal> {
        let slot = {
            let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(loaded.entry(which).or_default())
        };
        slot.get_or_init(|| self.load(which).map(Arc::new)).clone()
    }

    fn load(&self, which: Which) -> Result<Loaded, Refusal> {
        let (name, wasm) = match which {
            Which::Codec(place) => (self.codecs[place].name.clone(), None),
            Which::Contract(place, None) => (self.contracts[place].name.clone(), None),
            Which::Contract(place, Some(target)) => {
                let [user, provider] = [place, target].map(|place| &self.contracts[place]);
                let name = format!("{} with {}", user.name, provider.name);
                let wasm = guest::composed(&user.wasm, &provider.wasm);
                (name.clone(), Some(wasm.map_err(|error| unusable(&name, error))?))
            }
        };
        let wasm = match (&wasm, which) {
            (Some(wasm), _) => wasm,
            (None, Which::Codec(place)) => &self.codecs[place].wasm,
            (None, Which::Contract(place, _)) => &self.contracts[place].wasm,
        };
        let guest = self.loader.guest(&name, wasm).map_err(|error| unusable(&name, error))?;
        let module = self.loader.load(&guest).map_err(|error| Refusal::Unusable {
            name: name.clone(),
            reason: format!("{error:#}"),
        })?;
        let info = guest.info();
        let types = info.component.as_ref().map(|own| &own.functions);
        let functions = info.exports.iter().enumerate().map(|(at, export)| {
            let ty = types.and_then(|types| types.get(at));
            let function = function(&*module, &export.name, ty);
            (export.name.clone(), function)
        });
        let functions = functions.collect();
        Ok(Loaded { module, functions })
    }
}

impl Loaded {
    pub(super) fn function(&self, name: &str) -> Result<Function, Refusal> {
        match self.functions.get(name) {
            Some(function) => function.clone(),
            None => Err(Refusal::Unknown {
                kind: "function",
                name: touchstone_executor::text::name(name),
                similar: guest::similar(name, self.functions.keys().map(String::as_str)),
            }),
        }
    }
}

fn unusable(name: &str, error: touchstone_executor::Error) -> Refusal {
    Refusal::Unusable { name: name.to_owned(), reason: error.to_string() }
}

/// Takes bytes where it can, and values otherwise.
fn function(
    module: &dyn Module,
    name: &str,
    ty: Option<&FunctionType>,
) -> Result<Function, Refusal> {
    let refused = |error: touchstone_executor::Error| Refusal::NotCallable {
        name: name.to_owned(),
        reason: error.to_string(),
    };
    let bytes = module.export(name, Abi::Bytes);
    match (bytes, ty) {
        (Ok(export), _) => Ok(Function { export, ty: None }),
        (Err(error), None) => Err(refused(error)),
        (Err(_), Some(ty)) => {
            let export = module.export(name, Abi::Typed).map_err(refused)?;
            Ok(Function { export, ty: Some(Arc::new(ty.clone())) })
        }
    }
}
