//! Counting operators by Wasmtime's fuel.

use touchstone_executor::Error;
use touchstone_executor::Result;
use wasmtime::{OperatorCost, Store, VariableOperatorCost};

/// Fuel of a metered store at first: more than any call needs.
const FULL: u64 = u64::MAX;

/// Makes code that counts: each operator as Wasmtime has it by default, and nothing for the length
/// of bulk operators, so that a count does not depend on how a runtime carries them out.
pub(crate) fn tune(settings: &mut wasmtime::Config) {
    let variable = VariableOperatorCost {
        memory_copy_per_byte: 0,
        memory_fill_per_byte: 0,
        memory_init_per_byte: 0,
        memory_grow_per_page: 0,
        table_copy_per_element: 0,
        table_fill_per_element: 0,
        table_init_per_element: 0,
        table_grow_per_element: 0,
        array_copy_per_element: 0,
        array_fill_per_element: 0,
        array_new_data_per_element: 0,
        array_init_data_per_element: 0,
        array_new_elem_per_element: 0,
        array_init_elem_per_element: 0,
        array_new_default_per_element: 0,
        array_new_per_element: 0,
    };
    settings.consume_fuel(true).operator_cost(OperatorCost { variable, ..OperatorCost::new() });
}

/// Fills a new store's tank; a start function runs on it too.
pub(crate) fn fill<T>(id: &'static str, store: &mut Store<T>) -> Result<()> {
    set(id, store, FULL)
}

pub(crate) fn left<T>(id: &'static str, store: &Store<T>) -> Result<u64> {
    store.get_fuel().map_err(Error::runtime(id, "read its fuel"))
}

pub(crate) fn set<T>(id: &'static str, store: &mut Store<T>, fuel: u64) -> Result<()> {
    store.set_fuel(fuel).map_err(Error::runtime(id, "set its fuel"))
}

/// Fuel that was used since; `None` in a store that is not metered.
pub(crate) fn used<T>(store: &Store<T>) -> Option<u64> {
    Some(FULL - store.get_fuel().ok()?)
}
