//! The state of a clean instance outside its memory: mutable globals, tables and the host's
//! allocator.

use crate::api::{self, Global, Table};
use crate::running::Running;
use touchstone_executor::adapter::{CleanHost, Live};
use touchstone_executor::{Error, Result};
use wasmedge_sys::ffi;

/// The state of an instance right after instantiation, for that instance only.
pub(crate) struct Snapshot {
    host: CleanHost,
    globals: Vec<(Global, ffi::WasmEdge_Value)>,
    tables: Vec<(Table, Vec<ffi::WasmEdge_Value>)>,
}

// SAFETY: numbers, references to functions of one instance, and pointers to its parts, used with
// that instance only, which is `Send`.
unsafe impl Send for Snapshot {}

impl Snapshot {
    /// Saves the state. Rewriting has exported all of it.
    pub(crate) fn take(running: &mut Running) -> Result<Self> {
        let shared = std::sync::Arc::clone(&running.slot.shared);
        let (engine, info) = (shared.guest.engine, shared.info());
        let lost = |what: &str| {
            Error::runtime(engine, "save the clean state")(format!("a {what} is not exported"))
        };
        let instance = running.slot.instance().ok_or_else(|| lost("memory"))?;
        let mut globals = Vec::new();
        for global in &info.mutable_globals {
            let name = global.export.as_deref();
            let global =
                name.and_then(|name| instance.global(name)).ok_or_else(|| lost("global"))?;
            // SAFETY: the global is of the live instance.
            let value = unsafe { ffi::WasmEdge_GlobalInstanceGetValue(global.as_ptr()) };
            globals.push((global, value));
        }
        let mut tables = Vec::new();
        for table in info.tables.iter().filter(|_| info.writes_tables) {
            let table = table
                .export
                .as_deref()
                .and_then(|name| instance.table(name))
                .ok_or_else(|| lost("table"))?;
            let entries = (0..size(table)).map(|index| entry(table, index));
            let entries = entries.collect::<Result<_, _>>();
            tables.push((table, entries.map_err(Error::runtime(engine, "save a table"))?));
        }
        Ok(Self { host: running.host().save(), globals, tables })
    }

    /// `true` if the tables have their initial sizes, which nothing can restore.
    pub(crate) fn sizes_are_kept(&self) -> bool {
        self.tables.iter().all(|(table, entries)| size(*table) == entries.len() as u64)
    }

    /// Restores the state, in the instance that it was taken from.
    pub(crate) fn restore(&self, running: &mut Running) -> Result<()> {
        let failed = || Error::runtime(running.slot.shared.guest.engine, "restore the clean state");
        for (global, value) in &self.globals {
            // SAFETY: the global is of the live instance, and the value came from it.
            let set = unsafe { ffi::WasmEdge_GlobalInstanceSetValue(global.as_ptr(), *value) };
            api::check(set).map_err(failed())?;
        }
        for (table, entries) in &self.tables {
            for (index, value) in entries.iter().enumerate() {
                // SAFETY: the table is of the instance, and so is a function that the value names.
                let set = unsafe {
                    ffi::WasmEdge_TableInstanceSetData(table.as_ptr(), *value, index as u64)
                };
                api::check(set).map_err(failed())?;
            }
        }
        running.host().reset_to(&self.host);
        Ok(())
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
