//! A translated guest, and the parts that all instances of a loaded one share.

use crate::code::Codes;
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
    codes: Arc<Codes>,
}

impl Translated {
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
        Ok(Self {
            guest: guest.clone(),
            class: Self::class_of(strategy),
            metered: config.deadline.is_some(),
            codes: Codes::new(id, wasmi, guest, strategy, config.instances as usize)?,
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

/// The parts that all instances of a loaded module share.
pub(crate) struct SharedModule {
    pub(crate) engine: &'static str,
    pub(crate) codes: Arc<Codes>,
    pub(crate) imports: Imports,
    pub(crate) exports: Exports,
    pub(crate) deadline: Option<Duration>,
    guest: GuestModule,
    config: Config,
}

impl SharedModule {
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
            codes: Arc::clone(&translated.codes),
            imports: Imports::of(engine, &translated.codes.first().module, &guest.info().imports)?,
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

    /// The host state of a clean instance.
    pub(crate) fn host(&self) -> HostState {
        HostState::new(self.info().heap_base, &self.config)
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
