//! One instance for all calls, reset in place: memory, mutable globals, tables.

use crate::engine::ID;
use crate::module::Shared;
use crate::running::Running;
use std::sync::Arc;
use tinywasm::types::WasmValue;
use tinywasm::{ExternItem, Global, Table};
use touchstone_executor::abi::Live;
use touchstone_executor::heap::Heap;
use touchstone_executor::memory::{InitialMemory, Plan, Reset};
use touchstone_executor::{CallState, Error, ExportId, Instance, Outcome, Result, abi};

/// Resets in `finish`, so that an idle instance is clean and small.
pub(crate) struct Reused {
    shared: Arc<Shared>,
    reset: Reset,
    /// `None` before the first call and after growth.
    resident: Option<Resident>,
    state: CallState,
}

/// An instance and what it looked like when it was new.
struct Resident {
    running: Running,
    plan: Option<Plan>,
    globals: Vec<(Global, WasmValue)>,
    /// Tables that the guest can write, with their first entries.
    tables: Vec<(Table, Vec<WasmValue>)>,
    /// The host's allocator after the start function, which may have allocated.
    heap: Heap,
}

impl Reused {
    pub(crate) fn new(shared: &Arc<Shared>, reset: Reset) -> Self {
        Self { shared: Arc::clone(shared), reset, resident: None, state: CallState::Idle }
    }
}

impl Instance for Reused {
    fn prepare(&mut self) -> Result<()> {
        if self.state == CallState::Used {
            self.finish()?;
        }
        if self.resident.is_none() {
            self.resident = Some(Resident::new(&self.shared, self.reset)?);
        }
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        match &mut self.resident {
            Some(resident) if self.state != CallState::Idle => {
                self.state = CallState::Used;
                abi::invoke(&mut resident.running, export, input, output)
            }
            _ => Err(Error::Misuse("invoke without prepare")),
        }
    }

    fn finish(&mut self) -> Result<()> {
        let used = std::mem::take(&mut self.state) == CallState::Used;
        if let Some(mut resident) = self.resident.take()
            && (!used || resident.reset()?)
        {
            self.resident = Some(resident);
        }
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        if self.state == CallState::Idle {
            return None;
        }
        self.resident.as_ref()?.running.caged.memory()
    }
}

impl Resident {
    fn new(shared: &Arc<Shared>, reset: Reset) -> Result<Self> {
        let (engine, made) = shared.engine();
        let mut running = Running::new(shared, &engine, &made, shared.new_host())?;
        let globals = globals(shared, &mut running)?;
        let tables = tables(shared, &mut running)?;
        let plan = match running.caged.memory() {
            Some(clean) => Some(match &shared.plan {
                Some(plan) => plan.clone(),
                // A start function has run: only now the content is known.
                None => Plan::new(InitialMemory::capture(clean), reset)?,
            }),
            None => None,
        };
        if let Some(plan) = &plan {
            let base = running.memory().as_mut_ptr();
            // SAFETY: the memory comes from a recycler without a plan:
            // page-aligned, private, of the plan's size, and only this instance
            // has it. All that is not zero in it now is part of the content.
            unsafe { plan.install(base) }?;
        }
        let heap = running.host().heap().clone();
        Ok(Self { running, plan, globals, tables, heap })
    }

    /// Brings everything back; `false` when something grew that cannot shrink.
    fn reset(&mut self) -> Result<bool> {
        if let Some(plan) = &self.plan {
            let used = self.running.memory();
            if used.len() != plan.size() {
                return Ok(false);
            }
            // SAFETY: the plan was installed to this memory in `new`; the
            // instance is not running, and `&mut self` keeps it so.
            unsafe { plan.reset(used.as_mut_ptr()) }?;
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
        let host = self.running.host();
        host.reset();
        host.heap().clone_from(&self.heap);
        Ok(true)
    }
}

/// Mutable globals with their first values.
fn globals(shared: &Shared, running: &mut Running) -> Result<Vec<(Global, WasmValue)>> {
    shared
        .mutable_globals
        .iter()
        .map(|position| match running.caged.export(*position) {
            Some(ExternItem::Global(global)) => {
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
fn tables(shared: &Shared, running: &mut Running) -> Result<Vec<(Table, Vec<WasmValue>)>> {
    shared
        .written_tables
        .iter()
        .map(|position| match running.caged.export(*position) {
            Some(ExternItem::Table(table)) => {
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
