//! A translated guest, and what all instances of a loaded one share.

use crate::imports::Imports;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::guest::{GuestModule, ModuleInfo};
use touchstone_executor::host::HostState;
use touchstone_executor::{
    Config, EffectiveConfig, Error, Exports, InstanceFrom, Result, Strategy,
};
use wasmi::Store;

/// A guest in wasmi's own code.
pub(crate) struct Translated {
    guest: GuestModule,
    class: &'static str,
    metered: bool,
    engine: wasmi::Engine,
    module: wasmi::Module,
}

impl Translated {
    /// Only a memory that is imported can be one of ours.
    pub(crate) fn class_of(strategy: Strategy) -> &'static str {
        match strategy.instance {
            InstanceFrom::Reuse => "memory imported",
            _ => "memory defined",
        }
    }

    pub(crate) fn new(
        id: &'static str,
        wasmi: &wasmi::Config,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Self> {
        let failed = |error| Error::runtime(id, "translate the module")(error);
        let engine = wasmi::Engine::new(wasmi);
        let module = match strategy.instance {
            InstanceFrom::Reuse => wasmi::Module::new(&engine, guest.with_imported_memory()?),
            _ => wasmi::Module::new(&engine, guest.wasm()),
        };
        Ok(Self {
            guest: guest.clone(),
            class: Self::class_of(strategy),
            metered: config.deadline.is_some(),
            engine,
            module: module.map_err(failed)?,
        })
    }

    fn check(
        &self,
        id: &'static str,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<()> {
        let reason = if !self.guest.is_same(guest) {
            format!("it was made from another guest, {}", self.guest.name())
        } else if self.class != Self::class_of(strategy) {
            format!("it was made for strategies with the {}", self.class)
        } else if self.metered != config.deadline.is_some() {
            "it was made with another setting of the deadline".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::BadArtifact { engine: id, reason })
    }
}

/// What all instances of a loaded module share.
pub(crate) struct Shared {
    pub(crate) engine: &'static str,
    pub(crate) wasmi: wasmi::Engine,
    pub(crate) module: wasmi::Module,
    pub(crate) imports: Imports,
    pub(crate) exports: Exports,
    pub(crate) deadline: Option<Duration>,
    guest: GuestModule,
    config: Config,
}

impl Shared {
    pub(crate) fn new(
        engine: &'static str,
        translated: &Translated,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Arc<Self>> {
        translated.check(engine, guest, strategy, config)?;
        Ok(Arc::new(Self {
            engine,
            wasmi: translated.engine.clone(),
            module: translated.module.clone(),
            imports: Imports::of(engine, &translated.module, &guest.info().imports)?,
            exports: Exports::of(guest),
            deadline: config.deadline,
            guest: guest.clone(),
            config: config.clone(),
        }))
    }

    pub(crate) fn guest(&self) -> &GuestModule {
        &self.guest
    }

    pub(crate) fn info(&self) -> &ModuleInfo {
        self.guest.info()
    }

    /// The host's side of a clean instance.
    pub(crate) fn host(&self) -> HostState {
        HostState::new(self.info().heap_base, &self.config)
    }

    /// What holds for every strategy, read from the engine and not from what it
    /// was asked for.
    pub(crate) fn effective(&self) -> EffectiveConfig {
        // The engine gives its configuration only as a whole, for printing.
        let inside = format!("{:?}", self.wasmi.config());
        let field = |name: &str| {
            let value = inside.split(&format!("{name}: ")).nth(1).unwrap_or("unknown");
            value.split([',', ' ', '}']).next().unwrap_or_default().to_owned()
        };
        let fuel = match Store::new(&self.wasmi, ()).get_fuel() {
            Ok(_) => "on (deadline)",
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
