//! A loaded module, and whether its mode is in force.

use crate::api::Settings;
use crate::code::{COMPILER, Code, LoadedCode};
use crate::rewrite::{Added, Changes};
use crate::running::Running;
use crate::{api, signals, sizes};
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule, Mapped};
use touchstone_executor::guest::{GuestModule, ModuleInfo};
use touchstone_executor::memory::ResetMethod;
use touchstone_executor::{
    CodeFrom, Config, EffectiveConfig, Error, Execution, InstanceFrom, Result, Strategy,
};

/// The parts that all instances of a module share.
pub(crate) struct SharedModule {
    pub(crate) settings: Settings,
    pub(crate) code: LoadedCode,
    pub(crate) changes: Changes,
    pub(crate) added: Vec<Added>,
    /// The start function is an export that the host calls.
    pub(crate) has_start: bool,
    /// Of memories that are Touchstone's.
    pub(crate) content: CleanContent,
    pub(crate) guest: LoadedGuest,
}

/// Loads a module under one strategy.
pub(crate) fn load(
    engine: &'static str,
    claimed: Execution,
    mode: api::RunMode,
    guest: &GuestModule,
    code: &Code,
    strategy: Strategy,
    config: &Config,
) -> Result<LoadedModule<SharedModule>> {
    if claimed == Execution::Compiled {
        signals::guard(engine)?;
    }
    let settings = Settings::new(mode).map_err(Error::runtime(engine, "configure itself"))?;
    let loaded = code.load(engine, &settings, strategy.code)?;
    // Only machine code faults at a write there.
    if config.region.is_some() && loaded.executable == 0 {
        return Err(Error::no_region("WasmEdge interprets the module"));
    }
    let content = CleanContent::of(guest, strategy)?.sharing(guest, config.region.as_ref())?;
    let shared = Arc::new(SharedModule {
        settings,
        code: loaded,
        changes: code.changes,
        added: code.rewritten.added.clone(),
        has_start: code.rewritten.has_start,
        content,
        guest: LoadedGuest::new(engine, guest, strategy, config)?,
    });
    let effective = shared.effective(claimed);
    let loaded = match strategy.instance {
        InstanceFrom::Reuse => {
            LoadedModule::reused::<Mapped<Running>>(&shared.guest, &shared, effective)
        }
        _ => LoadedModule::fresh::<Running>(&shared.guest, &shared, effective),
    };
    Ok(loaded.probing_memory().in_wrong_mode(shared.wrong_mode(claimed)))
}

impl SharedModule {
    pub(crate) fn info(&self) -> &ModuleInfo {
        self.guest.info()
    }

    fn has_code(&self) -> bool {
        self.info().functions > self.info().imports.len()
    }

    /// WasmEdge silently interprets code without machine code. Machine code must have become
    /// executable when the module was loaded.
    fn wrong_mode(&self, claimed: Execution) -> Option<&'static str> {
        let is_native = self.code.executable > 0;
        let is_right = !self.has_code() || is_native == (claimed == Execution::Compiled);
        (!is_right).then_some(match is_native {
            true => "machine code became executable when the module was loaded",
            false => {
                "no machine code became executable when the module was loaded: WasmEdge would \
                 interpret it"
            }
        })
    }

    fn effective(&self, claimed: Execution) -> EffectiveConfig {
        let shared = self;
        let effective = EffectiveConfig::new();
        let effective = match (self.has_code(), shared.code.executable) {
            (false, _) => effective.with("execution", claimed.to_string()),
            (true, 0) => effective.with("execution", "interpreted"),
            (true, bytes) => effective
                .with("execution", "compiled")
                .with("compiler", COMPILER)
                .with("machine code", format!("{} KiB became executable", bytes >> 10))
                .with(
                    "signals",
                    "WasmEdge's handlers held by a thread that stays in a call; ours in front, \
                     which leaves other runtimes' faults to them",
                ),
        };
        let reset = match (shared.guest.strategy.instance, shared.content.reset()) {
            (InstanceFrom::Recreate, ResetMethod::Segments) => "everything is dropped".to_owned(),
            (_, reset) => reset.to_string(),
        };
        let put_back = match (sizes::refusal(), shared.code.executable) {
            (Some(_), _) => "the instance is replaced by a new one",
            (None, 0) => "its first size put back, what lies behind cleaned",
            (None, _) => "its first size put back, what lies behind cleaned and closed",
        };
        let (instance, grown) =
            match (shared.guest.strategy.instance, shared.changes.memory_of_ours) {
                (InstanceFrom::Reuse, _) => ("one, reset in place", put_back),
                (_, true) => ("new each call, importing one memory", put_back),
                (_, false) => ("new each call", "dropped with the instance"),
            };
        effective
            .with("compilation", "one thread")
            .with("stack", "the thread's; WasmEdge does not limit recursion")
            .with("instance", instance)
            .with("reset", reset)
            .with("grown memory", grown)
            .with(
                "grown table",
                match shared.guest.strategy.instance {
                    InstanceFrom::Reuse => "the instance is replaced by a new one",
                    _ => "dropped with the instance",
                },
            )
            .with("memory", "not probed")
            .with("addresses", "12 GiB for each memory")
            .with(
                "deadline",
                if shared.guest.config.is_interruptible() {
                    "on, by code added to functions and loops"
                } else {
                    "off"
                },
            )
            .with("statistics", "off")
            .with(
                "code",
                match shared.guest.strategy.code {
                    CodeFrom::InProcess => "handed over in memory",
                    CodeFrom::Precompiled => "read from a universal module in a file",
                },
            )
    }
}
