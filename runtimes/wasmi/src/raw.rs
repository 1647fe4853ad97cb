//! The raw reference: the same call through wasmi's own interface.
//!
//! Written along wasmi's documentation: translated and linked once. Each call makes a store and an
//! instance, places header and input at the heap base, calls, reads the output and drops
//! everything.

use touchstone_executor::adapter::{RawCall, RawCaller, RawFrame, copy_output};
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::{Error, Result};
use wasmi::{Engine, ExternType, Linker, Module, Store};

pub(crate) fn caller(
    id: &'static str,
    config: &wasmi::Config,
    guest: &GuestModule,
    call: &RawCall<'_>,
) -> Result<Option<RawCaller>> {
    let Some(frame) = RawFrame::of(guest, call) else { return Ok(None) };
    let failed = |error| Error::runtime(id, "set up its raw interface")(error);
    let engine = Engine::new(config);
    let module = Module::new(&engine, guest.wasm()).map_err(failed)?;
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.allow_shadowing(true);
    for import in module.imports() {
        if let ExternType::Func(ty) = import.ty() {
            let stub = |_: wasmi::Caller<'_, ()>, _: &[_], _: &mut [_]| {
                Err(wasmi::Error::new("the raw reference has no host functions"))
            };
            linker
                .func_new(import.module(), import.name(), ty.clone(), stub)
                .map_err(|error| failed(error.into()))?;
        }
    }
    Ok(Some(frame.caller(id, move |frame, output| -> Result<(), wasmi::Error> {
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate_and_start(&mut store, &module)?;
        let missing = || wasmi::Error::new("an export is missing");
        let memory = instance.get_memory(&store, MEMORY).ok_or_else(missing)?;
        let function = instance.get_typed_func::<(u32, u32), u64>(&store, &frame.export)?;
        for (address, bytes) in frame.parts() {
            memory.write(&mut store, address as usize, bytes)?;
        }
        let packed = function.call(&mut store, (frame.pointer(), frame.length()))?;
        copy_output(memory.data(&store), packed, output).ok_or_else(missing)
    })))
}
