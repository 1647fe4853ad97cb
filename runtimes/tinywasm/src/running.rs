//! A live instance, as the calling conventions see it.

use crate::caged::Caged;
use crate::memory::Made;
use crate::module::Shared;
use crate::trap;
use std::sync::Arc;
use tinywasm::types::{ExternRef, FuncRef, WasmValue};
use tinywasm::{Engine, ExternItem, Function};
use touchstone_executor::abi::Live;
use touchstone_executor::driver::Disposable;
use touchstone_executor::host::HostState;
use touchstone_executor::{Error, Reference, Result, Signature, Trap, Value};

const FOREIGN: Error = Error::Misuse("the export handle is of another module");

/// An instance, and what its calls need.
pub(crate) struct Running {
    pub(crate) caged: Caged,
    engine: Engine,
    made: Made,
    /// The function that was called last, by its handle.
    entry: Option<(u32, Function)>,
    /// Never looked at while the caged host is there.
    spare: HostState,
    params: Vec<WasmValue>,
    shared: Arc<Shared>,
}

impl Running {
    /// Makes a new instance and runs its start function.
    pub(crate) fn instantiate(shared: &Arc<Shared>, kept: Kept) -> Result<Self> {
        let Kept { engine, made, host } = kept;
        let (module, imports) = (&shared.module, &shared.imports);
        let caged = Caged::new(&engine, &made, module, imports, shared.memory, host)?;
        let mut running = Self {
            caged,
            engine,
            made,
            entry: None,
            spare: shared.new_host(),
            params: Vec::new(),
            shared: Arc::clone(shared),
        };
        if let Some(start) = running.caged.start()? {
            let ended = running.caged.call(&start, &[], shared.deadline);
            if let Err(error) = ended {
                return Err(Error::of_instantiation(trap::sort(error)));
            }
        }
        Ok(running)
    }

    /// Calls with the numbers in `params`.
    fn call(&mut self, index: u32) -> Result<Result<Vec<WasmValue>, Trap>> {
        if self.entry.as_ref().is_none_or(|(known, _)| *known != index) {
            let position = *self.shared.functions.get(index as usize).ok_or(FOREIGN)?;
            let Some(ExternItem::Func(function)) = self.caged.export(position) else {
                return Err(FOREIGN);
            };
            self.entry = Some((index, function));
        }
        let Some((_, function)) = &self.entry else { return Err(FOREIGN) };
        match self.caged.call(function, &self.params, self.shared.deadline) {
            Ok(values) => Ok(Ok(values)),
            Err(error) => trap::sort(error).map(Err),
        }
    }
}

/// What an instance is made with, and leaves to the next one.
pub(crate) struct Kept {
    engine: Engine,
    /// Where the engine's memories come to lie.
    made: Made,
    host: HostState,
}

impl Kept {
    /// For a first instance.
    pub(crate) fn new(shared: &Shared) -> Self {
        let (engine, made) = shared.engine();
        Self { engine, made, host: shared.new_host() }
    }
}

impl Disposable for Running {
    type Shared = Shared;
    type Kept = Kept;

    fn new(shared: &Arc<Shared>, kept: Option<Kept>) -> Result<Self> {
        let mut kept = kept.unwrap_or_else(|| Kept::new(shared));
        kept.host.reset();
        Self::instantiate(shared, kept)
    }

    fn into_kept(self) -> Kept {
        let Self { caged, engine, made, spare, .. } = self;
        Kept { engine, made, host: caged.into_host().unwrap_or(spare) }
    }
}

impl Live for Running {
    fn memory(&mut self) -> &mut [u8] {
        self.memory_and_host().0
    }

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

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        self.params.clear();
        self.params.extend([WasmValue::I32(pointer as i32), WasmValue::I32(length as i32)]);
        match self.call(index)? {
            Ok(values) => match values[..] {
                [WasmValue::I64(packed)] => Ok(Ok(packed as u64)),
                _ => Err(FOREIGN),
            },
            Err(trap) => Ok(Err(trap)),
        }
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        self.params.clear();
        self.params.extend(params.iter().map(|value| to_tinywasm(*value)));
        let values = match self.call(index)? {
            Ok(values) => values,
            Err(trap) => return Ok(Err(trap)),
        };
        for (result, value) in results.iter_mut().zip(values) {
            *result = from_tinywasm(value);
        }
        Ok(Ok(()))
    }

    fn signature(&self, index: u32) -> Option<&Signature> {
        self.shared.exports.signature(index)
    }
}

fn to_tinywasm(value: Value) -> WasmValue {
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

fn from_tinywasm(value: WasmValue) -> Value {
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
