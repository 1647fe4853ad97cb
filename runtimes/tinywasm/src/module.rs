//! A loaded module, and the proof that it is what its strategy says.

use crate::engine::{ID, settings};
use crate::imports::Imports;
use crate::memory::{Made, backend};
use crate::reuse::Resident;
use crate::running::Running;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tinywasm::Engine;
use touchstone_executor::abi::Abi;
use touchstone_executor::driver::{Fresh, Reused};
use touchstone_executor::guest::{GuestModule, MEMORY, ModuleInfo};
use touchstone_executor::host::HostState;
use touchstone_executor::memory::{
    InitialContent, KEEP_RESIDENT, MemoryPool, MemoryTemplate, ResetMethod, pagemap_scan_available,
};
use touchstone_executor::probe::{MappingKind, mapping_kind};
use touchstone_executor::{
    Config, EffectiveConfig, Error, ExportId, Exports, Instance, InstanceFrom, MemoryFrom, Module,
    Result, Strategy,
};

/// Strategies of one class share an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Data segments are copied in at instantiation.
    Segments,
    /// The host sizes the memory, so that it can shrink, and gives it its content where that is
    /// known.
    HostSized,
    /// The memory brings its content along; segments are empty.
    OwnImage,
}

impl Class {
    pub(crate) fn of(strategy: Strategy) -> Self {
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Reuse, _) => Self::HostSized,
            (_, MemoryFrom::Segments) => Self::Segments,
            _ => Self::OwnImage,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Segments => "segment-initialised",
            Self::HostSized => "host-sized",
            Self::OwnImage => "pre-initialised",
        }
    }
}

/// What all instances of a module share.
pub(crate) struct Shared {
    pub(crate) module: tinywasm::Module,
    pub(crate) imports: Imports,
    pub(crate) exports: Exports,
    /// Positions among the exports of an instance: functions in the order of
    /// `exports`, and the rest.
    pub(crate) functions: Vec<usize>,
    pub(crate) memory: Option<usize>,
    pub(crate) mutable_globals: Vec<usize>,
    pub(crate) written_tables: Vec<usize>,
    pub(crate) deadline: Option<Duration>,
    /// How memories are reset in place, where the content is known from the bytes.
    pub(crate) template: Option<MemoryTemplate>,
    pub(crate) reset: ResetMethod,
    pool: Arc<MemoryPool>,
    heap_base: Option<u32>,
    config: Config,
}

impl Shared {
    /// The host's side of a clean instance.
    pub(crate) fn new_host(&self) -> HostState {
        HostState::new(self.heap_base, &self.config)
    }

    /// An engine for one thread at a time, and where its memories come to lie.
    pub(crate) fn engine(&self) -> (Engine, Made) {
        let made = Made::default();
        let backend = backend(&self.pool, &made);
        (Engine::new(settings().with_memory_backend(backend)), made)
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
        module: &tinywasm::Module,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Self> {
        let info = guest.info();
        let template = template(guest, strategy)?;
        let recycled = match (strategy.instance, info.memory) {
            (InstanceFrom::Interpreted, Some(limits)) => Some(MemoryTemplate::new(
                InitialContent::zeroed(limits.initial_bytes()),
                zeroing(),
            )?),
            (InstanceFrom::Recreate, _) => template.clone(),
            // A reused instance installs the template itself, after instantiation.
            _ => None,
        };
        let exports = Exports::of(guest);
        let positions: HashMap<_, _> =
            module.exports().enumerate().map(|(at, export)| (export.name.to_owned(), at)).collect();
        let find = |name: &str| {
            let position = positions.get(name).copied();
            position.ok_or(Error::Misuse("an export that the module lacks"))
        };
        let functions = exports.iter().map(|export| find(&export.name)).collect::<Result<_>>()?;
        let (mutable_globals, written_tables) = state_exports(info, find)?;
        let largest = (Class::of(strategy) == Class::HostSized)
            .then(|| info.memory.map_or(0, |limits| limits.largest()));
        let shared = Arc::new(Shared {
            imports: Imports::of(module, &info.imports, largest)?,
            module: module.clone(),
            functions,
            memory: find(MEMORY).ok(),
            mutable_globals,
            written_tables,
            deadline: config.deadline,
            exports,
            template,
            reset: strategy.memory.reset_method(),
            pool: Arc::new(MemoryPool::new(recycled, config.instances as usize)),
            heap_base: info.heap_base,
            config: config.clone(),
        });
        let effective = describe(&shared, strategy);
        Ok(Self { shared, strategy, effective, data: guest.first_data_byte() })
    }

    /// Looks under the data of a live instance: is the memory mapped as
    /// the strategy's name says?
    fn probe_memory(&self) -> Result<&'static str> {
        let Some(offset) = self.data else {
            return Ok("ours; not probed: the module has no data at a known place");
        };
        let mut instance = self.new_instance()?;
        instance.prepare()?;
        let address = instance.memory().map(|memory| memory.as_ptr() as usize + offset as usize);
        let kind = address.and_then(mapping_kind);
        instance.finish()?;
        let wants_image = self.strategy.memory != MemoryFrom::Segments;
        match kind {
            Some(MappingKind::PrivateFile(_)) if wants_image => {
                Ok("ours, copy-on-write image of a file in memory")
            }
            Some(MappingKind::Anonymous) if !wants_image => Ok("ours, anonymous"),
            Some(other) => Err(Error::WrongMode {
                engine: ID,
                strategy: self.strategy,
                reason: format!("its memory is mapped as {other:?}"),
            }),
            None => Ok("ours; not probed: /proc/self/maps has no answer"),
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

/// What is in force, in words; the stacks as the engine has them.
fn describe(shared: &Shared, strategy: Strategy) -> EffectiveConfig {
    let (engine, _) = shared.engine();
    let settings = engine.config();
    let reset = match (strategy.instance, strategy.memory) {
        (InstanceFrom::Interpreted, _) => match zeroing() {
            ResetMethod::Resident { limit } => format!(
                "written pages found with PAGEMAP_SCAN, zeroed in place up to {} MiB; segments \
                 copied in",
                limit >> 20
            ),
            _ => "all pages dropped, segments copied in".to_owned(),
        },
        (_, memory) => memory.reset_method().to_string(),
    };
    let words = EffectiveConfig::new()
        .with("execution", "interpreted")
        .with("compilation", "one thread")
        .with("bounds checks", "by comparison")
        .with("reset", reset)
        .with(
            "instances",
            match strategy.instance {
                InstanceFrom::Reuse => "one, reset in place",
                _ => "new store and instance each call",
            },
        )
        .with(
            "stack",
            format!(
                "up to {} frames and {} values of each of three sizes",
                settings.call_stack.max_size, settings.value_stack_64.max_size
            ),
        )
        .with("metering", if shared.deadline.is_some() { "on (deadline)" } else { "off" });
    if strategy.instance == InstanceFrom::Reuse {
        words
            .with("grown memory", "zeroed, the first size restored")
            .with("memory.size, memory.grow", "calls of the host, added to the guest")
            .with("grown table", "the instance is replaced by a new one")
    } else {
        words
    }
}

/// How memories that start as zero become zero again. Dropping their pages took
/// longer than tinywasm's own memory of chunks, whose chunks the allocator keeps.
fn zeroing() -> ResetMethod {
    if pagemap_scan_available() {
        ResetMethod::Resident { limit: KEEP_RESIDENT }
    } else {
        ResetMethod::Drop
    }
}

/// How memories are reset in place, for strategies that do and modules whose
/// content is known from the bytes.
fn template(guest: &GuestModule, strategy: Strategy) -> Result<Option<MemoryTemplate>> {
    let resets = strategy.instance == InstanceFrom::Reuse || Class::of(strategy) == Class::OwnImage;
    if !resets || guest.info().memory.is_none() || guest.info().image_refusal().is_some() {
        return Ok(None);
    }
    Ok(Some(MemoryTemplate::new(guest.initial_content()?, strategy.memory.reset_method())?))
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
