//! A loaded module, and the proof that it is what its strategy says.

use crate::imports::Imports;
use crate::memory::Memories;
use crate::reuse::Resident;
use crate::running::Running;
use crate::settings::{self, Class, ID};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::abi::Abi;
use touchstone_executor::driver::{Fresh, Reused};
use touchstone_executor::guest::{GuestModule, MEMORY, ModuleInfo};
use touchstone_executor::host::HostState;
use touchstone_executor::memory::{MemoryTemplate, ResetMethod};
use touchstone_executor::probe::{MappingKind, mapping_kind};
use touchstone_executor::{
    Config, EffectiveConfig, Error, ExportId, Exports, Instance, InstanceFrom, MemoryFrom, Module,
    Result, Strategy,
};

/// What all instances of a module share.
pub(crate) struct Shared {
    // The module is dropped before the engine, which owns its code.
    pub(crate) module: wasmer::Module,
    pub(crate) engine: wasmer::Engine,
    pub(crate) imports: Imports,
    pub(crate) exports: Exports,
    /// Positions among the exports of an instance: functions in the order of
    /// `exports`, and the rest.
    pub(crate) functions: Vec<usize>,
    pub(crate) memory: Option<usize>,
    pub(crate) mutable_globals: Vec<usize>,
    pub(crate) written_tables: Vec<usize>,
    pub(crate) has_start: bool,
    pub(crate) deadline: Option<Duration>,
    /// How memories are reset in place, where the content is known from the bytes.
    pub(crate) template: Option<MemoryTemplate>,
    pub(crate) reset: ResetMethod,
    heap_base: Option<u32>,
    config: Config,
}

impl Shared {
    /// The host's side of a clean instance.
    pub(crate) fn new_host(&self) -> HostState {
        HostState::new(self.heap_base, &self.config)
    }
}

/// A module under one strategy.
pub(crate) struct Loaded {
    shared: Arc<Shared>,
    strategy: Strategy,
    effective: EffectiveConfig,
    /// A place in memory that is part of any image of it.
    data: Option<u32>,
}

impl Loaded {
    pub(crate) fn new(
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        load: impl FnOnce(&wasmer::Engine) -> Result<wasmer::Module>,
    ) -> Result<Self> {
        let info = guest.info();
        let template = template(guest, strategy)?;
        let engine = settings::running(own_memory(strategy, template.as_ref(), config));
        let module = load(&engine)?;
        let exports = Exports::of(guest);
        let exported = module.exports().enumerate();
        let positions: HashMap<_, _> =
            exported.map(|(at, export)| (export.name().to_owned(), at)).collect();
        let find = |name: &str| {
            let position = positions.get(name).copied();
            position.ok_or(Error::Misuse("an export that the module lacks"))
        };
        let functions = exports.iter().map(|export| find(&export.name)).collect::<Result<_>>()?;
        let (mutable_globals, written_tables) = state_exports(info, find)?;
        let shared = Arc::new(Shared {
            imports: Imports::of(&module, &info.imports)?,
            functions,
            memory: find(MEMORY).ok(),
            mutable_globals,
            written_tables,
            has_start: info.has_start,
            deadline: config.deadline,
            exports,
            template,
            reset: strategy.memory.reset_method(),
            heap_base: info.heap_base,
            config: config.clone(),
            module,
            engine,
        });
        let effective = settings::describe(strategy, config);
        Ok(Self { shared, strategy, effective, data: guest.first_data_byte() })
    }

    /// Looks under the data of a live instance: is the memory mapped as
    /// the strategy's name says?
    fn probe_memory(&self) -> Result<&'static str> {
        let Some(offset) = self.data else {
            return Ok("not probed: the module has no data at a known place");
        };
        let mut instance = self.new_instance()?;
        instance.prepare()?;
        let address = instance.memory().map(|memory| memory.as_ptr() as usize + offset as usize);
        let kind = address.and_then(mapping_kind);
        instance.finish()?;
        let wants_image = self.strategy.memory != MemoryFrom::Segments;
        match kind {
            Some(MappingKind::PrivateFile(_)) if wants_image => {
                Ok("copy-on-write image of a file in memory")
            }
            Some(MappingKind::Anonymous) if !wants_image => Ok("anonymous"),
            Some(other) => Err(Error::WrongMode {
                engine: ID,
                strategy: self.strategy,
                reason: format!("its memory is mapped as {other:?}"),
            }),
            None => Ok("not probed: /proc/self/maps has no answer"),
        }
    }
}

impl Module for Loaded {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.shared.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(match self.strategy.instance {
            InstanceFrom::Reuse => Box::new(Reused::<Resident>::new(&self.shared)),
            _ => Box::new(Fresh::<Running>::new(&self.shared)),
        })
    }

    fn probe(&mut self) -> Result<()> {
        let memory = self.probe_memory()?;
        self.effective = std::mem::take(&mut self.effective).with("memory", memory);
        Ok(())
    }

    fn effective(&self) -> EffectiveConfig {
        self.effective.clone()
    }
}

/// How memories of our own are reset, for strategies that use them and modules
/// whose content is known from the bytes.
fn template(guest: &GuestModule, strategy: Strategy) -> Result<Option<MemoryTemplate>> {
    let uses_own =
        strategy.instance == InstanceFrom::Reuse || Class::of(strategy) == Class::OwnImage;
    if !uses_own || guest.info().memory.is_none() || guest.info().image_refusal().is_some() {
        return Ok(None);
    }
    Ok(Some(MemoryTemplate::new(guest.initial_content()?, strategy.memory.reset_method())?))
}

/// Memories of our own, for strategies that use them.
fn own_memory(
    strategy: Strategy,
    template: Option<&MemoryTemplate>,
    config: &Config,
) -> Option<Memories> {
    if strategy.instance == InstanceFrom::Reuse {
        // The instance installs the template itself, after instantiation.
        Some(Memories::new(None, 0))
    } else if Class::of(strategy) == Class::OwnImage {
        Some(Memories::new(template.cloned(), config.instances as usize))
    } else {
        None
    }
}

/// Positions of the mutable globals, and of the tables if they can be written.
fn state_exports(
    info: &ModuleInfo,
    find: impl Fn(&str) -> Result<usize>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let globals = info
        .mutable_globals
        .iter()
        .filter_map(|global| global.export.as_deref())
        .map(&find)
        .collect::<Result<_>>()?;
    let tables = info
        .tables
        .iter()
        .filter(|_| info.writes_tables)
        .filter_map(|table| table.export.as_deref())
        .map(&find)
        .collect::<Result<_>>()?;
    Ok((globals, tables))
}
