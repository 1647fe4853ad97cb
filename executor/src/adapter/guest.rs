//! The part of a loaded module that is the same for every backend.

use super::admit;
use crate::contract::{Engine, Exports};
use crate::guest::{FunctionImport, GuestModule, ModuleInfo};
use crate::host::HostState;
use crate::{Artifact, Config, Error, Functions, HostFunction, Imports, Result, Strategy, text};
use std::any::Any;
use std::sync::Arc;

/// A guest loaded under one strategy.
#[allow(missing_docs, reason = "the names are those of the types")]
pub struct LoadedGuest {
    pub engine: &'static str,
    pub guest: GuestModule,
    pub strategy: Strategy,
    pub config: Config,
    pub exports: Exports,
    /// A host function for each of its imports, in order.
    pub functions: Box<[Arc<HostFunction>]>,
}

impl LoadedGuest {
    /// The beginning of loading: [admits](admit) the guest, opens its artifact, and keeps what the
    /// instances need. Fails as these two do, and with [`Error::MissingImports`].
    pub fn open<'a, T: Any>(
        engine: &dyn Engine,
        guest: &GuestModule,
        artifact: &'a Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<(Self, &'a T)> {
        admit(engine, strategy, guest, config)?;
        let content = artifact.open(engine, guest, strategy, config)?;
        let (engine, exports) = (engine.id(), Exports::of(guest));
        let functions = config.functions.resolve(&guest.info().imports, config.imports)?;
        let (guest, config) = (guest.clone(), config.clone());
        Ok((Self { engine, guest, strategy, config, exports, functions }, content))
    }

    /// The description of the module.
    pub fn info(&self) -> &ModuleInfo {
        self.guest.info()
    }

    /// Name of the export behind a handle. Fails with [`Error::FOREIGN_HANDLE`].
    pub fn export_name(&self, index: u32) -> Result<&str> {
        let export = self.exports.get(index).ok_or(Error::FOREIGN_HANDLE)?;
        Ok(&export.name)
    }

    /// The host's side of a clean instance.
    pub fn new_host(&self) -> HostState {
        HostState::new(self.info().heap_base, &self.config)
    }
}

/// Checks the imports of a module for an engine that cannot call host functions. `own` are names of
/// [standard](Functions::standard) functions of the module `env` for which it has code of its own.
/// Fails with [`Error::MissingImports`], or with [`Error::Unsupported`] for an import that the
/// configuration answers and the engine does not, or the other way round.
pub fn admit_imports(
    engine: &'static str,
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
    own: &[&str],
) -> Result<()> {
    let imports = &guest.info().imports;
    config.functions.resolve(imports, config.imports)?;
    let standard = Functions::standard();
    let differs = |import: &FunctionImport| {
        let found = config.functions.answer(import);
        let is_own = import.module == "env" && own.contains(&import.name.as_str());
        let (module, name) = (text::name(&import.module), text::name(&import.name));
        match (found, standard.answer(import).filter(|_| is_own)) {
            (Some(found), Some(own)) if Arc::ptr_eq(found, own) => None,
            (None, None) if config.imports == Imports::Trap => None,
            (None, None) => Some(format!("it cannot answer the import {module}.{name} with zeros")),
            (Some(_), None) => Some(format!(
                "it cannot call the host function {module}.{name}; it has code of its own for {}",
                own.join(", ")
            )),
            (_, Some(_)) => Some(format!(
                "it answers {module}.{name} with code of its own, and not as the host's table does"
            )),
        }
    };
    match imports.iter().find_map(differs) {
        Some(reason) => Err(Error::Unsupported { engine, strategy, reason }),
        None => Ok(()),
    }
}
