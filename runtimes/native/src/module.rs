//! A guest's native code with its memories, under one strategy.

use crate::engine::{COMPILER, ID};
use crate::guests::Guest;
use crate::running::Running;
use guest_support::native::Entry;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::abi::Abi;
use touchstone_executor::driver::{Fresh, Reused};
use touchstone_executor::guest::{GuestModule, MemoryLimits};
use touchstone_executor::host::HostState;
use touchstone_executor::memory::MemoryTemplate;
use touchstone_executor::probe::{MappingKind, mapping_kind};
use touchstone_executor::{
    Config, EffectiveConfig, Error, ExportId, Exports, Instance, InstanceFrom, MemoryFrom, Module,
    Result, Strategy,
};

/// The profile `native` of the guests' workspace.
const PROFILE: &str = "opt-level 3, fat LTO, one codegen unit";

/// What all instances of a module share.
pub(crate) struct Shared {
    pub(crate) exports: Exports,
    /// The functions, in the order of `exports`, or why there is none.
    pub(crate) entries: Vec<Result<Entry, &'static str>>,
    pub(crate) limits: MemoryLimits,
    pub(crate) heap_base: u32,
    /// How memories come about and are reset.
    pub(crate) template: MemoryTemplate,
    pub(crate) deadline: Option<Duration>,
    config: Config,
}

impl Shared {
    /// The host's side of a clean instance.
    pub(crate) fn new_host(&self) -> HostState {
        HostState::new(Some(self.heap_base), &self.config)
    }
}

/// A module under one strategy.
pub(crate) struct Linked {
    shared: Arc<Shared>,
    strategy: Strategy,
    /// A place in memory that is part of any image of it.
    data: Option<u32>,
    /// What the probe saw.
    memory: Option<String>,
}

impl Linked {
    pub(crate) fn new(
        known: &'static Guest,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Self> {
        let info = guest.info();
        let lacking = |what: &str| Error::unhostable(format!("it has no {what}"));
        let exports = Exports::of(guest);
        let shared = Shared {
            entries: exports.iter().map(|export| known.entry(&export.name)).collect(),
            exports,
            limits: info.memory.ok_or_else(|| lacking("memory"))?,
            heap_base: info.heap_base.ok_or_else(|| lacking("__heap_base"))?,
            template: MemoryTemplate::new(
                guest.initial_content()?,
                strategy.memory.reset_method(),
            )?,
            deadline: config.deadline,
            config: config.clone(),
        };
        let data = guest.first_data_byte();
        Ok(Self { shared: Arc::new(shared), strategy, data, memory: None })
    }
}

impl Module for Linked {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let export = self.shared.exports.find(name, abi)?;
        match self.shared.entries[export.index as usize] {
            Ok(_) => Ok(export),
            Err(reason) => Err(Error::ExportUnsupported {
                engine: ID,
                name: name.to_owned(),
                reason: reason.to_owned(),
            }),
        }
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(match self.strategy.instance {
            InstanceFrom::Reuse => Box::new(Reused::<Running>::new(&self.shared)),
            _ => Box::new(Fresh::<Running>::new(&self.shared)),
        })
    }

    /// Looks under the data of a live memory.
    fn probe(&mut self) -> Result<()> {
        let Some(offset) = self.data else { return Ok(()) };
        let mut instance = self.new_instance()?;
        instance.prepare()?;
        let address = instance.memory().map(|memory| memory.as_ptr() as usize + offset as usize);
        let kind = address.and_then(mapping_kind);
        instance.finish()?;
        let wants_image = self.strategy.memory != MemoryFrom::Segments;
        self.memory = Some(match kind {
            Some(MappingKind::PrivateFile(_)) if wants_image => {
                "copy-on-write image of a file in memory".to_owned()
            }
            Some(MappingKind::Anonymous) if !wants_image => "anonymous".to_owned(),
            Some(other) => {
                return Err(Error::WrongMode {
                    engine: ID,
                    strategy: self.strategy,
                    reason: format!("its memory is mapped as {other:?}"),
                });
            }
            None => "not probed: /proc/self/maps has no answer".to_owned(),
        });
        Ok(())
    }

    fn effective(&self) -> EffectiveConfig {
        let (instance, reset) = match self.strategy.instance {
            InstanceFrom::Reuse => {
                ("one memory for all calls", self.strategy.memory.reset_method().to_string())
            }
            _ => ("a new memory each call", "the memory is unmapped".to_owned()),
        };
        let memory = self.memory.as_deref().unwrap_or("not probed");
        let effective = EffectiveConfig::new()
            .with("execution", format!("native: compiled by {COMPILER}, {PROFILE}"))
            .with("instance", instance)
            .with("memory", memory)
            .with("reset", reset)
            .with("restored", "the memory with the module's data segments, the host's allocator")
            .with("guest constants", "outside of the memory, in the guests' library");
        match self.shared.deadline {
            Some(_) => effective.with("deadline", "checked after the call"),
            None => effective,
        }
    }
}
