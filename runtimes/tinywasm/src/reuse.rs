//! One instance for all calls, reset in place.

use crate::engine::ID;
use crate::module::ModuleData;
use crate::running::Running;
use tinywasm::types::WasmValue;
use tinywasm::{Global, Table};
use touchstone_executor::adapter::{
    CleanContent, InPlace, Live, LoadedGuest, NOT_EXPORTED, Stateful,
};
use touchstone_executor::memory::Resetter;
use touchstone_executor::{Error, Result};

// SAFETY: the memory comes from a pool without a template: page-aligned, private, at its place
// until the store is dropped with the instance, which alone has it.
unsafe impl InPlace for Running {
    fn parts(shared: &ModuleData) -> (&LoadedGuest, &CleanContent) {
        (&shared.guest, &shared.content)
    }

    fn reset_memory(&mut self, size: usize, resetter: Option<&mut Resetter>) -> Result<bool> {
        // A call that panicked has left its host behind.
        if self.caged.host().is_none() {
            return Ok(false);
        }
        let open = self.memory().len();
        let Some(resetter) = resetter else { return Ok(open == size) };
        // SAFETY: nothing runs, and no slice of the memory is alive. The mapping is open up to the
        // memory's size: it was opened before the memory had that size. Whoever grows it again
        // finds zeros.
        unsafe { resetter.reset(open) }?;
        // The rest stays open: tinywasm compares with the size.
        Ok(open == size || self.caged.shrink_memory(size))
    }
}

impl Stateful for Running {
    type Global = (Global, WasmValue);
    type Table = (Table, Vec<WasmValue>);

    fn save_global(&mut self, name: &str) -> Result<Self::Global> {
        let (instance, store) = self.caged.instance_and_store();
        let global = instance.global(name).map_err(|_| NOT_EXPORTED)?;
        let value = global.get(store).map_err(Error::runtime(ID, "save a global"))?;
        Ok((global, value))
    }

    fn restore_global(&mut self, (global, value): &Self::Global) -> Result<()> {
        let (_, store) = self.caged.instance_and_store();
        global.set(store, *value).map_err(Error::runtime(ID, "restore a global"))
    }

    fn save_table(&mut self, name: &str) -> Result<Self::Table> {
        let (instance, store) = self.caged.instance_and_store();
        let table = instance.table(name).map_err(|_| NOT_EXPORTED)?;
        let entries = table
            .size(store)
            .and_then(|size| table.load(store, 0, size))
            .map_err(Error::runtime(ID, "save a table"))?;
        Ok((table, entries.collect()))
    }

    fn restore_table(&mut self, (table, entries): &Self::Table) -> Result<bool> {
        let (_, store) = self.caged.instance_and_store();
        if table.size(store).ok() != Some(entries.len()) {
            return Ok(false);
        }
        for (index, entry) in (0..).zip(entries) {
            table.set(store, index, *entry).map_err(Error::runtime(ID, "restore a table"))?;
        }
        Ok(true)
    }
}
