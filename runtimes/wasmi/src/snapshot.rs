//! The state of a clean instance outside its memory: mutable globals, tables and the host's
//! allocator.

use crate::running::Running;
use touchstone_executor::abi::Live;
use touchstone_executor::guest::ModuleInfo;
use touchstone_executor::host::CleanHost;
use touchstone_executor::{Error, Result};
use wasmi::{Global, Ref, Table, TableType, Val};

/// The state of an instance right after instantiation.
pub(crate) struct Snapshot {
    host: CleanHost,
    globals: Vec<(Global, Val)>,
    tables: Vec<SavedTable>,
}

/// A table and a copy of it in the same store.
struct SavedTable {
    table: Table,
    copy: Table,
    size: u64,
}

impl Snapshot {
    /// Saves the state. Rewriting has exported all of it.
    pub(crate) fn take(
        engine: &'static str,
        running: &mut Running,
        info: &ModuleInfo,
    ) -> Result<Self> {
        let lost = |what: &str, index: u32| {
            Error::runtime(engine, "save the clean state")(format!(
                "{what} {index} is not exported"
            ))
        };
        let instance = running.instance;
        let mut globals = Vec::with_capacity(info.mutable_globals.len());
        for global in &info.mutable_globals {
            let name = global.export.as_deref().ok_or_else(|| lost("global", global.index))?;
            let store = running.home.store();
            let found =
                instance.get_global(&store, name).ok_or_else(|| lost("global", global.index))?;
            globals.push((found, found.get(&store)));
        }
        let mut tables = Vec::new();
        if info.writes_tables {
            for table in &info.tables {
                let name = table.export.as_deref().ok_or_else(|| lost("table", table.index))?;
                let store = running.home.store();
                let found =
                    instance.get_table(&store, name).ok_or_else(|| lost("table", table.index))?;
                tables.push(SavedTable::of(engine, running, found)?);
            }
        }
        Ok(Self { host: running.host().save(), globals, tables })
    }

    /// `true` if the tables have their initial sizes, which nothing can restore.
    pub(crate) fn sizes_are_kept(&self, running: &mut Running) -> bool {
        self.tables.iter().all(|saved| saved.table.size(running.home.store()) == saved.size)
    }

    /// Restores the state.
    pub(crate) fn restore(&self, engine: &'static str, running: &mut Running) -> Result<()> {
        let failed = || Error::runtime(engine, "restore the clean state");
        running.host().reset_to(&self.host);
        for (global, value) in &self.globals {
            global
                .set(running.home.store(), value.clone())
                .map_err(|error| failed()(error.to_string()))?;
        }
        for SavedTable { table, copy, size } in &self.tables {
            Table::copy(running.home.store(), table, 0, copy, 0, *size)
                .map_err(|error| failed()(error.to_string()))?;
        }
        Ok(())
    }
}

impl SavedTable {
    fn of(engine: &'static str, running: &mut Running, table: Table) -> Result<Self> {
        let mut store = running.home.store();
        let size = table.size(&store);
        let element = table.ty(&store).element();
        let ty = TableType::new(element, u32::try_from(size).unwrap_or(u32::MAX), None);
        let failed = |error: String| Error::runtime(engine, "save a table")(error);
        let copy = Table::new(&mut store, ty, Ref::null(element))
            .map_err(|error| failed(error.to_string()))?;
        Table::copy(&mut store, &copy, 0, &table, 0, size)
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self { table, copy, size })
    }
}
