//! One instance for all calls, reset in place: memory, mutable globals, tables.

use crate::memory::bytes;
use crate::module::Shared;
use crate::running::Running;
use crate::settings::ID;
use std::sync::Arc;
use touchstone_executor::abi::Live;
use touchstone_executor::heap::Heap;
use touchstone_executor::memory::{InitialMemory, Plan, Reset};
use touchstone_executor::{CallState, Error, ExportId, Instance, Outcome, Result, abi};
use wasmer::{Extern, Global, Table, Value};

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
    globals: Vec<(Global, Value)>,
    /// Tables that the guest can write, with their first entries. Not as a table
    /// of the same store: `Table::copy` of Wasmer 7.3 panics on two tables.
    tables: Vec<(Table, Vec<Value>)>,
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
        self.resident.as_ref()?.running.memory_bytes()
    }
}

impl Resident {
    fn new(shared: &Arc<Shared>, reset: Reset) -> Result<Self> {
        let mut running = Running::new(shared, shared.new_host())?;
        let globals = globals(shared, &mut running)?;
        let tables = tables(shared, &mut running)?;
        let plan = match running.memory_bytes() {
            Some(clean) => Some(match &shared.plan {
                Some(plan) => plan.clone(),
                // A start function has run: only now the content is known.
                None => Plan::new(InitialMemory::capture(clean), reset)?,
            }),
            None => None,
        };
        if let Some(plan) = &plan {
            let base = running.memory().as_mut_ptr();
            // SAFETY: the memory is one of ours (`Memories` without a plan):
            // page-aligned, private, of the plan's size, and only this instance
            // has it. All that is not zero in it now is part of the content.
            unsafe { plan.install(base) }?;
        }
        let heap = running.host().heap().clone();
        Ok(Self { running, plan, globals, tables, heap })
    }

    /// Brings everything back; `false` when something grew that cannot shrink.
    fn reset(&mut self) -> Result<bool> {
        let store = &mut self.running.store;
        if let (Some(memory), Some(plan)) = (&self.running.memory, &self.plan) {
            // SAFETY: the instance is not running, and `&mut self` keeps it so;
            // only address and length are taken.
            let used = unsafe { bytes(memory, store) };
            if used.len() != plan.size() {
                return Ok(false);
            }
            // SAFETY: the plan was installed to this memory in `new`.
            unsafe { plan.reset(used.as_mut_ptr()) }?;
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
        let host = self.running.host();
        host.reset();
        host.heap().clone_from(&self.heap);
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
