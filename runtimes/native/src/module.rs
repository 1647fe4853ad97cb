//! A guest's native code with its memories, under one strategy.

use crate::engine::{COMPILER, ID};
use crate::guests::Guest;
use crate::running::Running;
use guest_support::native::Entry;
use std::sync::Arc;
use touchstone_executor::adapter::{LoadedGuest, LoadedModule, admit_imports};
use touchstone_executor::guest::{MemoryLimits, imports};
use touchstone_executor::memory::MemoryTemplate;
use touchstone_executor::{Config, EffectiveConfig, Error, InstanceFrom, Result, Strategy};

/// Functions of the module `env` for which guests' code calls the host.
const FUNCTIONS: [&str; 6] = [
    imports::MALLOC,
    imports::FREE,
    "ext_logging_max_level_version_1",
    "ext_logging_log_version_1",
    imports::INPUT_LENGTH,
    imports::INPUT,
];
/// The profile `native` of the guests' workspace.
const PROFILE: &str = "opt-level 3, fat LTO, one codegen unit";

pub(crate) struct ModuleData {
    pub(crate) guest: LoadedGuest,
    /// The functions, in the order of the guest's exports, or why there is none.
    pub(crate) entries: Vec<Result<Entry, &'static str>>,
    pub(crate) limits: MemoryLimits,
    pub(crate) heap_base: u32,
    /// How memories are made and reset.
    pub(crate) template: MemoryTemplate,
}

pub(crate) fn load(known: &&'static Guest, guest: LoadedGuest) -> Result<LoadedModule<ModuleData>> {
    let (info, strategy) = (guest.info(), guest.strategy);
    let lacking = |what: &str| Error::unhostable(format!("it has no {what}"));
    admit_imports(ID, strategy, &guest.guest, &guest.config, &FUNCTIONS)?;
    let content = guest.guest.initial_content()?;
    let shared = Arc::new(ModuleData {
        entries: guest.exports.iter().map(|export| known.entry(&export.name)).collect(),
        limits: info.memory.ok_or_else(|| lacking("memory"))?,
        heap_base: info.heap_base.ok_or_else(|| lacking("__heap_base"))?,
        template: MemoryTemplate::new(content, strategy.memory.reset_method())?,
        guest,
    });
    let (guest, effective) = (&shared.guest, describe(strategy, &shared.guest.config));
    let loaded = LoadedModule::by_strategy::<Running, Running>(guest, &shared, effective);
    let refusal = |shared: &ModuleData, index| shared.entries[index as usize].err();
    Ok(loaded.probing_memory().refusing(refusal))
}

fn describe(strategy: Strategy, config: &Config) -> EffectiveConfig {
    let (instance, reset) = match strategy.instance {
        InstanceFrom::Reuse => {
            ("one memory for all calls", strategy.memory.reset_method().to_string())
        }
        _ => ("a new memory each call", "the memory is unmapped".to_owned()),
    };
    let effective = EffectiveConfig::new()
        .with("execution", format!("native: compiled by {COMPILER}, {PROFILE}"))
        .with("instance", instance)
        .with("memory", "not probed")
        .with("reset", reset)
        .with("restored", "the memory with the module's data segments, the host's allocator")
        .with("guest constants", "outside of the memory, in the guests' library");
    match config.deadline {
        Some(_) => effective.with("deadline", "checked after the call"),
        None => effective,
    }
}
