//! How the memories inside a component are mapped.
//!
//! Wasmtime shows nobody a component's memories. Its own are therefore looked at on a
//! small core module in the same engine; those of ours, where we gave them.

use super::memories::ComponentMemories;
use crate::deadline::FAR;
use touchstone_executor::adapter::{MappingKind, NO_ANSWER, mapping_in_words, mapping_kind};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, Result, Strategy};
use wasm_encoder::{
    ConstExpr, DataSection, ExportKind, ExportSection, MemorySection, MemoryType, Module,
};
use wasmtime::{Engine, Instance, Store};

/// The mapping of a component's memories.
pub(crate) fn memory(
    id: &'static str,
    engine: &Engine,
    own: Option<&ComponentMemories>,
    strategy: Strategy,
) -> Result<String> {
    let (seen, where_seen) = match own {
        Some(own) => match own.last() {
            Some(start) => (mapping_kind(start), ""),
            None => return Ok("not probed: the component has no data".to_owned()),
        },
        None => {
            let seen = of_small_module(engine)
                .map_err(Error::runtime(id, "run the probe of its memories"))?;
            (seen, " (seen on a core module of the adapter's own under the same settings)")
        }
    };
    let words = mapping_in_words(id, strategy, seen)?;
    Ok(words.map_or_else(|| NO_ANSWER.to_owned(), |words| format!("{words}{where_seen}")))
}

fn of_small_module(engine: &Engine) -> wasmtime::Result<Option<MappingKind>> {
    let module = wasmtime::Module::new(engine, small_module())?;
    let mut store = Store::new(engine, ());
    // Its memory is initialised by code, which a deadline stops at once where none was
    // set; without epochs nobody asks.
    store.set_epoch_deadline(FAR);
    // The same for fuel: without a meter, there is no tank, and nothing is lost.
    let _ = store.set_fuel(u64::MAX);
    let instance = Instance::new(&mut store, &module, &[])?;
    let memory = instance.get_memory(&mut store, MEMORY);
    Ok(memory.and_then(|memory| mapping_kind(memory.data_ptr(&store) as usize)))
}

fn small_module() -> Vec<u8> {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export(MEMORY, ExportKind::Memory, 0);
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(0), *b"data");
    let mut module = Module::new();
    module.section(&memories).section(&exports).section(&data);
    module.finish()
}
