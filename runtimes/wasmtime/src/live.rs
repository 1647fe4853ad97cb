//! A live Wasmtime instance, as the calling conventions see it.

use crate::data::{self, StoreData};
use crate::module::{Function, ModuleData, Shape};
use crate::tenancy::{Kept, Tenancy};
use crate::{meter, trap};
use std::sync::Arc;
use touchstone_executor::adapter::{Disposable, EnforcedLimits, HostState, Live};
use touchstone_executor::guest::StateCall;
use touchstone_executor::{Error, Reference, Result, Trap, Value, ValueType};
use wasmtime::{Extern, Func, Instance, Memory, Store, Val, ValRaw};

const FOREIGN: Error = Error::FOREIGN_HANDLE;

/// A store, the instance in it and its memory.
pub(crate) struct Running {
    tenancy: Tenancy,
    /// `true` until a call traps.
    well: bool,
    pub(crate) instance: Instance,
    /// The memory, looked up when it is first needed: many calls do without.
    memory: Option<Option<Memory>>,
    /// `true` if nothing was called since the instance was new or clean.
    first: bool,
    /// How many entries have restored the globals, as far as known, modulo 2³².
    entries: u32,
    /// The functions that were called last, by their handles: first of a use, and later.
    called: [Option<(u32, Func, Shape)>; 2],
    shared: Arc<ModuleData>,
}

impl Running {
    /// Makes a new instance in a store that has no other one now.
    pub(crate) fn instantiate(shared: Arc<ModuleData>, mut tenancy: Tenancy) -> Result<Self> {
        // Start functions run under the deadline too.
        if shared.guest.config.metered {
            meter::fill(shared.guest.engine, &mut tenancy.store)?;
        }
        let start = |store: &mut _| shared.run(store, |store| shared.pre.instantiate(store));
        let instance = tenancy.instantiate(start).map_err(|error| {
            trap::of_instantiation(shared.guest.engine, "instantiate the module", error)
        })?;
        let (first, entries, called) = (true, 0, [None; 2]);
        Ok(Self { tenancy, well: true, instance, memory: None, first, entries, called, shared })
    }

    /// The same in a store of its own.
    pub(crate) fn alone(shared: &Arc<ModuleData>) -> Result<Self> {
        let engine = shared.pre.module().engine();
        let tenancy = Tenancy::new(engine, shared.guest.new_host(), 1);
        Self::instantiate(Arc::clone(shared), tenancy)
    }

    #[inline]
    pub(crate) fn engine(&self) -> &'static str {
        self.shared.guest.engine
    }

    #[inline]
    pub(crate) fn store(&mut self) -> &mut Store<StoreData> {
        &mut self.tenancy.store
    }

    /// The memory, where the module has one.
    #[inline]
    pub(crate) fn memory(&mut self) -> Option<Memory> {
        match self.memory {
            Some(memory) => memory,
            None => self.find_memory(),
        }
    }

    fn find_memory(&mut self) -> Option<Memory> {
        let export = self.shared.memory;
        let find = |export| self.instance.get_module_export(&mut self.tenancy.store, &export);
        let memory = export.and_then(find).and_then(Extern::into_memory);
        self.memory = Some(memory);
        memory
    }

    /// Has the next call bring the mutable globals back, where the module has entries.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.first = true;
    }

    /// Calls the function that saves what entries bring back, if there is one.
    pub(crate) fn save(&mut self) -> Result<()> {
        let Some(export) = &self.shared.saves else { return Ok(()) };
        let store = &mut self.tenancy.store;
        let _unlimited = self.shared.clock.as_ref().map(|clock| clock.enter_unlimited(store));
        let found = self.instance.get_module_export(&mut *store, export);
        let function = found.and_then(Extern::into_func).ok_or(FOREIGN)?;
        function
            .typed::<u32, u32>(&*store)
            .and_then(|save| save.call(store, StateCall::Save as u32))
            .map_err(Error::runtime(self.shared.guest.engine, "save the globals"))?;
        Ok(())
    }

    #[inline]
    fn function(&mut self, index: u32) -> Result<(Func, Shape)> {
        match self.called[usize::from(!self.first)] {
            Some((known, function, shape)) if known == index => Ok((function, shape)),
            _ => self.find(index),
        }
    }

    fn find(&mut self, index: u32) -> Result<(Func, Shape)> {
        let Function { exports, shape } =
            self.shared.functions.get(index as usize).ok_or(FOREIGN)?;
        let turn = usize::from(!self.first);
        let found = self.instance.get_module_export(&mut self.tenancy.store, &exports[turn]);
        let function = found.and_then(Extern::into_func).ok_or(FOREIGN)?;
        self.called[turn] = Some((index, function, *shape));
        Ok((function, *shape))
    }

    /// After a first call that trapped: `false` if a deadline has ended the entry before it had
    /// restored the globals, so that the next call has to do so.
    #[cold]
    fn has_entered(&mut self) -> bool {
        let Some(export) = &self.shared.entered else { return true };
        let found = self.instance.get_module_export(&mut self.tenancy.store, export);
        let count = found.and_then(Extern::into_global).map(|count| count.get(self.store()));
        let Some(Val::I32(count)) = count else { return true };
        let before = std::mem::replace(&mut self.entries, count.cast_unsigned());
        before != self.entries
    }

    fn call_numbers(
        &mut self,
        function: Func,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let signature = self.shared.guest.exports.signature(index).ok_or(FOREIGN)?;
        if !signature.fits(params, results) {
            return Err(FOREIGN);
        }
        let mut values = [ValRaw::i64(0); Shape::MOST];
        for (value, param) in values.iter_mut().zip(params) {
            *value = to_raw(*param);
        }
        let used = &mut values[..params.len().max(results.len())];
        let ended = self.shared.run(&mut self.tenancy.store, |store| {
            // SAFETY: when the module was loaded, its own type of this export was found to be this
            // signature, of at most `MOST` numbers and vectors each way; the parameters have its
            // types, and there is room for its results. It is not called from within another call.
            unsafe { function.call_unchecked(store, &raw mut *used) }
        });
        for ((result, ty), value) in results.iter_mut().zip(&signature.results).zip(&values) {
            *result = from_raw(*ty, *value);
        }
        self.ended(ended)
    }

    #[inline]
    fn ended<T>(&mut self, ended: wasmtime::Result<T>) -> Result<Result<T, Trap>> {
        let first = std::mem::replace(&mut self.first, false);
        match ended {
            Ok(value) => {
                self.entries = self.entries.wrapping_add(u32::from(first));
                Ok(Ok(value))
            }
            Err(error) => {
                self.well = false;
                if first {
                    self.first = !self.has_entered();
                }
                if error.is::<wasmtime::ThrownException>() {
                    // Or the next call in this store would find it.
                    let _ = self.tenancy.store.take_pending_exception();
                }
                trap::sort(self.shared.guest.engine, error).map(Err)
            }
        }
    }
}

impl Disposable for Running {
    type Shared = ModuleData;
    /// The second one too: each clone of it is a write that other threads wait for.
    type Kept = (Kept, Arc<ModuleData>);

    fn new(shared: &Arc<ModuleData>, kept: Option<Self::Kept>) -> Result<Self> {
        let (kept, shared) = match kept {
            Some((kept, shared)) => (Some(kept), shared),
            None => (None, Arc::clone(shared)),
        };
        let engine = shared.pre.module().engine();
        let tenancy = Tenancy::next(kept, engine, shared.tenants, || shared.guest.new_host());
        Self::instantiate(shared, tenancy)
    }

    fn into_kept(self) -> Self::Kept {
        (self.tenancy.end(self.well), self.shared)
    }
}

impl Live for Running {
    fn grow_memory(&mut self, pages: u32) -> bool {
        let memory = Running::memory(self);
        memory.is_some_and(|memory| memory.grow(&mut self.tenancy.store, pages.into()).is_ok())
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.tenancy.store.data_mut().host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        match Running::memory(self) {
            Some(memory) => {
                let (bytes, data) = memory.data_and_store_mut(&mut self.tenancy.store);
                (bytes, &mut data.host)
            }
            None => (&mut [], &mut self.tenancy.store.data_mut().host),
        }
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        let (function, shape) = self.function(index)?;
        if shape != Shape::Substrate {
            return Err(FOREIGN);
        }
        // Not by `TypedFunc`: to make one, Wasmtime takes the function's type out of
        // its registry and puts it back, which takes longer than the call.
        let mut values = [ValRaw::u32(pointer), ValRaw::u32(length)];
        let ended = self.shared.run(&mut self.tenancy.store, |store| {
            // SAFETY: when the module was loaded, its own type of this export was found
            // to be `(i32, i32) -> (i64)`: the array holds the parameters and has room
            // for the result. It is not called from within another call.
            unsafe { function.call_unchecked(store, &raw mut values[..]) }
        });
        self.ended(ended.map(|()| values[0].get_u64()))
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let (function, shape) = self.function(index)?;
        if shape == Shape::Nothing && params.is_empty() && results.is_empty() {
            let mut nothing: [ValRaw; 0] = [];
            let ended = self.shared.run(&mut self.tenancy.store, |store| {
                // SAFETY: when the module was loaded, its own type of this export was
                // found to be `() -> ()`: there is nothing to be passed.
                unsafe { function.call_unchecked(store, &raw mut nothing[..]) }
            });
            return self.ended(ended);
        }
        if matches!(shape, Shape::Numbers | Shape::Substrate) {
            return self.call_numbers(function, index, params, results);
        }
        let params: Vec<Val> = params.iter().map(|value| to_wasmtime(*value)).collect();
        let mut outputs: Vec<Val> = results.iter().map(|value| to_wasmtime(*value)).collect();
        // Where they do not fit, Wasmtime would fail without having entered the guest.
        let ty = function.ty(&self.tenancy.store);
        let fits = ty.params().len() == params.len()
            && ty.results().len() == outputs.len()
            && params
                .iter()
                .zip(ty.params())
                .all(|(param, ty)| param.matches_ty(&self.tenancy.store, &ty).unwrap_or(false));
        if !fits {
            return Err(FOREIGN);
        }
        let store = &mut self.tenancy.store;
        let ended = self.shared.run(store, |store| function.call(store, &params, &mut outputs));
        let ended = self.ended(ended)?;
        for (result, output) in results.iter_mut().zip(outputs) {
            *result = from_wasmtime(output)?;
        }
        Ok(ended)
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let config = &self.shared.guest.config;
        data::enforced(self.shared.clock.is_some(), config.metered)
    }

    fn begin_limits(&mut self) -> Result<()> {
        data::begin(self.engine(), &mut self.tenancy.store)
    }

    fn end_limits(&mut self) {
        data::end(self.shared.guest.engine, &mut self.tenancy.store);
    }

    fn operators(&mut self) -> Option<u64> {
        meter::used(&self.tenancy.store)
    }
}

pub(crate) fn to_wasmtime(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(bits) => Val::F32(bits),
        Value::F64(bits) => Val::F64(bits),
        Value::V128(bits) => Val::V128(bits.into()),
        // The contract passes none but null.
        Value::FuncRef(_) => Val::null_func_ref(),
        Value::ExternRef(_) => Val::null_extern_ref(),
    }
}

/// A value as code has it. Of references there is only null.
pub(crate) fn to_raw(value: Value) -> ValRaw {
    match value {
        Value::I32(value) => ValRaw::i32(value),
        Value::I64(value) => ValRaw::i64(value),
        Value::F32(bits) => ValRaw::f32(bits),
        Value::F64(bits) => ValRaw::f64(bits),
        Value::V128(bits) => ValRaw::v128(bits),
        Value::FuncRef(_) | Value::ExternRef(_) => ValRaw::null(),
    }
}

/// A value of this type. Signatures of numbers have no references.
pub(crate) fn from_raw(ty: ValueType, value: ValRaw) -> Value {
    match ty {
        ValueType::I32 => Value::I32(value.get_i32()),
        ValueType::I64 => Value::I64(value.get_i64()),
        ValueType::F32 => Value::F32(value.get_f32()),
        ValueType::F64 => Value::F64(value.get_f64()),
        ValueType::V128 => Value::V128(value.get_v128()),
        ValueType::FuncRef | ValueType::ExternRef => Value::zero(ty),
    }
}

pub(crate) fn from_wasmtime(value: Val) -> Result<Value> {
    Ok(match value {
        Val::I32(value) => Value::I32(value),
        Val::I64(value) => Value::I64(value),
        Val::F32(bits) => Value::F32(bits),
        Val::F64(bits) => Value::F64(bits),
        Val::V128(bits) => Value::V128(bits.as_u128()),
        Val::FuncRef(function) => Value::FuncRef(Reference::null_if(function.is_none())),
        Val::ExternRef(object) => Value::ExternRef(Reference::null_if(object.is_none())),
        _ => return Err(Error::Misuse("a result of a type that no host can get")),
    })
}
