//! A live instance and the calls on it.

use crate::caged::Caged;
use crate::memory::Made;
use crate::module::ModuleData;
use crate::trap;
use std::sync::Arc;
use tinywasm::types::{ExternRef, FuncRef, WasmValue};
use tinywasm::{Engine, Function};
use touchstone_executor::adapter::{Disposable, EnforcedLimits, HostState, Live};
use touchstone_executor::{Error, Reference, Result, Trap, Value};

/// An instance, and what its calls need.
pub(crate) struct Running {
    pub(crate) caged: Caged,
    engine: Engine,
    made: Made,
    /// The function that was called last, by its handle.
    entry: Option<(u32, Function)>,
    /// Used only when the caged host is lost.
    spare: HostState,
    params: Vec<WasmValue>,
    shared: Arc<ModuleData>,
}

/// Data that an instance leaves to the next one.
pub(crate) struct Kept {
    engine: Engine,
    /// The place of the engine's memories.
    made: Made,
    host: HostState,
}

impl Disposable for Running {
    type Shared = ModuleData;
    type Kept = Kept;

    fn new(shared: &Arc<ModuleData>, kept: Option<Kept>) -> Result<Self> {
        let Kept { engine, made, mut host } = kept.unwrap_or_else(|| {
            let (engine, made) = shared.engine();
            Kept { engine, made, host: shared.guest.new_host() }
        });
        host.reset();
        let mut running = Self {
            caged: Caged::new(&engine, &made, shared, host)?,
            engine,
            made,
            entry: None,
            spare: shared.guest.new_host(),
            params: Vec::new(),
            shared: Arc::clone(shared),
        };
        if let Some(start) = running.caged.start()?
            && let Err(error) = running.caged.call(&start, &[])
        {
            return Err(Error::of_instantiation(trap::sort(error)));
        }
        Ok(running)
    }

    fn into_kept(self) -> Kept {
        let Self { caged, engine, made, spare, .. } = self;
        Kept { engine, made, host: caged.into_host().unwrap_or(spare) }
    }
}

impl Live for Running {
    fn grow_memory(&mut self, pages: u32) -> bool {
        self.caged.grow_memory(pages)
    }

    fn host(&mut self) -> &mut HostState {
        self.caged.host().unwrap_or(&mut self.spare)
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        match self.caged.memory_and_host() {
            Some(both) => both,
            None => (&mut [], &mut self.spare),
        }
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        if self.entry.as_ref().is_none_or(|(known, _)| *known != index) {
            let name = self.shared.guest.export_name(index)?;
            self.entry = Some((index, self.caged.function(name)?));
        }
        let Some((_, function)) = &self.entry else { return Err(Error::FOREIGN_HANDLE) };
        self.params.clear();
        self.params.extend(params.iter().map(|value| to_tinywasm(*value)));
        let values = match self.caged.call(function, &self.params) {
            Ok(values) => values,
            Err(error) => return trap::sort(error).map(Err),
        };
        for (result, value) in results.iter_mut().zip(values) {
            *result = from_tinywasm(value);
        }
        Ok(Ok(()))
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let config = &self.shared.guest.config;
        let (deadline, fuel) = (config.is_interruptible(), config.metered);
        EnforcedLimits { deadline, fuel, pages: true, table_entries: false }
    }

    fn begin_limits(&mut self) -> Result<()> {
        self.caged.begin_limits();
        Ok(())
    }

    fn end_limits(&mut self) {
        self.caged.end_limits();
    }
}

pub(crate) fn to_tinywasm(value: Value) -> WasmValue {
    match value {
        Value::I32(value) => WasmValue::I32(value),
        Value::I64(value) => WasmValue::I64(value),
        Value::F32(bits) => WasmValue::F32(f32::from_bits(bits)),
        Value::F64(bits) => WasmValue::F64(f64::from_bits(bits)),
        Value::V128(bits) => WasmValue::V128(bits.to_le_bytes()),
        // The contract passes none but null.
        Value::FuncRef(_) => WasmValue::RefFunc(FuncRef::null()),
        Value::ExternRef(_) => WasmValue::RefExtern(ExternRef::null()),
    }
}

pub(crate) fn from_tinywasm(value: WasmValue) -> Value {
    match value {
        WasmValue::I32(value) => Value::I32(value),
        WasmValue::I64(value) => Value::I64(value),
        WasmValue::F32(value) => Value::F32(value.to_bits()),
        WasmValue::F64(value) => Value::F64(value.to_bits()),
        WasmValue::V128(bytes) => Value::V128(u128::from_le_bytes(bytes)),
        WasmValue::RefFunc(function) => Value::FuncRef(Reference::null_if(function.is_null())),
        WasmValue::RefExtern(object) => Value::ExternRef(Reference::null_if(object.is_null())),
    }
}
