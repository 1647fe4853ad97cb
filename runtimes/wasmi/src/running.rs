//! A guest that is instantiated, and the calls on it.

use crate::home::{Home, StoreState};
use crate::module::SharedModule;
use crate::trap;
use std::sync::Arc;
use touchstone_executor::adapter::{Clock, Disposable, EnforcedLimits, HostState, Live};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, Reference, Result, Trap, TrapKind, Value, ValueType};
use wasmi::{F32, F64, Func, Memory, Nullable, ResumableCall, StoreContextMut, TypedFunc, Val};

/// Fuel between two looks at the clock: about a millisecond.
const SLICE: u64 = 1_000_000;
/// More than any guest burns in a nanosecond: a start function, which cannot be resumed, gets at
/// least the time of its deadline.
const FUEL_PER_NANOSECOND: u128 = 4;
const FOREIGN: Error = Error::FOREIGN_HANDLE;

/// An exported function, ready to be called.
#[derive(Clone, Copy)]
enum Entry {
    Substrate(TypedFunc<(u32, u32), u64>),
    Nothing(TypedFunc<(), ()>),
    Other(Func),
}

impl Entry {
    fn func(&self) -> &Func {
        match self {
            Self::Substrate(function) => function.func(),
            Self::Nothing(function) => function.func(),
            Self::Other(function) => function,
        }
    }
}

/// Buffers that outlive an instance.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Exported functions by handle, found at their first call.
    entries: Vec<Option<Entry>>,
    params: Vec<Val>,
    results: Vec<Val>,
}

/// An instance with its store.
pub(crate) struct Running {
    pub(crate) home: Home,
    pub(crate) instance: wasmi::Instance,
    memory: Option<Memory>,
    shared: Arc<SharedModule>,
    buffers: Buffers,
}

impl Running {
    /// Instantiates a module of the home's engine, and runs the start function.
    pub(crate) fn instantiate(
        shared: &Arc<SharedModule>,
        module: &wasmi::Module,
        mut home: Home,
        mut buffers: Buffers,
    ) -> Result<Self> {
        const ACTION: &str = "instantiate the module";
        let (engine, config) = (shared.guest.engine, &shared.guest.config);
        if config.is_interruptible() || config.metered {
            let fuel = config.deadline.map(|deadline| {
                let fuel = deadline.as_nanos().saturating_mul(FUEL_PER_NANOSECOND);
                u64::try_from(fuel).unwrap_or(u64::MAX).max(SLICE)
            });
            let set = home.store().set_fuel(fuel.unwrap_or(u64::MAX));
            set.map_err(Error::runtime(engine, ACTION))?;
            home.state().clock = Clock::start(config.deadline, None);
        }
        let lent = home.state().memory;
        let mut store = home.store();
        let imports = shared.imports.define(&mut store, lent);
        let instance = wasmi::Instance::new(&mut store, module, &imports)
            .map_err(|error| Error::of_instantiation(trap::find(engine, ACTION, error)))?;
        let memory = instance.get_memory(&store, MEMORY);
        home.state().memory = memory;
        buffers.entries.clear();
        buffers.entries.resize(shared.guest.exports.iter().count(), None);
        Ok(Self { home, instance, memory, shared: Arc::clone(shared), buffers })
    }

    pub(crate) fn engine(&self) -> &'static str {
        self.shared.guest.engine
    }

    fn entry(&mut self, index: u32) -> Result<Entry> {
        match self.buffers.entries.get(index as usize) {
            Some(Some(entry)) => Ok(*entry),
            Some(None) => self.find_entry(index),
            None => Err(FOREIGN),
        }
    }

    #[cold]
    fn find_entry(&mut self, index: u32) -> Result<Entry> {
        use ValueType::{I32, I64};
        let export = self.shared.guest.exports.get(index).ok_or(FOREIGN)?;
        let failed = |error| Error::runtime(self.shared.guest.engine, "find an export")(error);
        let store = self.home.store();
        let func = self
            .instance
            .get_func(&store, &export.name)
            .ok_or_else(|| failed(format!("'{}' is gone", export.name)))?;
        let shape = export.signature.as_ref().map(|s| (&s.params[..], &s.results[..]));
        let entry = match shape {
            Some(([I32, I32], [I64])) => func.typed(&store).map(Entry::Substrate),
            Some(([], [])) => func.typed(&store).map(Entry::Nothing),
            _ => Ok(Entry::Other(func)),
        };
        let entry = entry.map_err(|error| failed(error.to_string()))?;
        self.buffers.entries[index as usize] = Some(entry);
        Ok(entry)
    }

    /// Calls with `buffers.params`, and puts the results into `buffers.results`.
    fn call_numbers(&mut self, func: &Func) -> Result<(), wasmi::Error> {
        let Buffers { params, results, .. } = &mut self.buffers;
        match self.shared.uses_fuel() {
            false => func.call(self.home.store(), params, results),
            true => metered(self.home.store(), func, params, results),
        }
    }

    fn ended<T>(&self, ended: Result<T, wasmi::Error>) -> Result<Result<T, Trap>> {
        let engine = self.shared.guest.engine;
        ended.map(Ok).or_else(|error| trap::find(engine, "run the guest", error).map(Err))
    }
}

/// Calls in slices of fuel, and stops the guest at its deadline or its limit of fuel, or where
/// somebody interrupts it.
fn metered(
    mut store: StoreContextMut<'_, StoreState>,
    func: &Func,
    params: &[Val],
    results: &mut [Val],
) -> Result<(), wasmi::Error> {
    let state = store.data_mut();
    state.clock = state.host.start_clock();
    // Fuel of the call that is not in the running slice. A call may enter the guest twice.
    let mut left = state.fuel.unwrap_or(u64::MAX);
    let ended = in_slices(&mut store, func, params, results, &mut left);
    let rest = store.get_fuel()?;
    if let Some(fuel) = &mut store.data_mut().fuel {
        *fuel = left.saturating_add(rest);
    }
    ended
}

fn in_slices(
    store: &mut StoreContextMut<'_, StoreState>,
    func: &Func,
    params: &[Val],
    results: &mut [Val],
    left: &mut u64,
) -> Result<(), wasmi::Error> {
    let mut slice = SLICE.min(*left);
    store.set_fuel(slice)?;
    *left -= slice;
    let mut call = func.call_resumable(&mut *store, params, results)?;
    loop {
        call = match call {
            ResumableCall::Finished => return Ok(()),
            ResumableCall::HostTrap(stopped) => return Err(stopped.into_host_error()),
            ResumableCall::OutOfFuel(stopped) => {
                store.data().clock.check().map_err(trap::carry)?;
                // The rest of the slice is not enough for the next instruction.
                *left = left.saturating_add(store.get_fuel()?);
                let required = stopped.required_fuel();
                slice = SLICE.max(required).min(*left);
                store.set_fuel(0)?;
                if slice < required {
                    return Err(trap::carry(TrapKind::OutOfFuel));
                }
                store.set_fuel(slice)?;
                *left -= slice;
                stopped.resume(&mut *store, results)?
            }
        };
    }
}

impl Disposable for Running {
    type Shared = SharedModule;
    type Kept = Buffers;

    fn new(shared: &Arc<SharedModule>, kept: Option<Buffers>) -> Result<Self> {
        let code = &shared.codes.first;
        let home = Home::new(&code.engine, shared.guest.new_host());
        Self::instantiate(shared, &code.module, home, kept.unwrap_or_default())
    }

    fn into_kept(self) -> Buffers {
        self.buffers
    }
}

impl Live for Running {
    fn grow_memory(&mut self, pages: u32) -> bool {
        self.memory.is_some_and(|memory| memory.grow(self.home.store(), pages.into()).is_ok())
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.home.state().host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        match self.memory {
            Some(memory) => {
                let (bytes, state) = memory.data_and_store_mut(self.home.store());
                (bytes, &mut state.host)
            }
            None => (&mut [], &mut self.home.state().host),
        }
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        let Entry::Substrate(function) = self.entry(index)? else {
            return Err(FOREIGN);
        };
        if !self.shared.uses_fuel() {
            let ended = function.call(self.home.store(), (pointer, length));
            return self.ended(ended);
        }
        let params = [Value::I32(pointer as i32), Value::I32(length as i32)];
        let mut results = [Value::I64(0)];
        let ended = self.call_plain(index, &params, &mut results)?;
        Ok(ended.map(|()| match results {
            [Value::I64(packed)] => packed as u64,
            _ => 0,
        }))
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let entry = self.entry(index)?;
        if let (Entry::Nothing(function), false) = (&entry, self.shared.uses_fuel()) {
            let ended = function.call(self.home.store(), ());
            return self.ended(ended);
        }
        self.buffers.params.clear();
        self.buffers.params.extend(params.iter().map(|value| to_wasmi(*value)));
        self.buffers.results.clear();
        self.buffers.results.resize(results.len(), Val::I32(0));
        let ended = self.call_numbers(entry.func());
        for (result, value) in results.iter_mut().zip(&self.buffers.results) {
            *result = from_wasmi(value);
        }
        self.ended(ended)
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let config = &self.shared.guest.config;
        let (deadline, fuel) = (config.is_interruptible(), config.metered);
        EnforcedLimits { deadline, fuel, pages: true, table_entries: true }
    }

    fn begin_limits(&mut self) -> Result<()> {
        let limits = self.home.state().host.limits();
        self.home.state().fuel = limits.fuel;
        if limits.pages.is_some() || limits.table_entries.is_some() {
            self.home.limit_growth(&limits);
        }
        Ok(())
    }

    fn end_limits(&mut self) {
        self.home.end_limits();
    }
}

pub(crate) fn to_wasmi(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(bits) => Val::F32(F32::from_bits(bits)),
        Value::F64(bits) => Val::F64(F64::from_bits(bits)),
        Value::V128(bits) => Val::V128(bits.into()),
        // The contract passes none but null.
        Value::FuncRef(_) => Val::FuncRef(Nullable::Null),
        Value::ExternRef(_) => Val::ExternRef(Nullable::Null),
    }
}

pub(crate) fn from_wasmi(value: &Val) -> Value {
    match value {
        Val::I32(value) => Value::I32(*value),
        Val::I64(value) => Value::I64(*value),
        Val::F32(value) => Value::F32(value.to_bits()),
        Val::F64(value) => Value::F64(value.to_bits()),
        Val::V128(value) => Value::V128(value.as_u128()),
        Val::FuncRef(function) => Value::FuncRef(Reference::null_if(function.is_null())),
        Val::ExternRef(object) => Value::ExternRef(Reference::null_if(object.is_null())),
    }
}
