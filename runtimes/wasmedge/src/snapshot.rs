//! Saved and restored globals and tables.

use crate::api::{self, Global, Table};
use crate::running::Running;
use touchstone_executor::Result;
use touchstone_executor::adapter::{NOT_EXPORTED, Stateful};
use wasmedge_sys::ffi;

/// A part of one instance and its clean value.
pub(crate) struct Saved<P, V>(P, V);

// SAFETY: numbers, references to functions of one instance, and pointers to its parts, used with
// that instance only, which is `Send`.
unsafe impl<P, V> Send for Saved<P, V> {}

impl Stateful for Running {
    type Global = Saved<Global, ffi::WasmEdge_Value>;
    type Table = Saved<Table, Vec<ffi::WasmEdge_Value>>;

    fn save_global(&mut self, name: &str) -> Result<Self::Global> {
        let found = self.slot.instance().and_then(|instance| instance.global(name));
        let global = found.ok_or(NOT_EXPORTED)?;
        // SAFETY: the global is of the live instance.
        let value = unsafe { ffi::WasmEdge_GlobalInstanceGetValue(global.as_ptr()) };
        Ok(Saved(global, value))
    }

    fn restore_global(&mut self, Saved(global, value): &Self::Global) -> Result<()> {
        // SAFETY: the global is of the live instance, and the value came from it.
        let set = unsafe { ffi::WasmEdge_GlobalInstanceSetValue(global.as_ptr(), *value) };
        api::check(set).map_err(self.failed("restore a global"))
    }

    fn save_table(&mut self, name: &str) -> Result<Self::Table> {
        let found = self.slot.instance().and_then(|instance| instance.table(name));
        let table = found.ok_or(NOT_EXPORTED)?;
        let entries = (0..size(table)).map(|index| entry(table, index)).collect::<Result<_, _>>();
        Ok(Saved(table, entries.map_err(self.failed("save a table"))?))
    }

    fn restore_table(&mut self, Saved(table, entries): &Self::Table) -> Result<bool> {
        if size(*table) != entries.len() as u64 {
            return Ok(false);
        }
        for (value, index) in entries.iter().zip(0..) {
            // SAFETY: the table is of the instance, and so is a function that the value names.
            let set = unsafe { ffi::WasmEdge_TableInstanceSetData(table.as_ptr(), *value, index) };
            api::check(set).map_err(self.failed("restore a table"))?;
        }
        Ok(true)
    }
}

fn size(table: Table) -> u64 {
    // SAFETY: the table is of a live instance.
    unsafe { ffi::WasmEdge_TableInstanceGetSize(table.as_ptr()) }
}

fn entry(table: Table, index: u64) -> Result<ffi::WasmEdge_Value, api::Failure> {
    // SAFETY: makes a value, which the next call overwrites.
    let mut value = unsafe { ffi::WasmEdge_ValueGenI32(0) };
    // SAFETY: the table is of a live instance; the library checks the index.
    let got = unsafe { ffi::WasmEdge_TableInstanceGetData(table.as_ptr(), &raw mut value, index) };
    api::check(got).map(|()| value)
}
