//! One instance for all calls, reset in place.

use crate::module::ModuleData;
use crate::running::Running;
use crate::settings::ID;
use touchstone_executor::adapter::{
    CleanContent, InPlace, Live, LoadedGuest, NOT_EXPORTED, Stateful,
};
use touchstone_executor::memory::Resetter;
use touchstone_executor::{Error, Result};
use wasmer::{Global, Table, Value};

// SAFETY: the memory is one of Touchstone's (`Memories` without a template): page-aligned, private,
// at its place until the store is dropped with the instance, which alone has it.
unsafe impl InPlace for Running {
    fn parts(shared: &ModuleData) -> (&LoadedGuest, &CleanContent) {
        (&shared.guest, &shared.content)
    }

    fn reset_memory(&mut self, size: usize, resetter: Option<&mut Resetter>) -> Result<bool> {
        if self.memory().len() != size {
            return Ok(false);
        }
        if let Some(resetter) = resetter {
            // SAFETY: nothing runs, and no slice of the memory is alive.
            unsafe { resetter.reset(size) }?;
        }
        Ok(true)
    }
}

impl Stateful for Running {
    type Global = (Global, Value);
    /// Not as a table of the same store: `Table::copy` of Wasmer 7.3 panics on two tables.
    type Table = (Table, Vec<Value>);

    fn save_global(&mut self, name: &str) -> Result<Self::Global> {
        let global = self.instance.exports.get_global(name).map_err(|_| NOT_EXPORTED)?.clone();
        let value = global.get(&mut self.store);
        Ok((global, value))
    }

    fn restore_global(&mut self, (global, value): &Self::Global) -> Result<()> {
        global.set(&mut self.store, value.clone()).map_err(Error::runtime(ID, "restore a global"))
    }

    fn save_table(&mut self, name: &str) -> Result<Self::Table> {
        let table = self.instance.exports.get_table(name).map_err(|_| NOT_EXPORTED)?.clone();
        let size = table.size(&self.store);
        let entry =
            |index| table.get(&mut self.store, index).ok_or(Error::Misuse("a table that shrinks"));
        let entries = (0..size).map(entry).collect::<Result<_>>()?;
        Ok((table, entries))
    }

    fn restore_table(&mut self, (table, entries): &Self::Table) -> Result<bool> {
        if table.size(&self.store) as usize != entries.len() {
            return Ok(false);
        }
        for (index, entry) in (0..).zip(entries) {
            table
                .set(&mut self.store, index, entry.clone())
                .map_err(Error::runtime(ID, "restore a table"))?;
        }
        Ok(true)
    }
}
