//! A live instance and the calls on it.

use crate::imports::Host;
use crate::memory::{self, bytes};
use crate::module::ModuleData;
use crate::rewrite::START;
use crate::settings::ID;
use crate::trap;
use std::sync::Arc;
use touchstone_executor::adapter::{Clock, Disposable, EnforcedLimits, HostState, Live};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, Reference, Result, Trap, Value, ValueType};
use wasmer::{
    Function, FunctionEnv, Instance, InstantiationError, Memory, Store, TypedFunction, Value as Val,
};

const FOREIGN: Error = Error::FOREIGN_HANDLE;

enum Entry {
    Substrate(TypedFunction<(u32, u32), u64>),
    Nothing(TypedFunction<(), ()>),
    Other(Function),
}

/// A store, the instance in it and its memory.
pub(crate) struct Running {
    pub(crate) store: Store,
    pub(crate) memory: Option<Memory>,
    pub(crate) instance: Instance,
    env: FunctionEnv<Host>,
    /// The function that was called last, by its handle.
    entry: Option<(u32, Entry)>,
    shared: Arc<ModuleData>,
}

// SAFETY: of the fields only the store is not `Send`. Wasmer 7 leaves it open because its objects
// point at each other, and because host functions and the hook after a call are trait objects that
// do not say whether they are. The objects lie on the heap, belong to this store alone and move
// with it; host functions and their environment had to be `Send` when they were given; no hook is
// set. What Wasmer keeps per thread (the stack of running stores, a machine stack, the signal
// stack) it takes at the beginning of a call and leaves at its end, and a call needs `&mut self`.
unsafe impl Send for Running {}

impl Running {
    fn start(&mut self) -> Result<()> {
        let failed = || Error::runtime(ID, "run the start function");
        let start: TypedFunction<(), ()> =
            self.instance.exports.get_typed_function(&self.store, START).map_err(failed())?;
        if let Err(trap) = self.start_clock() {
            return Err(Error::of_instantiation(Ok(trap)));
        }
        match start.call(&mut self.store) {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::of_instantiation(trap::sort(error))),
        }
    }

    /// Begins to count the time of an entry into the guest.
    fn start_clock(&mut self) -> Result<(), Trap> {
        if !self.shared.guest.config.is_interruptible() {
            return Ok(());
        }
        let host = self.env.as_mut(&mut self.store);
        host.clock = host.state.start_clock();
        host.clock.check()
    }

    /// Looks up the function of the handle, unless it was called last.
    fn find(&mut self, index: u32) -> Result<()> {
        if self.entry.as_ref().is_some_and(|(known, _)| *known == index) {
            return Ok(());
        }
        use ValueType::{I32, I64};
        let export = self.shared.guest.exports.get(index).ok_or(FOREIGN)?;
        let function = self.instance.exports.get_function(&export.name).map_err(|_| FOREIGN)?;
        let signature = export.signature.as_ref();
        let entry = match signature.map(|known| (&known.params[..], &known.results[..])) {
            Some(([I32, I32], [I64])) => function.typed(&self.store).map(Entry::Substrate),
            Some(([], [])) => function.typed(&self.store).map(Entry::Nothing),
            _ => Ok(Entry::Other(function.clone())),
        };
        let entry = entry.map_err(Error::runtime(ID, "find an export"))?;
        self.entry = Some((index, entry));
        Ok(())
    }
}

impl Disposable for Running {
    type Shared = ModuleData;
    type Kept = HostState;

    fn new(shared: &Arc<ModuleData>, kept: Option<HostState>) -> Result<Self> {
        let mut state = kept.unwrap_or_else(|| shared.guest.new_host());
        state.reset();
        let mut store = Store::new(shared.engine.clone());
        let env =
            FunctionEnv::new(&mut store, Host { state, memory: None, clock: Clock::default() });
        let imports = shared.imports.define(&mut store, &env);
        let instance =
            Instance::new_by_index(&mut store, &shared.module, &imports).map_err(|error| {
                match error {
                    // The start function is not part of the module: a segment does not fit.
                    InstantiationError::Start(error) => Error::of_instantiation(trap::sort(error)),
                    other => Error::runtime(ID, "instantiate the module")(other),
                }
            })?;
        let memory = instance.exports.get_memory(MEMORY).ok().cloned();
        env.as_mut(&mut store).memory.clone_from(&memory);
        let mut running =
            Self { store, memory, instance, env, entry: None, shared: Arc::clone(shared) };
        if shared.guest.info().has_start {
            running.start()?;
        }
        Ok(running)
    }

    fn into_kept(mut self) -> HostState {
        let empty = self.shared.guest.new_host();
        std::mem::replace(&mut self.env.as_mut(&mut self.store).state, empty)
    }
}

impl Live for Running {
    fn grow_memory(&mut self, pages: u32) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.grow(&mut self.store, pages).is_ok())
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.env.as_mut(&mut self.store).state
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let bytes = match &self.memory {
            // SAFETY: the guest is not running; both results borrow all of
            // `self`, without which it cannot be run nor its memory grown.
            Some(memory) => unsafe { bytes(memory, &self.store) },
            None => &mut [],
        };
        (bytes, &mut self.env.as_mut(&mut self.store).state)
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        self.find(index)?;
        if let Err(trap) = self.start_clock() {
            return Ok(Err(trap));
        }
        let Some((_, Entry::Substrate(function))) = &self.entry else {
            return Err(FOREIGN);
        };
        let ended = function.call(&mut self.store, pointer, length);
        ended.map(Ok).or_else(|error| trap::sort(error).map(Err))
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        self.find(index)?;
        if let Err(trap) = self.start_clock() {
            return Ok(Err(trap));
        }
        let ended = match &self.entry {
            Some((_, Entry::Nothing(function))) => function.call(&mut self.store),
            Some((_, Entry::Other(function))) => {
                let params: Vec<Val> = params.iter().map(|value| to_wasmer(*value)).collect();
                let ended = function.call(&mut self.store, &params);
                for (result, value) in results.iter_mut().zip(ended.iter().flatten()) {
                    *result = from_wasmer(value)?;
                }
                ended.map(drop)
            }
            Some((_, Entry::Substrate(function))) => match (params, &mut *results) {
                ([Value::I32(pointer), Value::I32(length)], [Value::I64(packed)]) => {
                    let ended = function.call(&mut self.store, *pointer as u32, *length as u32);
                    ended.map(|found| *packed = found as i64)
                }
                _ => return Err(FOREIGN),
            },
            None => return Err(FOREIGN),
        };
        ended.map(Ok).or_else(|error| trap::sort(error).map(Err))
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let deadline = self.shared.guest.config.is_interruptible();
        EnforcedLimits { deadline, pages: true, ..EnforcedLimits::default() }
    }

    fn begin_limits(&mut self) -> Result<()> {
        let pages = self.host().limits().pages;
        if let (Some(memory), Some(pages)) = (&self.memory, pages) {
            memory::limit(memory, &self.store, pages);
        }
        Ok(())
    }

    fn end_limits(&mut self) {
        if let Some(memory) = &self.memory {
            memory::end_limit(memory, &self.store);
        }
    }
}

pub(crate) fn to_wasmer(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(bits) => Val::F32(f32::from_bits(bits)),
        Value::F64(bits) => Val::F64(f64::from_bits(bits)),
        Value::V128(bits) => Val::V128(bits),
        // The contract passes none but null.
        Value::FuncRef(_) => Val::FuncRef(None),
        Value::ExternRef(_) => Val::ExternRef(None),
    }
}

pub(crate) fn from_wasmer(value: &Val) -> Result<Value> {
    Ok(match value {
        Val::I32(value) => Value::I32(*value),
        Val::I64(value) => Value::I64(*value),
        Val::F32(value) => Value::F32(value.to_bits()),
        Val::F64(value) => Value::F64(value.to_bits()),
        Val::V128(bits) => Value::V128(*bits),
        Val::FuncRef(function) => Value::FuncRef(Reference::null_if(function.is_none())),
        Val::ExternRef(object) => Value::ExternRef(Reference::null_if(object.is_none())),
        Val::ExceptionRef(_) => return Err(Error::Misuse("a result that is an exception")),
    })
}
