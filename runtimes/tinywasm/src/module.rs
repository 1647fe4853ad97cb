//! A loaded module.

use crate::engine::settings;
use crate::imports::Imports;
use crate::memory::{Made, backend};
use crate::running::Running;
use std::sync::Arc;
use tinywasm::Engine;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule, Mapped, MemoryClass};
use touchstone_executor::memory::{
    InitialContent, KEEP_RESIDENT, MemoryPool, MemoryTemplate, ResetMethod, pagemap_scan_available,
};
use touchstone_executor::{EffectiveConfig, InstanceFrom, Result};

pub(crate) struct ModuleData {
    pub(crate) guest: LoadedGuest,
    pub(crate) module: tinywasm::Module,
    pub(crate) imports: Imports,
    pub(crate) content: CleanContent,
    pool: Arc<MemoryPool>,
}

impl ModuleData {
    /// An engine for one thread at a time, and the place of its memories.
    pub(crate) fn engine(&self) -> (Engine, Made) {
        let made = Made::new();
        let backend = backend(&self.pool, &made);
        (Engine::new(settings().with_memory_backend(backend)), made)
    }
}

pub(crate) fn load(
    module: &tinywasm::Module,
    guest: LoadedGuest,
) -> Result<LoadedModule<ModuleData>> {
    let (class, memory) = (MemoryClass::of(guest.strategy), guest.info().memory);
    let content = CleanContent::of(&guest.guest, guest.strategy)?;
    let recycled = match (class, memory) {
        (MemoryClass::Segments, Some(limits)) => {
            Some(MemoryTemplate::new(InitialContent::zeroed(limits.initial_bytes()), zeroing())?)
        }
        (MemoryClass::OwnImage, _) => content.known().cloned(),
        // A reused instance installs the template itself, after instantiation.
        _ => None,
    };
    let largest =
        (class == MemoryClass::Resettable).then(|| memory.map_or(0, |limits| limits.largest()));
    let shared = Arc::new(ModuleData {
        imports: Imports::of(module, &guest.functions, largest)?,
        pool: Arc::new(MemoryPool::new(recycled, guest.config.instances as usize)),
        guest,
        module: module.clone(),
        content,
    });
    let (guest, effective) = (&shared.guest, describe(&shared));
    let loaded = LoadedModule::by_strategy::<Running, Mapped<Running>>(guest, &shared, effective);
    Ok(loaded.probing_memory())
}

/// The effective configuration, with the stacks as the engine has them.
fn describe(shared: &ModuleData) -> EffectiveConfig {
    let (engine, _) = shared.engine();
    let settings = engine.config();
    let strategy = shared.guest.strategy;
    let reset = match (strategy.instance, zeroing()) {
        (InstanceFrom::Interpreted, ResetMethod::Resident { limit }) => format!(
            "written pages found with PAGEMAP_SCAN, zeroed in place up to {} MiB; segments copied \
             in",
            limit >> 20
        ),
        (InstanceFrom::Interpreted, _) => "all pages dropped, segments copied in".to_owned(),
        _ => shared.content.reset().to_string(),
    };
    let stack = format!(
        "up to {} frames and {} values of each of three sizes",
        settings.call_stack.max_size, settings.value_stack_64.max_size
    );
    let config = &shared.guest.config;
    let metering = match (config.deadline, config.is_interruptible(), config.metered) {
        (Some(_), ..) => "on (deadline)",
        (None, true, _) => "on in calls that can be stopped",
        (None, false, true) => "on in calls with a limit of fuel",
        (None, false, false) => "off",
    };
    let words = EffectiveConfig::new()
        .with("execution", "interpreted")
        .with("compilation", "one thread")
        .with("bounds checks", "by comparison")
        .with("reset", reset)
        .with("stack", stack)
        .with("metering", metering);
    if strategy.instance == InstanceFrom::Reuse {
        words
            .with("instances", "one, reset in place")
            .with("grown memory", "zeroed, the first size restored")
            .with("memory.size, memory.grow", "calls of the host, added to the guest")
            .with("grown table", "the instance is replaced by a new one")
    } else {
        words.with("instances", "new store and instance each call")
    }
}

/// Reset of memories that start as zero. Dropping their pages took longer than tinywasm's own
/// memory of chunks, whose chunks the allocator keeps.
fn zeroing() -> ResetMethod {
    if pagemap_scan_available() {
        ResetMethod::Resident { limit: KEEP_RESIDENT }
    } else {
        ResetMethod::Drop
    }
}
