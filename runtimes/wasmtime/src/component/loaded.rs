//! A loaded component.

use super::instance::ComponentInstance;
use super::memories::ComponentMemories;
use super::shape::{self, Shape};
use super::{linker, probe};
use crate::deadline::Clock;
use crate::engine::Compiler;
use crate::settings;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::host::HostState;
use touchstone_executor::memory::Reset;
use touchstone_executor::{
    Config, EffectiveConfig, Error, ExportId, Exports, Instance, Module, Result, Strategy,
};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};
use wasmtime::{Engine, Store};

/// What all instances of a component share.
pub(crate) struct Shared {
    pub(crate) id: &'static str,
    pub(crate) pre: InstancePre<HostState>,
    /// In the order of the guest's exports.
    pub(crate) functions: Vec<Function>,
    clock: Option<Clock>,
    config: Config,
}

/// An exported function.
pub(crate) struct Function {
    pub(crate) index: ComponentExportIndex,
    pub(crate) shape: Shape,
    pub(crate) ty: ComponentFunc,
}

impl Shared {
    /// The host's side of a clean instance.
    pub(crate) fn new_host(&self) -> HostState {
        HostState::new(None, &self.config)
    }

    /// From now on the deadline counts, where there is one.
    pub(crate) fn start_clock(&self, store: &mut Store<HostState>) {
        if let Some(clock) = &self.clock {
            store.set_epoch_deadline(clock.ticks());
        }
    }
}

/// A component under one strategy.
pub(crate) struct Loaded {
    shared: Arc<Shared>,
    exports: Exports,
    strategy: Strategy,
    own_memories: Option<Arc<ComponentMemories>>,
    effective: EffectiveConfig,
}

impl Loaded {
    pub(crate) fn new(
        id: &'static str,
        compiler: Compiler,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        load: impl FnOnce(&Engine) -> Result<Component>,
    ) -> Result<Self> {
        let own_memories = own_memories(guest, strategy, config)?;
        let memories = own_memories.clone().map(|memories| memories as _);
        let settings = settings::for_running(compiler, strategy, config, guest.info(), memories)
            .map_err(Error::runtime(id, "configure itself"))?;
        let engine = settings::start(id, compiler, strategy, &settings)?;
        let clock = config.deadline.map(|deadline| Clock::start(&engine, deadline)).transpose()?;
        let component = load(&engine)?;
        let pre = linker::link(&component)
            .and_then(|linker| linker.instantiate_pre(&component))
            .map_err(Error::runtime(id, "link the component"))?;
        let exports = Exports::of(guest);
        let functions = exports
            .iter()
            .map(|export| {
                function(&component, &export.name)
                    .ok_or(Error::Misuse("an export that the component lacks"))
            })
            .collect::<Result<_>>()?;
        let shared = Arc::new(Shared { id, pre, functions, clock, config: config.clone() });
        let effective = settings::describe(compiler, strategy, config);
        Ok(Self { shared, exports, strategy, own_memories, effective })
    }
}

fn function(component: &Component, name: &str) -> Option<Function> {
    match component.get_export(None, name)? {
        (ComponentItem::ComponentFunc(ty), index) => {
            Some(Function { index, shape: Shape::of(&ty), ty })
        }
        _ => None,
    }
}

impl Module for Loaded {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let index = self.exports.position(name)?;
        let function = &self.shared.functions[index as usize];
        shape::check(name, function.shape, &function.ty, abi)?;
        Ok(ExportId::new(index, abi))
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(ComponentInstance::new(&self.shared)))
    }

    fn probe(&mut self) -> Result<()> {
        if self.own_memories.is_some() {
            let mut instance = self.new_instance()?;
            instance.prepare()?;
            instance.finish()?;
        }
        let engine = self.shared.pre.engine();
        let own = self.own_memories.as_deref();
        let memory = probe::memory(self.shared.id, engine, own, self.strategy)?;
        self.effective = std::mem::take(&mut self.effective).with("memory", memory);
        Ok(())
    }

    fn effective(&self) -> EffectiveConfig {
        self.effective.clone()
    }
}

/// Memories of our own, for strategies that use them.
fn own_memories(
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<Option<Arc<ComponentMemories>>> {
    if settings::class(strategy) != settings::OWN_IMAGE {
        return Ok(None);
    }
    let keep = config.instances as usize;
    let memories = ComponentMemories::new(guest, Reset::of(strategy.memory), keep)?;
    Ok(Some(Arc::new(memories)))
}
