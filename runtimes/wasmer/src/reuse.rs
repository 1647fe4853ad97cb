//! One instance for all calls, reset in place.

use crate::memory::bytes;
use crate::module::ModuleData;
use crate::running::Running;
use crate::settings::ID;
use std::sync::Arc;
use touchstone_executor::adapter::{Live, NOT_EXPORTED, Resident, Snapshot, Stateful};
use touchstone_executor::memory::{Resetter, ResetterMut};
use touchstone_executor::{Error, Result};
use wasmer::{Global, Table, Value};

/// An instance with its clean state.
pub(crate) struct ReusedInstance {
    /// Dropped before the instance, which has its memory.
    resetter: Option<Resetter>,
    running: Running,
    snapshot: Snapshot<Running>,
}

impl Resident for ReusedInstance {
    type Shared = ModuleData;
    type Live = Running;

    fn new(shared: &Arc<ModuleData>) -> Result<Self> {
        let mut running = Running::instantiate(shared, shared.guest.new_host())?;
        let snapshot = Snapshot::take(&mut running, shared.guest.info())?;
        let template = running.memory_bytes().map(|memory| shared.content.template(ID, memory));
        let mut resetter = None;
        // A memory without pages has no place of its own.
        if let Some(template) = template.transpose()?.filter(|template| template.size() > 0) {
            let base = running.memory().as_mut_ptr();
            // SAFETY: the memory is one of Touchstone's (`Memories` without a template):
            // page-aligned, private, of the template's size, and only this instance has it. All
            // that is not zero in it is part of the content. It is dropped after the resetter, and
            // not written any more then.
            resetter = Some(unsafe { template.install(base) }?);
        }
        Ok(Self { resetter, running, snapshot })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.resetter.as_mut().map(|resetter| work(resetter.into()))
    }

    fn reset(&mut self) -> Result<bool> {
        if let Some(memory) = &self.running.memory {
            // SAFETY: the instance is not running, and `&mut self` keeps it so; only the length is
            // taken.
            let used = unsafe { bytes(memory, &self.running.store) }.len();
            let clean = self.resetter.as_ref().map_or(0, |resetter| resetter.template().size());
            if used != clean {
                return Ok(false);
            }
            if let Some(resetter) = &mut self.resetter {
                // SAFETY: nothing runs, and the slice above is not used any more.
                unsafe { resetter.reset(clean) }?;
            }
        }
        self.snapshot.restore(&mut self.running)
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
