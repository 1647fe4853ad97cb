//! A loaded module.

use crate::imports::Imports;
use crate::memory::Memories;
use crate::running::Running;
use crate::settings::{self, ID};
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule, Mapped, MemoryClass};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Config, InstanceFrom, Result, Strategy};

pub(crate) struct ModuleData {
    // The module is dropped before the engine, which owns its code.
    pub(crate) module: wasmer::Module,
    pub(crate) engine: wasmer::Engine,
    pub(crate) imports: Imports,
    pub(crate) guest: LoadedGuest,
    pub(crate) content: CleanContent,
}

/// Loads a module under one strategy.
pub(crate) fn load(
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
    load: impl FnOnce(&wasmer::Engine) -> Result<wasmer::Module>,
) -> Result<LoadedModule<ModuleData>> {
    let content = CleanContent::of(guest, strategy)?;
    let memories = match MemoryClass::of(strategy) {
        MemoryClass::Segments => Memories::of_wasmer(),
        MemoryClass::OwnImage => {
            Memories::pooled(content.known().cloned(), config.instances as usize)
        }
        // The instance installs the template itself, after instantiation.
        MemoryClass::Resettable => Memories::pooled(None, 0),
    };
    let engine = settings::running(memories);
    let module = load(&engine)?;
    let guest = LoadedGuest::new(ID, guest, strategy, config)?;
    let shared = Arc::new(ModuleData {
        imports: Imports::of(&module, &guest.functions)?,
        guest,
        content,
        module,
        engine,
    });
    let effective = settings::describe(strategy, config);
    let loaded = match strategy.instance {
        InstanceFrom::Reuse => {
            LoadedModule::reused::<Mapped<Running>>(&shared.guest, &shared, effective)
        }
        _ => LoadedModule::fresh::<Running>(&shared.guest, &shared, effective),
    };
    Ok(loaded.probing_memory())
}
