//! One instance for all calls, reset in place: memory, mutable globals, tables. Where the
//! module has entries, the next use restores the globals when it enters: to set one from here
//! takes Wasmtime 20 to 25 ns (2026-11-25, AMD EPYC).

use crate::live::Running;
use crate::module::ModuleData;
use crate::restored::Restored;
use crate::shrinking::collecting;
use std::sync::Arc;
use touchstone_executor::adapter::{NOT_EXPORTED, Resident, Snapshot, Stateful};
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{Error, Result};
use wasmtime::{Global, Memory, Ref, Table, TableType, Val};

/// An instance with its clean state.
pub(crate) struct ReusedInstance {
    /// The memory, as Wasmtime has it and with its reset; `None` where the module has none.
    memory: Option<(Memory, Restored)>,
    /// `true` if the last reset made the memory smaller.
    shrunk: bool,
    running: Running,
    snapshot: Snapshot<Running>,
}

impl Resident for ReusedInstance {
    type Shared = ModuleData;
    type Live = Running;

    fn new(shared: &Arc<ModuleData>) -> Result<Self> {
        let (running, places) = collecting(|| Running::alone(shared));
        let mut running = running?;
        running.save()?;
        let snapshot = match shared.saves {
            Some(_) => Snapshot::without_globals(&mut running, shared.guest.info())?,
            None => Snapshot::take(&mut running, shared.guest.info())?,
        };
        let memory = match running.memory() {
            Some(memory) => {
                let base = memory.data_ptr(running.store());
                let place = places.into_iter().find(|place| place.base() == base);
                let place = place.ok_or(Error::Misuse("the memory is not Touchstone's"))?;
                // SAFETY: the instance runs only in calls. This value's methods are called between
                // calls, by `&mut self`, so that no slice of the memory is alive.
                Some((memory, unsafe { Restored::new(place, shared.content.reset()) }?))
            }
            None => None,
        };
        Ok(Self { memory, shrunk: false, running, snapshot })
    }

    #[inline]
    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.memory.as_mut()?.1.with_resetter(work)
    }

    #[inline]
    fn may_have_shrunk(&self) -> bool {
        self.shrunk
    }

    #[inline]
    fn reset(&mut self) -> Result<bool> {
        if let Some((memory, restored)) = &mut self.memory {
            self.shrunk = restored.reset()?;
            // Growing by nothing: Wasmtime asks the memory for its size and address.
            if self.shrunk && memory.grow(self.running.store(), 0).is_err() {
                return Ok(false);
            }
        }
        let restored = self.snapshot.restore(&mut self.running);
        self.running.begin();
        restored
    }
}

impl Stateful for Running {
    type Global = (Global, Val);
    /// A table with a copy of its first entries in a table of the same store: copying back is one
    /// call.
    type Table = (Table, Table);

    fn save_global(&mut self, name: &str) -> Result<Self::Global> {
        let instance = self.instance;
        let global = instance.get_global(self.store(), name).ok_or(NOT_EXPORTED)?;
        let value = global.get(self.store());
        Ok((global, value))
    }

    #[inline]
    fn restore_global(&mut self, (global, value): &Self::Global) -> Result<()> {
        let set = global.set(self.store(), *value);
        set.map_err(Error::runtime(self.engine(), "restore a global"))
    }

    fn save_table(&mut self, name: &str) -> Result<Self::Table> {
        let (instance, engine) = (self.instance, self.engine());
        let failed = || Error::runtime(engine, "copy a table");
        let store = self.store();
        let table = instance.get_table(&mut *store, name).ok_or(NOT_EXPORTED)?;
        let size = table.size(&*store);
        // Guests are validated without tables with 64-bit indices.
        let minimum = u32::try_from(size).unwrap_or(u32::MAX);
        let ty = TableType::new(table.ty(&*store).element().clone(), minimum, None);
        let null = Ref::null(ty.element().heap_type());
        let copy = Table::new(&mut *store, ty, null).map_err(failed())?;
        Table::copy(&mut *store, &copy, 0, &table, 0, size).map_err(failed())?;
        Ok((table, copy))
    }

    #[inline]
    fn restore_table(&mut self, (table, first): &Self::Table) -> Result<bool> {
        let store = self.store();
        let size = first.size(&*store);
        if table.size(&*store) != size {
            return Ok(false);
        }
        Table::copy(store, table, 0, first, 0, size)
            .map_err(Error::runtime(self.engine(), "restore a table"))?;
        Ok(true)
    }
}
