//! The same calls against Wasmtime's own interface, without this project's
//! contract: the raw reference for the adapter.
//!
//! Written as a careful user would: everything that can be resolved once is
//! resolved once, and the settings are the adapter's. Each call makes an
//! instance, places header and input at the heap base, calls, reads the output
//! and drops the instance.

use crate::engine::Compiler;
use crate::module::Shape;
use crate::settings;
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::heap::{HEADER, OCCUPIED};
use touchstone_executor::{Error, RawCall, RawCaller, Result};
use wasmtime::{Engine, Extern, Linker, Module, Store, ValRaw};

pub(crate) fn caller(
    id: &'static str,
    compiler: Compiler,
    guest: &GuestModule,
    call: &RawCall<'_>,
) -> Result<Option<RawCaller>> {
    let failed = || Error::runtime(id, "set up its raw interface");
    let config = settings::for_running(compiler, call.strategy, call.config, guest.info(), None)
        .map_err(failed())?;
    let engine = Engine::new(&config).map_err(failed())?;
    let module = Module::new(&engine, guest.wasm()).map_err(failed())?;
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.define_unknown_imports_as_traps(&module).map_err(failed())?;
    let pre = linker.instantiate_pre(&module).map_err(failed())?;
    let (Some(memory), Some(function), Some(heap_base)) = (
        module.get_export_index(MEMORY),
        module.get_export_index(call.export),
        guest.info().heap_base,
    ) else {
        return Ok(None);
    };
    if Shape::of(&module, call.export, None) != Shape::Substrate {
        return Ok(None);
    }
    let header = heap_base.next_multiple_of(8) as usize;
    let input = call.input.to_vec();
    Ok(Some(Box::new(move |output| {
        let mut run = || -> wasmtime::Result<()> {
            let mut store = Store::new(&engine, ());
            let instance = pre.instantiate(&mut store)?;
            let (Some(Extern::Memory(memory)), Some(Extern::Func(function))) = (
                instance.get_module_export(&mut store, &memory),
                instance.get_module_export(&mut store, &function),
            ) else {
                wasmtime::bail!("an export is of another kind");
            };
            let bytes = memory.data_mut(&mut store);
            let start = header + HEADER as usize;
            let places =
                bytes.get_mut(header..).and_then(|rest| rest.split_at_mut_checked(HEADER as usize));
            let Some((head, rest)) = places.filter(|(_, rest)| rest.len() >= input.len()) else {
                wasmtime::bail!("the input does not fit into the memory");
            };
            head.copy_from_slice(&OCCUPIED.to_le_bytes());
            rest[..input.len()].copy_from_slice(&input);
            let mut values = [ValRaw::u32(start as u32), ValRaw::u32(input.len() as u32)];
            // SAFETY: the module's own type of the export was found to be
            // `(i32, i32) -> (i64)`, and this is no call from within another.
            unsafe { function.call_unchecked(&mut store, &raw mut values[..]) }?;
            let packed = values[0].get_u64();
            output.clear();
            let (start, length) = (packed as u32 as usize, (packed >> 32) as usize);
            let result = memory.data(&store).get(start..).and_then(|rest| rest.get(..length));
            let Some(result) = result else {
                wasmtime::bail!("the result lies outside the memory")
            };
            output.extend_from_slice(result);
            Ok(())
        };
        run().map_err(Error::runtime(id, "call the guest through its raw interface"))
    })))
}
