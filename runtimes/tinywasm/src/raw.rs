//! The same call against tinywasm's own interface, without this project's contract: the raw
//! reference for the adapter.
//!
//! Written as a careful user would: translated once, with tinywasm's backend for large sparse
//! memories. Each call makes a store, the stubs for its imports and an instance, places header and
//! input at the heap base, calls, reads the output and drops everything.

use crate::engine::{ID, parse, settings};
use tinywasm::types::{FuncType, ImportType};
use tinywasm::{Engine, HostFunction, Imports, MemoryBackend, ModuleInstance, Store};
use touchstone_executor::Result;
use touchstone_executor::adapter::{RawCall, RawCaller, RawFrame, unpack};
use touchstone_executor::guest::{GuestModule, MEMORY};

/// Bytes of a chunk of a sparse memory: a page of linear memory.
const CHUNK: usize = 64 * 1024;

pub(crate) fn caller(guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
    let Some(frame) = RawFrame::of(guest, call) else { return Ok(None) };
    let module = parse(guest.wasm())?;
    let engine = Engine::new(settings().with_memory_backend(MemoryBackend::paged(CHUNK)));
    let imports: Vec<(String, String, FuncType)> = module
        .imports()
        .filter_map(|import| match import.ty {
            ImportType::Func(ty) => {
                Some((import.module.to_owned(), import.name.to_owned(), ty.clone()))
            }
            _ => None,
        })
        .collect();
    Ok(Some(frame.caller(ID, move |frame, output| -> tinywasm::Result<()> {
        let mut store = Store::new(engine.clone());
        let mut stubs = Imports::new();
        for (module, name, ty) in &imports {
            let stub = HostFunction::from_untyped(&mut store, ty, |_, _| {
                let reason = "the raw reference has no host functions";
                Err(tinywasm::Error::Other(reason.to_owned()))
            });
            stubs.define(module, name, stub);
        }
        let instance = ModuleInstance::instantiate(&mut store, &module, Some(stubs))?;
        let memory = instance.memory(MEMORY)?;
        let function = instance.func::<(i32, i32), i64>(&store, &frame.export)?;
        for (address, bytes) in frame.parts() {
            memory.copy_from_slice(&mut store, address as usize, bytes)?;
        }
        let params = (frame.pointer().cast_signed(), frame.length().cast_signed());
        let (start, length) = unpack(function.call(&mut store, params)?.cast_unsigned());
        output.clear();
        output.resize(length, 0);
        memory.read_exact(&store, start, output)
    })))
}
