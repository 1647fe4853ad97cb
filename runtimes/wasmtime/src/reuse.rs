//! One instance for all calls, reset in place: memory, mutable globals, tables. Where the
//! module has entries, the globals come back when the next use enters it: to set one from here
//! takes Wasmtime 20 to 25 ns (2026-11-25, AMD EPYC).

use crate::live::Running;
use crate::module::Shared;
use crate::restored::Restored;
use crate::shrinking::collecting;
use std::sync::Arc;
use touchstone_executor::host::CleanHost;
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{Error, Result, driver};
use wasmtime::{Extern, Global, Memory, Ref, Table, TableType, Val};

/// An instance and what it looked like when it was new.
pub(crate) struct Resident {
    /// The memory, as Wasmtime has it and as it is made clean; `None` where the module
    /// has none.
    memory: Option<(Memory, Restored)>,
    /// Whether the last reset made the memory smaller.
    shrunk: bool,
    running: Running,
    id: &'static str,
    globals: Vec<(Global, Val)>,
    /// Tables that the guest can write, each with a copy of its first entries
    /// in a table of the same store: copying back is one call.
    tables: Vec<(Table, Table)>,
    /// The host's allocator after the start function, which may have allocated.
    host: CleanHost,
}

impl driver::Resident for Resident {
    type Shared = Shared;
    type Live = Running;

    fn new(shared: &Arc<Shared>) -> Result<Self> {
        let (running, places) = collecting(|| Running::alone(shared));
        let mut running = running?;
        running.save()?;
        let globals = globals(shared, &mut running)?;
        let tables = tables(shared, &mut running)?;
        let memory = match running.memory() {
            Some(memory) => {
                let base = memory.data_ptr(running.store());
                let place = places.into_iter().find(|place| place.base() == base);
                let place = place.ok_or(Error::Misuse("the memory is not Touchstone's"))?;
                // SAFETY: the instance runs only in calls, between which, with no slice
                // alive by `&mut self`, this value's methods are called.
                Some((memory, unsafe { Restored::new(place, shared.reset) }?))
            }
            None => None,
        };
        let host = running.store().data_mut().save();
        Ok(Self { memory, shrunk: false, running, id: shared.id, globals, tables, host })
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

    fn reset(&mut self) -> Result<bool> {
        let store = self.running.store();
        if let Some((memory, restored)) = &mut self.memory {
            self.shrunk = restored.reset()?;
            // Growing by nothing: Wasmtime asks the memory for its size and address.
            if self.shrunk && memory.grow(&mut *store, 0).is_err() {
                return Ok(false);
            }
        }
        for (global, value) in &self.globals {
            global.set(&mut *store, *value).map_err(Error::runtime(self.id, "restore a global"))?;
        }
        for (table, first) in &self.tables {
            let size = first.size(&*store);
            if table.size(&*store) != size {
                return Ok(false);
            }
            Table::copy(&mut *store, table, 0, first, 0, size)
                .map_err(Error::runtime(self.id, "restore a table"))?;
        }
        store.data_mut().reset_to(&self.host);
        self.running.begin();
        Ok(true)
    }
}

/// Mutable globals with their first values.
fn globals(shared: &Shared, running: &mut Running) -> Result<Vec<(Global, Val)>> {
    let instance = running.instance;
    shared
        .mutable_globals
        .iter()
        .map(|export| match instance.get_module_export(running.store(), export) {
            Some(Extern::Global(global)) => {
                let value = global.get(running.store());
                Ok((global, value))
            }
            _ => Err(Error::Misuse("a mutable global that is not exported")),
        })
        .collect()
}

/// Tables with copies of their first entries, where the guest can write them.
fn tables(shared: &Shared, running: &mut Running) -> Result<Vec<(Table, Table)>> {
    let instance = running.instance;
    shared
        .written_tables
        .iter()
        .map(|export| match instance.get_module_export(running.store(), export) {
            Some(Extern::Table(table)) => {
                let store = running.store();
                let failed = || Error::runtime(shared.id, "copy a table");
                let size = table.size(&*store);
                // Tables with 64-bit indices are not among the features that
                // guests are validated for.
                let minimum = u32::try_from(size).unwrap_or(u32::MAX);
                let ty = TableType::new(table.ty(&*store).element().clone(), minimum, None);
                let null = Ref::null(ty.element().heap_type());
                let copy = Table::new(&mut *store, ty, null).map_err(failed())?;
                Table::copy(&mut *store, &copy, 0, &table, 0, size).map_err(failed())?;
                Ok((table, copy))
            }
            _ => Err(Error::Misuse("a written table that is not exported")),
        })
        .collect()
}
