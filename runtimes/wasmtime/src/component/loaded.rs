//! A loaded component.

use super::codec::{Codec, CodecModule, Plan};
use super::in_place::{Handles, ResetPlan};
use super::instance::ComponentInstance;
use super::memories::ComponentMemories;
use super::shape::{self, Shape};
use super::{PREVIEW2, linker, probe};
use crate::data::{self, StoreData};
use crate::deadline::{Clock, Entered, FAR};
use crate::engine::Compiler;
use crate::memory::Use;
use crate::{meter, settings};
use std::sync::{Arc, OnceLock};
use touchstone_executor::adapter::{EnforcedLimits, LoadedGuest};
use touchstone_executor::guest::{FunctionExport, INNER, ModuleInfo, entered};
use touchstone_executor::{
    Abi, EffectiveConfig, Error, ExportId, Instance, InstanceFrom, Module, Result,
};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};
use wasmtime::{Engine, Store};

pub(crate) struct ComponentData {
    pub(super) guest: LoadedGuest,
    pub(crate) pre: InstancePre<StoreData>,
    /// In the order of the guest's exports.
    pub(crate) functions: Vec<Function>,
    /// Where instances are reset in place.
    pub(super) in_place: Option<ResetPlan>,
    clock: Option<Clock>,
    /// Instances that a store serves, one after the other.
    pub(super) tenants: u32,
    compiler: Compiler,
    /// Compiled when the first export is asked for that needs it.
    codec: OnceLock<Arc<CodecModule>>,
}

pub(crate) struct Function {
    pub(crate) index: ComponentExportIndex,
    /// Its entry, where the component has it.
    pub(super) entry: Option<ComponentExportIndex>,
    pub(crate) shape: Shape,
    pub(crate) ty: ComponentFunc,
    /// For a codec: what its only parameter is, or the type that codecs do not know.
    pub(crate) plan: Result<Plan, &'static str>,
    /// Handles of its calls, where instances are reset in place.
    pub(super) handles: Handles,
}

impl ComponentData {
    /// A new instance of the codec that knows all types it will be asked for; `None`
    /// where no export needs one.
    pub(crate) fn new_codec(&self) -> Result<Option<Codec>> {
        let Some(module) = self.codec.get() else { return Ok(None) };
        let plans = (0..).zip(&self.functions);
        let plans =
            plans.filter_map(|(index, function)| Some((index, function.plan.as_ref().ok()?)));
        Codec::new(module, plans).map(Some)
    }

    /// Compiles the codec for the export, unless there is one.
    fn need_codec(&self, name: &str, function: &Function) -> Result<()> {
        let refuse = |reason: String| Error::ExportUnsupported {
            engine: self.guest.engine,
            name: name.to_owned(),
            reason,
        };
        if let Err(ty) = function.plan {
            return Err(refuse(format!(
                "codecs make strings, u32, lists, tuples and records, no {ty}"
            )));
        }
        let Some(guest) = &self.guest.config.codec else {
            return Err(refuse("no codec component is given".to_owned()));
        };
        if self.codec.get().is_none() {
            let codec =
                CodecModule::new(self.guest.engine, self.compiler, guest, &self.guest.config)?;
            // Another thread may have been faster; its codec serves as well.
            let _ = self.codec.set(Arc::new(codec));
        }
        Ok(())
    }

    /// The limits that calls can have.
    pub(crate) fn enforced_limits(&self) -> EnforcedLimits {
        data::enforced(self.clock.is_some(), self.guest.config.metered)
    }

    /// Fills a store's tank, where operators are counted.
    pub(crate) fn fill(&self, store: &mut Store<StoreData>) -> Result<()> {
        if self.guest.config.metered { meter::fill(self.guest.engine, store) } else { Ok(()) }
    }

    /// From now on no deadline counts: what runs is of the host, not of the guest.
    pub(crate) fn stop_clock(&self, store: &mut Store<StoreData>) {
        if self.clock.is_some() {
            store.set_epoch_deadline(FAR);
        }
    }

    /// Starts the deadline, where there is one. It counts until the result is dropped.
    pub(crate) fn start_clock(&self, store: &mut Store<StoreData>) -> Option<Entered> {
        self.clock.as_ref().map(|clock| clock.enter(store))
    }
}

pub(crate) struct LoadedComponent {
    shared: Arc<ComponentData>,
    own_memories: Option<Arc<ComponentMemories>>,
    effective: EffectiveConfig,
}

impl LoadedComponent {
    pub(crate) fn new(
        compiler: Compiler,
        guest: LoadedGuest,
        load: impl FnOnce(&Engine) -> Result<Component>,
    ) -> Result<Self> {
        let (id, strategy, config) = (guest.engine, guest.strategy, &guest.config);
        let (reset, keep) = (strategy.memory.reset_method(), config.instances as usize);
        let make = |use_by| ComponentMemories::new(&guest.guest, use_by, reset, keep, compiler);
        let own_memories = Use::of(strategy).map(make).transpose()?.map(Arc::new);
        let memories = own_memories.clone().map(|memories| memories as _);
        let settings = settings::for_running(compiler, strategy, config, guest.info(), memories)
            .map_err(Error::runtime(id, "configure itself"))?;
        let engine = settings::start(id, compiler, strategy, &settings)?;
        let clock = config.is_interruptible().then(|| Clock::start(&engine, config.deadline, None));
        let clock = clock.transpose()?;
        let component = load(&engine)?;
        let pre = linker::link(id, &component, config)?
            .instantiate_pre(&component)
            .map_err(Error::runtime(id, "link the component"))?;
        let find = |export: &FunctionExport| {
            function(&component, &export.name)
                .ok_or(Error::Misuse("an export that the component lacks"))
        };
        let mut functions = guest.exports.iter().map(find).collect::<Result<Vec<_>>>()?;
        let in_place = match &own_memories {
            Some(memories) if strategy.instance == InstanceFrom::Reuse => {
                let mut plan = reset_plan(&guest, &component, memories)?;
                if settings::enters(config) {
                    plan.enters = find_entries(&mut functions, guest.info(), &component);
                }
                Some(plan)
            }
            _ => None,
        };
        let tenants = settings::tenants(strategy, guest.info());
        let effective = settings::describe(compiler, strategy, config, guest.info());
        let codec = OnceLock::new();
        let shared =
            ComponentData { guest, pre, functions, in_place, clock, tenants, compiler, codec };
        Ok(Self { shared: Arc::new(shared), own_memories, effective })
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<ComponentData> {
        &self.shared
    }
}

/// An export, or one of an exported interface, whose name stands before it.
fn function(component: &Component, name: &str) -> Option<Function> {
    let found = match name.split_once(INNER) {
        Some((interface, name)) => {
            let interface = component.get_export_index(None, interface)?;
            component.get_export(Some(&interface), name)
        }
        None => component.get_export(None, name),
    };
    match found? {
        (ComponentItem::ComponentFunc(ty), index) => {
            let plan = match ty.params().next() {
                Some((_, ty)) => Plan::of(&ty),
                None => Err("function without a parameter"),
            };
            let (shape, handles) = (Shape::of(&ty), Handles::default());
            Some(Function { index, entry: None, shape, ty, plan, handles })
        }
        _ => None,
    }
}

impl Module for LoadedComponent {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let index = self.shared.guest.exports.position(name)?;
        let function = &self.shared.functions[index as usize];
        shape::check(name, function.shape, &function.ty, abi)?;
        if abi == Abi::Wasi && !cfg!(feature = "preview2") {
            let (engine, name) = (self.shared.guest.engine, name.to_owned());
            return Err(Error::ExportUnsupported { engine, name, reason: PREVIEW2.to_owned() });
        }
        if abi == Abi::Codec {
            self.shared.need_codec(name, function)?;
        }
        Ok(self.shared.guest.exports.handle(index, abi))
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(ComponentInstance::new(&self.shared)?))
    }

    fn probe(&mut self) -> Result<()> {
        let mut instance = self.new_instance()?;
        if self.own_memories.is_some() {
            instance.prepare()?;
        }
        let engine = self.shared.pre.engine();
        let own = self.own_memories.as_deref();
        let LoadedGuest { engine: id, strategy, .. } = self.shared.guest;
        let memory = probe::memory(id, engine, own, strategy)?;
        instance.finish()?;
        self.effective = std::mem::take(&mut self.effective).with("memory", memory);
        Ok(())
    }

    fn effective(&self) -> EffectiveConfig {
        self.effective.clone()
    }
}

/// How instances of a component are reset in place.
fn reset_plan(
    guest: &LoadedGuest,
    component: &Component,
    memories: &Arc<ComponentMemories>,
) -> Result<ResetPlan> {
    let info = guest.info().component.as_ref();
    let info = info.ok_or(Error::Misuse("not a component"))?;
    let find = |name: String| {
        component
            .get_export_index(None, &name)
            .ok_or(Error::Misuse("the component was not rewritten"))
    };
    let functions = info.reset_functions().into_iter().map(find).collect::<Result<_>>()?;
    let (reset, memories) = (guest.strategy.memory.reset_method(), Arc::clone(memories));
    let has_handles = info.has_resources();
    Ok(ResetPlan { id: guest.engine, functions, reset, memories, has_handles, enters: None })
}

/// Finds the entries of functions. The function that counts them, if all that anybody can call have
/// one.
fn find_entries(
    functions: &mut [Function],
    info: &ModuleInfo,
    component: &Component,
) -> Option<ComponentExportIndex> {
    let entries = info.component.as_ref()?.entries();
    for (function, export) in functions.iter_mut().zip(&info.exports) {
        let entry = entries.get(&*export.name);
        function.entry = entry.and_then(|entry| component.get_export_index(None, entry));
    }
    let can_enter =
        |function: &Function| function.entry.is_some() || function.shape == Shape::Other;
    let counts = component.get_export_index(None, entered())?;
    functions.iter().all(can_enter).then_some(counts)
}
