//! A loaded module.

use crate::code::Codes;
use crate::imports::Imports;
use crate::reuse::{self, ResetInstance};
use crate::running::Running;
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Config, EffectiveConfig, InstanceFrom, Result, Strategy};
use wasmi::Store;

/// Data that all instances of a module share.
pub(crate) struct SharedModule {
    pub(crate) guest: LoadedGuest,
    pub(crate) codes: Arc<Codes>,
    pub(crate) imports: Imports,
    pub(crate) content: CleanContent,
}

/// Class of a strategy's artifact.
pub(crate) fn class_of(strategy: Strategy) -> &'static str {
    match strategy.instance {
        InstanceFrom::Reuse => "memory imported",
        _ => "memory defined",
    }
}

/// Loads a module under one strategy.
pub(crate) fn load(
    engine: &'static str,
    codes: &Arc<Codes>,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<LoadedModule<SharedModule>> {
    let (content, codes) = (CleanContent::of(guest, strategy)?, Arc::clone(codes));
    let guest = LoadedGuest::new(engine, guest, strategy, config)?;
    let imports = Imports::of(engine, &codes.first().module, &guest.functions)?;
    let shared = Arc::new(SharedModule { guest, codes, imports, content });
    Ok(match strategy.instance {
        InstanceFrom::Reuse => {
            let effective = reuse::describe(&shared);
            LoadedModule::reused::<ResetInstance>(&shared.guest, &shared, effective)
                .probing_memory()
        }
        _ => LoadedModule::fresh::<Running>(&shared.guest, &shared, describe_fresh(&shared)),
    })
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
        let inside = format!("{:?}", self.codes.first().engine.config());
        let field = |name: &str| {
            let value = inside.split(&format!("{name}: ")).nth(1).unwrap_or("unknown");
            value.split([',', ' ', '}']).next().unwrap_or_default().to_owned()
        };
        let fuel = match Store::new(&self.codes.first().engine, ()).get_fuel() {
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
