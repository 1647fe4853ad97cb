//! The same call against Wasmer's own interface, without this project's contract: the raw reference
//! for the adapter.
//!
//! Written as a careful user would: compiled once, with everything looked up once that can be. Each
//! call makes a store, the stubs for its imports and an instance, places header and input at the
//! heap base, calls, reads the output and drops the store.

use crate::settings::{self, ID};
use touchstone_executor::adapter::{RawCall, RawCaller, RawFrame, unpack};
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::{Error, Result};
use wasmer::{
    Extern, ExternType, Function, FunctionType, Instance, Module, RuntimeError, Store,
    TypedFunction,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn caller(guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
    let Some(frame) = RawFrame::of(guest, call) else { return Ok(None) };
    let engine = settings::compiling(call.config);
    let module = Module::new(&engine, guest.wasm())
        .map_err(Error::runtime(ID, "set up its raw interface"))?;
    let imports: Vec<FunctionType> = module
        .imports()
        .filter_map(|import| match import.ty() {
            ExternType::Function(ty) => Some(ty.clone()),
            _ => None,
        })
        .collect();
    Ok(Some(frame.caller(ID, move |frame, output| -> Result<(), Failure> {
        let mut store = Store::new(engine.clone());
        let stubs: Vec<Extern> = imports
            .iter()
            .map(|ty| {
                let stub = |_: &[wasmer::Value]| {
                    Err(RuntimeError::new("the raw reference has no host functions"))
                };
                Extern::Function(Function::new(&mut store, ty.clone(), stub))
            })
            .collect();
        let instance = Instance::new_by_index(&mut store, &module, &stubs)?;
        let memory = instance.exports.get_memory(MEMORY)?;
        let function: TypedFunction<(u32, u32), u64> =
            instance.exports.get_typed_function(&store, &frame.export)?;
        let view = memory.view(&store);
        for (address, bytes) in frame.parts() {
            view.write(address.into(), bytes)?;
        }
        let packed = function.call(&mut store, frame.pointer(), frame.length())?;
        let (start, length) = unpack(packed);
        output.clear();
        output.resize(length, 0);
        memory.view(&store).read(start as u64, output)?;
        Ok(())
    })))
}
