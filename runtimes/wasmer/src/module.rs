//! A loaded module.

use crate::imports::Imports;
use crate::memory::Memories;
use crate::running::Running;
use crate::settings;
use std::sync::Arc;
use touchstone_executor::Result;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule, Mapped, MemoryClass};

pub(crate) struct ModuleData {
    // The module is dropped before the engine, which owns its code.
    pub(crate) module: wasmer::Module,
    pub(crate) engine: wasmer::Engine,
    pub(crate) imports: Imports,
    pub(crate) guest: LoadedGuest,
    pub(crate) content: CleanContent,
}

pub(crate) fn load(
    guest: LoadedGuest,
    load: impl FnOnce(&wasmer::Engine) -> Result<wasmer::Module>,
) -> Result<LoadedModule<ModuleData>> {
    let content = CleanContent::of(&guest.guest, guest.strategy)?;
    let memories = match MemoryClass::of(guest.strategy) {
        MemoryClass::Segments => Memories::of_wasmer(),
        MemoryClass::OwnImage => {
            Memories::pooled(content.known().cloned(), guest.config.instances as usize)
        }
        // The instance installs the template itself, after instantiation.
        MemoryClass::Resettable => Memories::pooled(None, 0),
    };
    let engine = settings::running(memories);
    let module = load(&engine)?;
    let shared = Arc::new(ModuleData {
        imports: Imports::of(&module, &guest.functions)?,
        guest,
        content,
        module,
        engine,
    });
    let guest = &shared.guest;
    let effective = settings::describe(guest.strategy, &guest.config);
    let loaded = LoadedModule::by_strategy::<Running, Mapped<Running>>(guest, &shared, effective);
    Ok(loaded.probing_memory())
}
