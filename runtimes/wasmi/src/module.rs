//! A loaded module.

use crate::code::Codes;
use crate::imports::Imports;
use crate::reuse::{self, ResetInstance};
use crate::running::Running;
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule};
use touchstone_executor::{EffectiveConfig, InstanceFrom, Result};
use wasmi::Store;

/// Data that all instances of a module share.
pub(crate) struct SharedModule {
    pub(crate) guest: LoadedGuest,
    pub(crate) codes: Arc<Codes>,
    pub(crate) imports: Imports,
    pub(crate) content: CleanContent,
}

pub(crate) fn load(codes: &Arc<Codes>, guest: LoadedGuest) -> Result<LoadedModule<SharedModule>> {
    let content = CleanContent::of(&guest.guest, guest.strategy)?;
    let codes = Arc::clone(codes);
    let imports = Imports::of(guest.engine, &codes.first.module, &guest.functions)?;
    let shared = Arc::new(SharedModule { guest, codes, imports, content });
    let is_reused = shared.guest.strategy.instance == InstanceFrom::Reuse;
    let effective = if is_reused { reuse::describe(&shared) } else { describe_fresh(&shared) };
    let loaded =
        LoadedModule::by_strategy::<Running, ResetInstance>(&shared.guest, &shared, effective);
    Ok(if is_reused { loaded.probing_memory() } else { loaded })
}

/// The settings of `interpreted`.
fn describe_fresh(shared: &SharedModule) -> EffectiveConfig {
    shared
        .effective()
        .with("instance", "new store and instance each call")
        .with(
            "engine",
            "one for all instances, whose lock every call takes: one for each instance would mean \
             to translate the module in every call",
        )
        .with("memory", "wasmi's own, allocated and zeroed by it for each call")
        .with("reset", "everything is dropped")
        .with("grown memory", "dropped with the instance")
}

impl SharedModule {
    /// `true` if the guest's code counts fuel.
    pub(crate) fn uses_fuel(&self) -> bool {
        self.guest.config.is_interruptible() || self.guest.config.metered
    }

    /// The settings of every strategy, read from the engine.
    pub(crate) fn effective(&self) -> EffectiveConfig {
        // The engine shows its configuration only as a whole, for printing.
        let inside = format!("{:?}", self.codes.first.engine.config());
        let field = |name: &str| {
            let value = inside.split(&format!("{name}: ")).nth(1).unwrap_or("unknown");
            value.split([',', ' ', '}']).next().unwrap_or_default().to_owned()
        };
        let fuel = match Store::new(&self.codes.first.engine, ()).get_fuel() {
            Ok(_) => "on (deadline, or limit of fuel)",
            Err(_) => "off",
        };
        EffectiveConfig::new()
            .with("execution", "interpreted")
            .with("translation", field("compilation_mode").to_lowercase())
            .with("fuel", fuel)
            .with(
                "stack",
                format!(
                    "up to {} frames and {} bytes of values",
                    field("max_recursion_depth"),
                    field("max_stack_height")
                ),
            )
            .with("cached stacks", field("max_cached_stacks"))
            .with("compilation", "one thread")
            .with("dispatch", "auto (tail calls where wasmi is built optimised, else a loop)")
    }
}
