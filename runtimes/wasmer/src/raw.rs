//! The same call against Wasmer's own interface, without this project's
//! contract: the raw reference for the adapter.
//!
//! Written as a careful user would: compiled once, and what can be found out
//! once is; each call makes a store, the stubs for its imports and an instance,
//! places header and input at the heap base, calls, reads the output and drops
//! the store.

use crate::settings::{self, ID};
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::heap::{HEADER, OCCUPIED};
use touchstone_executor::{Error, RawCall, RawCaller, Result};
use wasmer::{
    Extern, ExternType, Function, FunctionType, Instance, Module, RuntimeError, Store,
    TypedFunction,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn caller(guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
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
    let Some(heap_base) = guest.info().heap_base.filter(|_| guest.info().memory.is_some()) else {
        return Ok(None);
    };
    let header = u64::from(heap_base.next_multiple_of(8));
    let (export, input) = (call.export.to_owned(), call.input.to_vec());
    Ok(Some(Box::new(move |output| {
        let mut run = || -> Result<(), Failure> {
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
                instance.exports.get_typed_function(&store, &export)?;
            let start = header + u64::from(HEADER);
            let view = memory.view(&store);
            view.write(header, &OCCUPIED.to_le_bytes())?;
            view.write(start, &input)?;
            let packed = function.call(&mut store, start as u32, input.len() as u32)?;
            output.clear();
            output.resize((packed >> 32) as usize, 0);
            memory.view(&store).read(packed & u64::from(u32::MAX), output)?;
            Ok(())
        };
        run().map_err(Error::runtime(ID, "call the guest through its raw interface"))
    })))
}
