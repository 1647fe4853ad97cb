//! How the memories inside a component are mapped.
//!
//! Wasmtime shows nobody a component's memories. Its own are therefore looked at on a
//! small core module in the same engine; those of ours, where we gave them.

use super::memories::ComponentMemories;
use crate::deadline::FAR;
use touchstone_executor::adapter::{MappingKind, NO_ANSWER, mapping_in_words, mapping_kind};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, Result, Strategy};
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
    let module = wasmtime::Module::new(engine, SMALL_MODULE)?;
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

/// A memory with data.
const SMALL_MODULE: &[u8] = &[
    0, b'a', b's', b'm', 1, 0, 0, 0, // magic and version
    5, 3, 1, 0, 1, // a memory of at least a page
    7, 10, 1, 6, b'm', b'e', b'm', b'o', b'r', b'y', 2, 0, // exported as `MEMORY`
    11, 10, 1, 0, 0x41, 0, 0x0b, 4, b'd', b'a', b't', b'a', // its data, at address 0
];
