//! A loaded module.

use crate::data::StoreData;
use crate::deadline::code::{self, Code};
use crate::deadline::{Clock, Entered};
use crate::engine::Compiler;
use crate::linker;
use crate::live::Running;
use crate::memory::{Memories, Use};
use crate::reuse::ReusedInstance;
use crate::settings;
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule};
use touchstone_executor::guest::{FunctionExport, GuestModule, MEMORY, RESET, entered, entry};
use touchstone_executor::{Config, Error, Result, Signature, Strategy, ValueType};
use wasmtime::{Engine, ExternType, InstancePre, ModuleExport, Store, ValType};

pub(crate) struct ModuleData {
    pub(crate) guest: LoadedGuest,
    pub(crate) pre: InstancePre<StoreData>,
    /// In the order of the guest's exports.
    pub(crate) functions: Vec<Function>,
    pub(crate) memory: Option<ModuleExport>,
    /// The function that saves the globals that entries restore; `None` without entries.
    pub(crate) saves: Option<ModuleExport>,
    /// The global that counts entries which have done so, where a deadline may end one before.
    pub(crate) entered: Option<ModuleExport>,
    pub(crate) clock: Option<Clock>,
    pub(crate) content: CleanContent,
    /// Instances that a store serves, one after the other.
    pub(crate) tenants: u32,
}

impl ModuleData {
    /// Runs code of the guest under the deadline, where there is one.
    ///
    /// # Errors
    ///
    /// Those of the code, and the trap of a guest without time.
    #[inline]
    pub(crate) fn run<T>(
        &self,
        store: &mut Store<StoreData>,
        guest: impl FnOnce(&mut Store<StoreData>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let entered = self.clock.as_ref().map(|clock| clock.enter(store));
        entered.as_ref().map_or(Ok(()), Entered::check)?;
        guest(store)
    }
}

/// Wasmtime's handles of an exported function.
pub(crate) struct Function {
    /// For the first call of each use, and for the others.
    pub(crate) exports: [ModuleExport; 2],
    /// The calls that need no check.
    pub(crate) shape: Shape,
}

/// A function's type as Wasmtime has it, as far as it can be called unchecked.
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

    /// `known` is the type in the guest's description.
    pub(crate) fn of(module: &wasmtime::Module, name: &str, known: Option<&Signature>) -> Self {
        let Some(ExternType::Func(ty)) = module.get_export(name) else { return Self::Other };
        let params: Vec<_> = ty.params().collect();
        let results: Vec<_> = ty.results().collect();
        let are_known =
            known.is_some_and(|known| are(&params, &known.params) && are(&results, &known.results));
        match (&params[..], &results[..]) {
            ([ValType::I32, ValType::I32], [ValType::I64]) if known.is_none() || are_known => {
                Self::Substrate
            }
            ([], []) => Self::Nothing,
            (params, results) if are_known && params.len().max(results.len()) <= Self::MOST => {
                Self::Numbers
            }
            _ => Self::Other,
        }
    }
}

/// `true` if Wasmtime's types are the known ones.
pub(crate) fn are(types: &[ValType], known: &[ValueType]) -> bool {
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

pub(crate) fn load(
    compiler: Compiler,
    guest: LoadedGuest,
    load: impl FnOnce(&Engine) -> Result<wasmtime::Module>,
) -> Result<LoadedModule<ModuleData>> {
    let (id, strategy, config) = (guest.engine, guest.strategy, &guest.config);
    let content = content(&guest.guest, strategy, config)?;
    let memories = Use::of(strategy).map(|use_by| {
        // Without a template, the instance makes one after instantiation.
        let (template, keep) = (content.known().cloned(), config.instances as usize);
        Arc::new(Memories::new(template, keep, (compiler, guest.info()), use_by)) as _
    });
    let settings = settings::for_running(compiler, strategy, config, guest.info(), memories)
        .map_err(Error::runtime(id, "configure itself"))?;
    let engine = settings::start(id, compiler, strategy, &settings)?;
    let module = load(&engine)?;
    let by_signal = code::is_stopped_by_signal(compiler, strategy, config, guest.info());
    let start = || {
        let unknown = Error::Misuse("a function whose trap is not as Wasmtime's compilers make it");
        let code = by_signal.then(|| Code::of(&module).ok_or(unknown)).transpose()?;
        Clock::start(&engine, config.deadline, code)
    };
    let clock = config.is_interruptible().then(start).transpose()?;
    let effective = settings::describe(compiler, strategy, config, guest.info());
    let pre = linker::link(&module, &guest.functions, by_signal)
        .and_then(|linker| linker.instantiate_pre(&module))
        .map_err(Error::runtime(id, "link the module"))?;
    let find = |name: &str| {
        module.get_export_index(name).ok_or(Error::Misuse("an export that the module lacks"))
    };
    // Compiling decided whether there are entries.
    let saves = module.get_export_index(RESET);
    let function = |export: &FunctionExport| {
        let shape = Shape::of(&module, &export.name, export.signature.as_ref());
        let own = find(&export.name)?;
        let first = match saves {
            Some(_) => find(&entry(&export.name))?,
            None => own,
        };
        Ok(Function { exports: [first, own], shape })
    };
    let shared = Arc::new(ModuleData {
        functions: guest.exports.iter().map(function).collect::<Result<_>>()?,
        tenants: settings::tenants(strategy, guest.info()),
        memory: module.get_export_index(MEMORY),
        saves,
        entered: module.get_export_index(&entered()),
        guest,
        pre,
        clock,
        content,
    });
    let guest = &shared.guest;
    let loaded = LoadedModule::by_strategy::<Running, ReusedInstance>(guest, &shared, effective);
    Ok(loaded.probing_memory())
}

/// The content of Touchstone's memories, for strategies that use them.
fn content(guest: &GuestModule, strategy: Strategy, config: &Config) -> Result<CleanContent> {
    let is_own = Use::of(strategy).is_some();
    // These are functions of Wasmtime's, or copies in machine code without a trap: a write to a
    // read-only page would be a fault of the host.
    if is_own && config.region.is_some() && guest.info().writes_in_bulk {
        return Err(Error::no_region("it has memory.copy, memory.fill or memory.init"));
    }
    let content =
        if is_own { CleanContent::of(guest, strategy)? } else { CleanContent::unknown(strategy) };
    content.sharing(guest, config.region.as_ref())
}
