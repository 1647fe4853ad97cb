//! One instance for all calls, reset in place: memory, mutable globals, tables. Where the
//! module has entries, the next use restores the globals when it enters: to set one from here
//! takes Wasmtime 20 to 25 ns (2026-11-25, AMD EPYC).

use crate::live::Running;
use crate::module::ModuleData;
use std::sync::Arc;
use touchstone_executor::adapter::{NOT_EXPORTED, Resident, Snapshot, Stateful};
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{Error, Result};
use touchstone_wasmtime_memory::parts::{Restored, SavedTable, place_of};
use wasmtime::{Global, Memory, Val};

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
        let mut running = Running::alone(shared)?;
        running.save()?;
        let snapshot = match shared.saves {
            Some(_) => Snapshot::without_globals(&mut running, shared.guest.info())?,
            None => Snapshot::take(&mut running, shared.guest.info())?,
        };
        let memory = match running.memory() {
            Some(memory) => {
                let place = place_of(running.store(), &memory)
                    .map_err(Error::runtime(running.engine(), "look up the memory"))?
                    .ok_or(Error::Misuse("the memory is not Touchstone's"))?;
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
    type Table = SavedTable;

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
        let instance = self.instance;
        let table = instance.get_table(self.store(), name).ok_or(NOT_EXPORTED)?;
        let engine = self.engine();
        SavedTable::new(self.store(), table).map_err(Error::runtime(engine, "copy a table"))
    }

    #[inline]
    fn restore_table(&mut self, table: &Self::Table) -> Result<bool> {
        let restored = table.restore(self.store());
        restored.map_err(Error::runtime(self.engine(), "restore a table"))
    }
}
