//! One instance for all calls, reset in place: memory, mutable globals, tables.

use crate::engine::ID;
use crate::module::Shared;
use crate::running::{Kept, Running};
use std::sync::Arc;
use tinywasm::types::WasmValue;
use tinywasm::{ExternItem, Global, Table};
use touchstone_executor::abi::Live;
use touchstone_executor::host::CleanHost;
use touchstone_executor::memory::{InitialContent, MemoryTemplate, Resetter, ResetterMut};
use touchstone_executor::{Error, Result, driver};

/// An instance and what it looked like when it was new.
pub(crate) struct Resident {
    /// Dropped before the instance, whose memory it looks after.
    resetter: Option<Resetter>,
    running: Running,
    globals: Vec<(Global, WasmValue)>,
    /// Tables that the guest can write, with their first entries.
    tables: Vec<(Table, Vec<WasmValue>)>,
    /// The host's allocator after the start function, which may have allocated.
    host: CleanHost,
}

impl driver::Resident for Resident {
    type Shared = Shared;
    type Live = Running;

    fn new(shared: &Arc<Shared>) -> Result<Self> {
        let mut running = Running::instantiate(shared, Kept::new(shared))?;
        let exports = running.caged.exports();
        let globals = globals(shared, &exports, &mut running)?;
        let tables = tables(shared, &exports, &mut running)?;
        let template = match running.caged.memory() {
            Some(clean) => Some(match &shared.template {
                Some(template) => template.clone(),
                // A start function has run: only now the content is known.
                None => MemoryTemplate::new(InitialContent::capture(clean), shared.reset)?,
            }),
            None => None,
        };
        let mut resetter = None;
        if let (Some(template), Some(base)) = (&template, running.caged.base()) {
            // SAFETY: the memory comes from a pool without a template:
            // page-aligned, private, of the template's size, and only this instance has it;
            // no slice of it is alive. All that is not zero in it now is part of the content.
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
        // After a panic in a call, which left its host behind.
        if self.running.caged.host().is_none() {
            return Ok(false);
        }
        if let Some(resetter) = &mut self.resetter {
            let (first, open) = (resetter.template().size(), self.running.memory().len());
            // SAFETY: the instance is not running, and `&mut self` keeps it so; the
            // slice above is used no more. So much of the mapping is open: it was before
            // the memory had that size. Whoever grows it again finds zeros.
            unsafe { resetter.reset_grown(open) }?;
            // What lies behind stays open: tinywasm compares with the size.
            if open != first && !self.running.caged.shrink_memory(first) {
                return Ok(false);
            }
        }
        let store = self.running.caged.store();
        for (global, value) in &self.globals {
            global.set(store, *value).map_err(Error::runtime(ID, "restore a global"))?;
        }
        for (table, entries) in &self.tables {
            if table.size(store).ok() != Some(entries.len()) {
                return Ok(false);
            }
            for (index, entry) in entries.iter().enumerate() {
                table
                    .set(store, index as u32, *entry)
                    .map_err(Error::runtime(ID, "restore a table"))?;
            }
        }
        self.running.host().reset_to(&self.host);
        Ok(true)
    }
}

/// Mutable globals with their first values.
fn globals(
    shared: &Shared,
    exports: &[ExternItem],
    running: &mut Running,
) -> Result<Vec<(Global, WasmValue)>> {
    shared
        .mutable_globals
        .iter()
        .map(|position| match exports.get(*position) {
            Some(&ExternItem::Global(global)) => {
                let value = global
                    .get(running.caged.store())
                    .map_err(Error::runtime(ID, "save a global"))?;
                Ok((global, value))
            }
            _ => Err(Error::Misuse("a mutable global that is not exported")),
        })
        .collect()
}

/// Tables with their first entries, where the guest can write them.
fn tables(
    shared: &Shared,
    exports: &[ExternItem],
    running: &mut Running,
) -> Result<Vec<(Table, Vec<WasmValue>)>> {
    shared
        .written_tables
        .iter()
        .map(|position| match exports.get(*position) {
            Some(&ExternItem::Table(table)) => {
                let store = running.caged.store();
                let entries = table
                    .size(store)
                    .and_then(|size| table.load(store, 0, size))
                    .map_err(Error::runtime(ID, "save a table"))?;
                Ok((table, entries.collect()))
            }
            _ => Err(Error::Misuse("a written table that is not exported")),
        })
        .collect()
}
