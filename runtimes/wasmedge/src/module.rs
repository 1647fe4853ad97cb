//! A loaded module, and whether its mode is in force.

use crate::api::Settings;
use crate::code::{COMPILER, Code, LoadedCode};
use crate::engine::Mode;
use crate::rewrite::{Added, Changes};
use crate::running::Running;
use crate::{signals, sizes};
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule, Mapped};
use touchstone_executor::guest::ModuleInfo;
use touchstone_executor::memory::ResetMethod;
use touchstone_executor::{CodeFrom, EffectiveConfig, Error, Execution, InstanceFrom, Result};

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

pub(crate) fn load(
    mode: Mode,
    guest: LoadedGuest,
    code: &Code,
) -> Result<LoadedModule<SharedModule>> {
    let (engine, strategy, claimed) = (guest.engine, guest.strategy, mode.execution());
    if claimed == Execution::Compiled {
        signals::guard(engine)?;
    }
    let failed = Error::runtime(engine, "configure itself");
    let settings = Settings::new(mode.run_mode()).map_err(failed)?;
    let loaded = code.load(engine, &settings, strategy.code)?;
    let region = guest.config.region.as_ref();
    // Only machine code faults at a write there.
    if region.is_some() && loaded.executable == 0 {
        return Err(Error::no_region("WasmEdge interprets the module"));
    }
    let content = CleanContent::of(&guest.guest, strategy)?.sharing(&guest.guest, region)?;
    let shared = Arc::new(SharedModule {
        settings,
        code: loaded,
        changes: code.changes,
        added: code.rewritten.added.clone(),
        has_start: code.rewritten.has_start,
        content,
        guest,
    });
    let (guest, effective) = (&shared.guest, shared.effective(claimed));
    let loaded = LoadedModule::by_strategy::<Running, Mapped<Running>>(guest, &shared, effective);
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
        let effective = EffectiveConfig::new();
        let effective = match (self.has_code(), self.code.executable) {
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
        let reset = match (self.guest.strategy.instance, self.content.reset()) {
            (InstanceFrom::Recreate, ResetMethod::Segments) => "everything is dropped".to_owned(),
            (_, reset) => reset.to_string(),
        };
        let put_back = match (sizes::refusal(), self.code.executable) {
            (Some(_), _) => "the instance is replaced by a new one",
            (None, 0) => "its first size put back, what lies behind cleaned",
            (None, _) => "its first size put back, what lies behind cleaned and closed",
        };
        let (instance, grown) = match (self.guest.strategy.instance, self.changes.memory_of_ours) {
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
                match self.guest.strategy.instance {
                    InstanceFrom::Reuse => "the instance is replaced by a new one",
                    _ => "dropped with the instance",
                },
            )
            .with("memory", "not probed")
            .with("addresses", "12 GiB for each memory")
            .with(
                "deadline",
                if self.guest.config.is_interruptible() {
                    "on, by code added to functions and loops"
                } else {
                    "off"
                },
            )
            .with("statistics", "off")
            .with(
                "code",
                match self.guest.strategy.code {
                    CodeFrom::InProcess => "handed over in memory",
                    CodeFrom::Precompiled => "read from a universal module in a file",
                },
            )
    }
}
