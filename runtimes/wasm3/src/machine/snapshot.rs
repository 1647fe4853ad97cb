//! Saves and restores the state of a clean machine outside its memory.

use super::Machine;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use touchstone_executor::adapter::CleanHost;
use touchstone_executor::guest::ShortName;
use touchstone_executor::{Error, Result};
use wasm3_sys as ffi;

/// A global of the module and its first value.
struct SavedGlobal(ffi::IM3Global, ffi::M3TaggedValue);

/// The clean state beside the memory.
pub(super) struct Snapshot {
    host: CleanHost,
    globals: Vec<SavedGlobal>,
    /// All entries of each table, which point into the module.
    tables: Vec<Vec<*mut c_void>>,
}

// SAFETY: the pointers are used only by the machine that they come from, which owns this value.
unsafe impl Send for Snapshot {}

impl Machine {
    /// Saves everything except the memory's content, and releases the compiler's memory.
    pub(crate) fn save(&mut self) -> Result<()> {
        let program = Arc::clone(&self.shared.program);
        let mut globals = Vec::with_capacity(program.globals.len());
        for index in &program.globals {
            let name = CString::from(ShortName::Global(*index));
            // SAFETY: the module is loaded, and a global never moves in it.
            unsafe {
                let global = ffi::m3_FindGlobal(self.handle.module.cast(), name.as_ptr());
                let mut value = std::mem::zeroed();
                let result = ffi::m3_GetGlobal(global, &raw mut value);
                self.plain(result).map_err(Error::runtime(program.engine, "save a global"))?;
                globals.push(SavedGlobal(global, value));
            }
        }
        let tables = (0..program.tables)
            // SAFETY: `index` is below the module's number of tables.
            .map(|index| unsafe {
                let table = &*(*self.handle.module).tables.add(index);
                match table.size {
                    0 => Vec::new(),
                    size => std::slice::from_raw_parts(table.elements, size as usize).to_vec(),
                }
            })
            .collect();
        let host = self.state().host.save();
        self.snapshot = Some(Snapshot { host, globals, tables });
        self.release(0);
        Ok(())
    }

    /// Restores the saved state and the lent memory. `false` if Wasm3 failed to compile a function
    /// in it; the machine must then not be used, as after an error.
    pub(crate) fn restore(&mut self) -> Result<bool> {
        if self.broken {
            return Ok(false);
        }
        let Some(snapshot) = &self.snapshot else {
            return Err(Error::Misuse("no clean state was saved"));
        };
        // SAFETY: nothing runs. Globals and tables are those of this machine's module. A table's
        // storage only grows, so the saved entries fit.
        unsafe {
            for SavedGlobal(global, value) in &snapshot.globals {
                let result = ffi::m3_SetGlobal(*global, (&raw const *value).cast_mut());
                let failed = Error::runtime(self.program().engine, "restore a global");
                self.plain(result).map_err(failed)?;
            }
            for (index, entries) in snapshot.tables.iter().enumerate() {
                let table = &mut *(*self.handle.module).tables.add(index);
                if !entries.is_empty() {
                    table.elements.copy_from_nonoverlapping(entries.as_ptr(), entries.len());
                }
                table.size = entries.len() as u32;
            }
            let state = &mut *self.handle.state;
            state.host.reset_to(&snapshot.host);
            if let Some(lent) = &mut state.lent {
                lent.clean()?;
                lent.announce(self.handle.runtime);
            }
        }
        self.run_ended();
        Ok(true)
    }
}
