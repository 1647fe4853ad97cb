//! The same call against tinywasm's own interface, without this project's
//! contract: the raw reference for the adapter.
//!
//! Written as a careful user would: translated once, with the backend for large
//! sparse memories that tinywasm brings along; each call makes a store, the
//! stubs for its imports and an instance, places header and input at the heap
//! base, calls, reads the output and drops everything.

use crate::engine::{ID, parse, settings};
use tinywasm::types::{FuncType, ImportType};
use tinywasm::{Engine, HostFunction, Imports, MemoryBackend, ModuleInstance, Store};
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::heap::{HEADER, OCCUPIED};
use touchstone_executor::{Error, RawCall, RawCaller, Result};

/// Bytes of a chunk of a sparse memory: a page of linear memory.
const CHUNK: usize = 64 * 1024;

pub(crate) fn caller(guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
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
    let Some(heap_base) = guest.info().heap_base.filter(|_| guest.info().memory.is_some()) else {
        return Ok(None);
    };
    let header = heap_base.next_multiple_of(8) as usize;
    let (export, input) = (call.export.to_owned(), call.input.to_vec());
    Ok(Some(Box::new(move |output| {
        let mut run = || -> tinywasm::Result<()> {
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
            let function = instance.func::<(i32, i32), i64>(&store, &export)?;
            let start = header + HEADER as usize;
            memory.copy_from_slice(&mut store, header, &OCCUPIED.to_le_bytes())?;
            memory.copy_from_slice(&mut store, start, &input)?;
            let packed = function.call(&mut store, (start as i32, input.len() as i32))? as u64;
            output.clear();
            output.resize((packed >> 32) as usize, 0);
            memory.read_exact(&store, packed as u32 as usize, output)
        };
        run().map_err(Error::runtime(ID, "call the guest through its raw interface"))
    })))
}
