//! One instance for all calls, reset in place: memory, mutable globals, tables.

use crate::memory::bytes;
use crate::module::Shared;
use crate::running::Running;
use crate::settings::ID;
use std::sync::Arc;
use touchstone_executor::abi::Live;
use touchstone_executor::host::CleanHost;
use touchstone_executor::memory::{InitialContent, MemoryTemplate, Resetter, ResetterMut};
use touchstone_executor::{Error, Result, driver};
use wasmer::{Extern, Global, Table, Value};

/// An instance and what it looked like when it was new.
pub(crate) struct Resident {
    /// Dropped before the instance, whose memory it looks after.
    resetter: Option<Resetter>,
    running: Running,
    globals: Vec<(Global, Value)>,
    /// Tables that the guest can write, with their first entries. Not as a table
    /// of the same store: `Table::copy` of Wasmer 7.3 panics on two tables.
    tables: Vec<(Table, Vec<Value>)>,
    /// The host's allocator after the start function, which may have allocated.
    host: CleanHost,
}

impl driver::Resident for Resident {
    type Shared = Shared;
    type Live = Running;

    fn new(shared: &Arc<Shared>) -> Result<Self> {
        let mut running = Running::instantiate(shared, shared.new_host())?;
        let globals = globals(shared, &mut running)?;
        let tables = tables(shared, &mut running)?;
        let template = match running.memory_bytes() {
            Some(clean) => Some(match &shared.template {
                Some(template) => template.clone(),
                // A start function has run: only now the content is known.
                None => MemoryTemplate::new(InitialContent::capture(clean), shared.reset)?,
            }),
            None => None,
        };
        let mut resetter = None;
        // A memory without pages has no place of its own.
        if let Some(template) = template.as_ref().filter(|template| template.size() > 0) {
            let base = running.memory().as_mut_ptr();
            // SAFETY: the memory is one of Touchstone's (`Memories` without a template):
            // page-aligned, private, of the template's size, and only this instance
            // has it. All that is not zero in it now is part of the content.
            // It is dropped after the resetter, and written no more then.
            resetter = Some(unsafe { template.install(base) }?);
        }
        let host = running.host().save();
        Ok(Self { resetter, running, globals, tables, host })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.resetter.as_mut().map(|resetter| work(resetter.into()))
    }

    fn reset(&mut self) -> Result<bool> {
        let store = &mut self.running.store;
        if let Some(memory) = &self.running.memory {
            // SAFETY: the instance is not running, and `&mut self` keeps it so;
            // only address and length are taken.
            let used = unsafe { bytes(memory, store) };
            let clean = self.resetter.as_ref().map_or(0, |resetter| resetter.template().size());
            if used.len() != clean {
                return Ok(false);
            }
            if let Some(resetter) = &mut self.resetter {
                // SAFETY: nothing runs, and the slice above is used no more.
                unsafe { resetter.reset() }?;
            }
        }
        for (global, value) in &self.globals {
            global.set(store, value.clone()).map_err(Error::runtime(ID, "restore a global"))?;
        }
        for (table, entries) in &self.tables {
            if table.size(store) as usize != entries.len() {
                return Ok(false);
            }
            for (index, entry) in (0..).zip(entries) {
                table
                    .set(store, index, entry.clone())
                    .map_err(Error::runtime(ID, "restore a table"))?;
            }
        }
        self.running.host().reset_to(&self.host);
        Ok(true)
    }
}

/// Mutable globals with their first values.
fn globals(shared: &Shared, running: &mut Running) -> Result<Vec<(Global, Value)>> {
    shared
        .mutable_globals
        .iter()
        .map(|position| match running.export(*position) {
            Some(Extern::Global(global)) => {
                let global = global.clone();
                let value = global.get(&mut running.store);
                Ok((global, value))
            }
            _ => Err(Error::Misuse("a mutable global that is not exported")),
        })
        .collect()
}

/// Tables with their first entries, where the guest can write them.
fn tables(shared: &Shared, running: &mut Running) -> Result<Vec<(Table, Vec<Value>)>> {
    shared
        .written_tables
        .iter()
        .map(|position| match running.export(*position) {
            Some(Extern::Table(table)) => {
                let table = table.clone();
                let store = &mut running.store;
                let entries = (0..table.size(store)).map(|index| {
                    table.get(store, index).ok_or(Error::Misuse("a table that shrinks"))
                });
                let entries = entries.collect::<Result<_>>()?;
                Ok((table, entries))
            }
            _ => Err(Error::Misuse("a written table that is not exported")),
        })
        .collect()
}
