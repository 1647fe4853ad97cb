//! The part of a loaded module that is the same for every backend.

use crate::config::Config;
use crate::contract::Exports;
use crate::error::{Error, Result};
use crate::functions::HostFunction;
use crate::guest::{GuestModule, ModuleInfo};
use crate::host::HostState;
use crate::strategy::Strategy;
use std::sync::Arc;

/// A guest loaded under one strategy.
pub struct LoadedGuest {
    /// Name of the engine.
    pub engine: &'static str,
    /// The guest.
    pub guest: GuestModule,
    /// The strategy of its instances.
    pub strategy: Strategy,
    /// Settings of its instances.
    pub config: Config,
    /// Its exported functions.
    pub exports: Exports,
    /// A host function for each of its imports, in order.
    pub functions: Box<[Arc<HostFunction>]>,
}

impl LoadedGuest {
    /// Keeps what the instances need.
    ///
    /// # Errors
    ///
    /// [`Error::MissingImports`].
    pub fn new(
        engine: &'static str,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Self> {
        let exports = Exports::of(guest);
        let functions = config.functions.resolve(&guest.info().imports, config.imports)?;
        let (guest, config) = (guest.clone(), config.clone());
        Ok(Self { engine, guest, strategy, config, exports, functions })
    }

    /// The description of the module.
    #[must_use]
    pub fn info(&self) -> &ModuleInfo {
        self.guest.info()
    }

    /// Name of the export behind a handle.
    ///
    /// # Errors
    ///
    /// [`Error::FOREIGN_HANDLE`].
    pub fn export_name(&self, index: u32) -> Result<&str> {
        let export = self.exports.get(index).ok_or(Error::FOREIGN_HANDLE)?;
        Ok(&export.name)
    }

    /// The host's side of a clean instance.
    #[must_use]
    pub fn new_host(&self) -> HostState {
        HostState::new(self.info().heap_base, &self.config)
    }
}
