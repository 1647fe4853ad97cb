//! The same calls against Wasmtime's own interface, without this project's contract: the raw
//! reference for the adapter.
//!
//! Written as a careful user would: everything is resolved once that can be, and the settings are
//! the adapter's. Each call makes an instance, places header and input at the heap base, calls,
//! reads the output and drops the instance.

use crate::engine::Compiler;
use crate::module::Shape;
use crate::settings;
use touchstone_executor::adapter::{RawCall, RawCaller, RawFrame, copy_output};
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::{Error, Result};
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
    let (Some(memory), Some(function), Some(frame)) = (
        module.get_export_index(MEMORY),
        module.get_export_index(call.export),
        RawFrame::of(guest, call),
    ) else {
        return Ok(None);
    };
    if Shape::of(&module, call.export, None) != Shape::Substrate {
        return Ok(None);
    }
    Ok(Some(frame.caller(id, move |frame, output| -> wasmtime::Result<()> {
        let mut store = Store::new(&engine, ());
        let instance = pre.instantiate(&mut store)?;
        let (Some(Extern::Memory(memory)), Some(Extern::Func(function))) = (
            instance.get_module_export(&mut store, &memory),
            instance.get_module_export(&mut store, &function),
        ) else {
            wasmtime::bail!("an export is of another kind");
        };
        if frame.place(memory.data_mut(&mut store)).is_none() {
            wasmtime::bail!("the input does not fit into the memory");
        }
        let mut values = [ValRaw::u32(frame.pointer()), ValRaw::u32(frame.length())];
        // SAFETY: the module's own type of the export was found to be `(i32, i32) -> (i64)`, and
        // this is no call from within another.
        unsafe { function.call_unchecked(&mut store, &raw mut values[..]) }?;
        if copy_output(memory.data(&store), values[0].get_u64(), output).is_none() {
            wasmtime::bail!("the result lies outside the memory");
        }
        Ok(())
    })))
}
