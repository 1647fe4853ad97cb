//! The raw reference: the same call through wasmi's own interface.
//!
//! Written along wasmi's documentation: translated and linked once. Each call makes a store and an
//! instance, places header and input at the heap base, calls, reads the output and drops
//! everything.

use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::heap::{HEADER, OCCUPIED};
use touchstone_executor::{Error, RawCall, RawCaller, Result};
use wasmi::{Engine, ExternType, Linker, Module, Store};

pub(crate) fn caller(
    id: &'static str,
    config: &wasmi::Config,
    guest: &GuestModule,
    call: &RawCall<'_>,
) -> Result<Option<RawCaller>> {
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
    let Some(heap_base) = guest.info().heap_base.filter(|_| guest.info().memory.is_some()) else {
        return Ok(None);
    };
    let header = heap_base.next_multiple_of(8) as usize;
    let (export, input) = (call.export.to_owned(), call.input.to_vec());
    Ok(Some(Box::new(move |output| {
        let mut run = || -> Result<(), wasmi::Error> {
            let mut store = Store::new(&engine, ());
            let instance = linker.instantiate_and_start(&mut store, &module)?;
            let missing = || wasmi::Error::new("an export is missing");
            let memory = instance.get_memory(&store, MEMORY).ok_or_else(missing)?;
            let function = instance.get_typed_func::<(u32, u32), u64>(&store, &export)?;
            let start = header + HEADER as usize;
            memory.write(&mut store, header, &OCCUPIED.to_le_bytes())?;
            memory.write(&mut store, start, &input)?;
            let packed = function.call(&mut store, (start as u32, input.len() as u32))?;
            let (start, length) = (packed as u32 as usize, (packed >> 32) as usize);
            output.clear();
            let result = memory.data(&store).get(start..).and_then(|tail| tail.get(..length));
            output.extend_from_slice(result.ok_or_else(missing)?);
            Ok(())
        };
        run().map_err(Error::runtime(id, "call the guest through its raw interface"))
    })))
}
