//! One instance for all calls, reset in place.

use crate::engine::ID;
use crate::module::ModuleData;
use crate::running::{Kept, Running};
use std::sync::Arc;
use tinywasm::types::WasmValue;
use tinywasm::{Global, Table};
use touchstone_executor::adapter::{Live, NOT_EXPORTED, Resident, Snapshot, Stateful};
use touchstone_executor::memory::{Resetter, ResetterMut};
use touchstone_executor::{Error, Result};

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
        let mut running = Running::instantiate(shared, Kept::new(shared))?;
        let snapshot = Snapshot::take(&mut running, shared.guest.info())?;
        let template = running.caged.memory().map(|memory| shared.content.template(ID, memory));
        let mut resetter = None;
        if let (Some(template), Some(base)) = (template.transpose()?, running.caged.base()) {
            // SAFETY: the memory comes from a pool without a template: page-aligned, private, of
            // the template's size, and only this instance has it; no slice of it is alive. All that
            // is not zero in it is part of the content. It is dropped after the resetter, and not
            // written any more then.
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
        // A call that panicked has left its host behind.
        if self.running.caged.host().is_none() {
            return Ok(false);
        }
        if let Some(resetter) = &mut self.resetter {
            let (first, open) = (resetter.template().size(), self.running.memory().len());
            // SAFETY: the instance is not running, and `&mut self` keeps it so; the slice above is
            // not used any more. The mapping is open up to the memory's size: it was opened before
            // the memory had that size. Whoever grows it again finds zeros.
            unsafe { resetter.reset(open) }?;
            // The rest stays open: tinywasm compares with the size.
            if open != first && !self.running.caged.shrink_memory(first) {
                return Ok(false);
            }
        }
        self.snapshot.restore(&mut self.running)
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
