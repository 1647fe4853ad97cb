//! A guest's native code with its memories, under one strategy.

use crate::engine::{COMPILER, ID};
use crate::guests::Guest;
use crate::running::Running;
use guest_support::native::Entry;
use std::sync::Arc;
use touchstone_executor::adapter::{LoadedGuest, LoadedModule, admit_imports};
use touchstone_executor::guest::{GuestModule, MemoryLimits, imports};
use touchstone_executor::memory::MemoryTemplate;
use touchstone_executor::{
    Abi, Config, EffectiveConfig, Error, ExportId, Instance, InstanceFrom, Module, Result, Strategy,
};

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

/// Loads a guest under one strategy.
pub(crate) fn load(
    known: &'static Guest,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<NativeModule> {
    let info = guest.info();
    let lacking = |what: &str| Error::unhostable(format!("it has no {what}"));
    admit_imports(ID, strategy, guest, config, &FUNCTIONS)?;
    let guest_data = LoadedGuest::new(ID, guest, strategy, config)?;
    let shared = Arc::new(ModuleData {
        entries: guest_data.exports.iter().map(|export| known.entry(&export.name)).collect(),
        guest: guest_data,
        limits: info.memory.ok_or_else(|| lacking("memory"))?,
        heap_base: info.heap_base.ok_or_else(|| lacking("__heap_base"))?,
        template: MemoryTemplate::new(guest.initial_content()?, strategy.memory.reset_method())?,
    });
    let effective = describe(strategy, config);
    let loaded = match strategy.instance {
        InstanceFrom::Reuse => LoadedModule::reused::<Running>(&shared.guest, &shared, effective),
        _ => LoadedModule::fresh::<Running>(&shared.guest, &shared, effective),
    };
    Ok(NativeModule { loaded: loaded.probing_memory(), shared })
}

/// A module some of whose exports have no native code.
pub(crate) struct NativeModule {
    loaded: LoadedModule<ModuleData>,
    shared: Arc<ModuleData>,
}

impl Module for NativeModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let export = self.loaded.export(name, abi)?;
        match self.shared.entries[export.index() as usize] {
            Ok(_) => Ok(export),
            Err(reason) => Err(Error::ExportUnsupported {
                engine: ID,
                name: name.to_owned(),
                reason: reason.to_owned(),
            }),
        }
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        self.loaded.new_instance()
    }

    fn probe(&mut self) -> Result<()> {
        self.loaded.probe()
    }

    fn effective(&self) -> EffectiveConfig {
        self.loaded.effective()
    }
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
