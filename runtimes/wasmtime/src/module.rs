//! A loaded module, and the proof that it is what its strategy says.

use crate::deadline::{Clock, Entered};
use crate::engine::Compiler;
use crate::linker;
use crate::live::Running;
use crate::memory::Memories;
use crate::reuse::Resident;
use crate::settings;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::driver::{Fresh, Reused};
use touchstone_executor::guest::{GuestModule, MEMORY, ModuleInfo, RESET, entry};
use touchstone_executor::host::HostState;
use touchstone_executor::memory::{MemoryTemplate, ResetMethod};
use touchstone_executor::probe::{MappingKind, mapping_kind};
use touchstone_executor::{
    Config, EffectiveConfig, Error, ExportId, Exports, Instance, InstanceFrom, MemoryFrom, Module,
    Result, Signature, Strategy, ValueType,
};
use wasmtime::{Engine, ExternType, InstancePre, ModuleExport, Store, ValType};

/// What all instances of a module share.
pub(crate) struct Shared {
    pub(crate) id: &'static str,
    pub(crate) pre: InstancePre<HostState>,
    pub(crate) exports: Exports,
    /// In the order of `exports`.
    pub(crate) functions: Vec<Function>,
    pub(crate) memory: Option<ModuleExport>,
    /// The function that saves what entries bring back.
    pub(crate) saves: Option<ModuleExport>,
    /// Mutable globals that no entry brings back.
    pub(crate) mutable_globals: Vec<ModuleExport>,
    pub(crate) written_tables: Vec<ModuleExport>,
    pub(crate) clock: Option<Clock>,
    pub(crate) reset: ResetMethod,
    /// Instances that a store serves, one after the other.
    pub(crate) tenants: u32,
    /// Whether operators are counted.
    pub(crate) metered: bool,
    heap_base: Option<u32>,
    config: Config,
}

impl Shared {
    /// The host's side of a clean instance.
    pub(crate) fn new_host(&self) -> HostState {
        HostState::new(self.heap_base, &self.config)
    }

    /// Starts the deadline, where there is one. It counts until the result is dropped.
    #[inline]
    pub(crate) fn start_clock(&self, store: &mut Store<HostState>) -> Option<Entered<'_>> {
        self.clock.as_ref().map(|clock| clock.enter(store))
    }
}

/// Wasmtime's handles of an exported function.
pub(crate) struct Function {
    /// What the first call of each use calls, and what the others do.
    pub(crate) exports: [ModuleExport; 2],
    /// What may be called through them without a check.
    pub(crate) shape: Shape,
}

/// A function's type as Wasmtime has it, as far as calls go unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `(i32, i32) -> (i64)`.
    Substrate,
    /// `() -> ()`.
    Nothing,
    /// At most [`Self::MOST`] numbers and vectors each way, of the types that the guest's
    /// description of itself has for them.
    Numbers,
    /// Anything else.
    Other,
}

impl Shape {
    /// Numbers and vectors that are passed without an allocation.
    pub(crate) const MOST: usize = 4;

    /// `known` is what the guest's description has.
    pub(crate) fn of(module: &wasmtime::Module, name: &str, known: Option<&Signature>) -> Self {
        let Some(ExternType::Func(ty)) = module.get_export(name) else { return Self::Other };
        let params: Vec<_> = ty.params().collect();
        let results: Vec<_> = ty.results().collect();
        match (&params[..], &results[..]) {
            ([ValType::I32, ValType::I32], [ValType::I64]) => Self::Substrate,
            ([], []) => Self::Nothing,
            (params, results)
                if params.len().max(results.len()) <= Self::MOST
                    && known.is_some_and(|known| {
                        are(params, &known.params) && are(results, &known.results)
                    }) =>
            {
                Self::Numbers
            }
            _ => Self::Other,
        }
    }
}

/// Whether Wasmtime's types are these.
fn are(types: &[ValType], known: &[ValueType]) -> bool {
    types.len() == known.len()
        && types.iter().zip(known).all(|pair| {
            matches!(
                pair,
                (ValType::I32, ValueType::I32)
                    | (ValType::I64, ValueType::I64)
                    | (ValType::F32, ValueType::F32)
                    | (ValType::F64, ValueType::F64)
                    | (ValType::V128, ValueType::V128)
            )
        })
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
        id: &'static str,
        compiler: Compiler,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        load: impl FnOnce(&Engine) -> Result<wasmtime::Module>,
    ) -> Result<Self> {
        let template = template(guest, strategy, config)?;
        let own_memory = own_memory(strategy, template.as_ref(), config, compiler);
        let memories = own_memory.map(|memories| memories as _);
        let settings = settings::for_running(compiler, strategy, config, guest.info(), memories)
            .map_err(Error::runtime(id, "configure itself"))?;
        let engine = settings::start(id, compiler, strategy, &settings)?;
        let clock = config.deadline.map(|deadline| Clock::start(&engine, deadline)).transpose()?;
        let module = load(&engine)?;
        let info = guest.info();
        let pre = linker::link(&module, info)
            .and_then(|linker| linker.instantiate_pre(&module))
            .map_err(Error::runtime(id, "link the module"))?;
        let exports = Exports::of(guest);
        let find = |name: &str| {
            module.get_export_index(name).ok_or(Error::Misuse("an export that the module lacks"))
        };
        // Compiling decided whether there are entries.
        let saves = module.get_export_index(RESET);
        let functions = exports
            .iter()
            .map(|export| {
                let shape = Shape::of(&module, &export.name, export.signature.as_ref());
                let own = find(&export.name)?;
                let first = match saves {
                    Some(_) => find(&entry(&export.name))?,
                    None => own,
                };
                Ok(Function { exports: [first, own], shape })
            })
            .collect::<Result<_>>()?;
        let (mut mutable_globals, written_tables) = state_exports(info, find)?;
        if saves.is_some() {
            mutable_globals.clear();
        }
        let shared = Arc::new(Shared {
            id,
            functions,
            memory: module.get_export_index(MEMORY),
            saves,
            mutable_globals,
            written_tables,
            pre,
            exports,
            clock,
            reset: strategy.memory.reset_method(),
            tenants: settings::tenants(strategy, info),
            metered: config.metered,
            heap_base: info.heap_base,
            config: config.clone(),
        });
        let effective = settings::describe(compiler, strategy, config, info);
        Ok(Self { shared, strategy, effective, data: guest.first_data_byte() })
    }

    /// Looks under the data of a live instance: is the memory mapped as
    /// the strategy's name says?
    fn probe_memory(&self) -> Result<String> {
        let Some(offset) = self.data else {
            return Ok("not probed: the module has no data at a known place".to_owned());
        };
        let mut instance = self.new_instance()?;
        instance.prepare()?;
        let address = instance.memory().map(|memory| memory.as_ptr() as usize + offset as usize);
        let kind = address.and_then(mapping_kind);
        instance.finish()?;
        let words = mapping_in_words(self.shared.id, self.strategy, kind)?;
        Ok(words.unwrap_or_else(|| NO_ANSWER.to_owned()))
    }
}

/// What is said where the kernel does not say how memory is mapped.
pub(crate) const NO_ANSWER: &str = "not probed: /proc/self/maps has no answer";

/// How a memory was seen to be mapped; `None` where the kernel does not say.
///
/// # Errors
///
/// [`Error::WrongMode`] when it is not what the strategy's name says.
pub(crate) fn mapping_in_words(
    id: &'static str,
    strategy: Strategy,
    seen: Option<MappingKind>,
) -> Result<Option<String>> {
    let wants_image = strategy.memory != MemoryFrom::Segments;
    match seen {
        Some(MappingKind::PrivateFile(name)) if wants_image => {
            Ok(Some(format!("copy-on-write image of {}", kind_of_file(&name))))
        }
        Some(MappingKind::Anonymous) if !wants_image => Ok(Some("anonymous".to_owned())),
        Some(other) => Err(Error::WrongMode {
            engine: id,
            strategy,
            reason: format!("its memory is mapped as {other:?}"),
        }),
        None => Ok(None),
    }
}

/// The image's origin without what differs from run to run.
fn kind_of_file(name: &str) -> &'static str {
    if name.contains("memfd:") { "a file in memory" } else { "the precompiled file" }
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
fn template(
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<Option<MemoryTemplate>> {
    let uses_own = matches!(settings::class(strategy), settings::OWN | settings::OWN_IMAGE);
    let unknown = guest.info().image_refusal();
    if !uses_own || guest.info().memory.is_none() || unknown.is_some() {
        return match config.region {
            Some(_) => Err(Error::no_region(
                unknown.as_deref().unwrap_or("it has no memory that is Touchstone's"),
            )),
            None => Ok(None),
        };
    }
    // These are functions of Wasmtime's, or copies in machine code without a trap: a write to a
    // read-only page would be a fault of the host.
    if config.region.is_some() && guest.info().writes_in_bulk {
        return Err(Error::no_region("it has memory.copy, memory.fill or memory.init"));
    }
    let template = MemoryTemplate::new(guest.initial_content()?, strategy.memory.reset_method())?;
    Ok(Some(template.sharing(config.region.clone())?))
}

/// Memories of our own, for strategies that use them.
fn own_memory(
    strategy: Strategy,
    template: Option<&MemoryTemplate>,
    config: &Config,
    compiler: Compiler,
) -> Option<Arc<Memories>> {
    let keep = config.instances as usize;
    let memories = match settings::class(strategy) {
        // Without a template, the instance makes one after instantiation.
        settings::OWN => Memories::for_one(template.cloned(), keep, compiler),
        settings::OWN_IMAGE => Memories::for_many(template.cloned(), keep, compiler),
        _ => return None,
    };
    Some(Arc::new(memories))
}

/// Handles of the mutable globals, and of the tables if they can be written.
fn state_exports(
    info: &ModuleInfo,
    find: impl Fn(&str) -> Result<ModuleExport>,
) -> Result<(Vec<ModuleExport>, Vec<ModuleExport>)> {
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
