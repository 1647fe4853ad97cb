//! Instances that exist for one call, and one that is reset in place.

use crate::api::{self, Global, Table};
use crate::host::bytes;
use crate::module::SharedModule;
use crate::running::{Running, start_of};
use crate::slot::Slot;
use std::sync::Arc;
use touchstone_executor::adapter::{
    CleanContent, Disposable, InPlace, Live, LoadedGuest, NOT_EXPORTED, Stateful,
};
use touchstone_executor::memory::{Resetter, ResetterMut};
use touchstone_executor::{InstanceFrom, Result};
use wasmedge_sys::ffi;

impl Disposable for Running {
    type Shared = SharedModule;
    /// The slot, with Touchstone's memory if there is one; `None` if that could not be reset.
    type Kept = Option<Self>;

    fn new(shared: &Arc<SharedModule>, kept: Option<Option<Self>>) -> Result<Self> {
        let mut running = match kept.flatten() {
            Some(running) => running,
            None => with_memory(shared)?,
        };
        running.renew()?;
        Ok(running)
    }

    fn into_kept(mut self) -> Option<Self> {
        self.host().reset();
        if let Some(mut resetter) = self.resetter.take() {
            // Touchstone's memory, which stays when the instance goes.
            let size = resetter.template().whole_size();
            if !self.reset_memory(size, Some(&mut resetter)).is_ok_and(|is_reset| is_reset) {
                return None;
            }
            self.resetter = Some(resetter);
        }
        self.clear();
        Some(self)
    }
}

/// Executor and imports, and a memory of Touchstone's in its clean state. The memory of an instance
/// for all calls is mapped over after instantiation.
fn with_memory(shared: &Arc<SharedModule>) -> Result<Running> {
    let mut running = Running::new(Slot::new(shared)?);
    let is_recycled = shared.guest.strategy.instance == InstanceFrom::Recreate;
    let own = running.slot.memory_of_ours().filter(|_| is_recycled);
    if let (Some(memory), Some(_)) = (own, shared.content.known()) {
        // SAFETY: the memory is of the slot, and no instance has it yet.
        let content = unsafe { bytes(memory.as_ptr()) };
        let template = shared.content.template(shared.guest.engine, content)?;
        // SAFETY: WasmEdge has just made this memory, page-aligned, private, zero and, as
        // `template` checks, of the template's whole size; only this slot has it, and the resetter
        // is dropped before the slot. A region is written by compiled code only (`module::load`).
        let mut resetter = unsafe { template.install(start_of(memory) as *mut u8) }?;
        // By the driver.
        ResetterMut::from(&mut resetter).note_threads();
        running.resetter = Some(resetter);
    }
    Ok(running)
}

// SAFETY: WasmEdge's memory is page-aligned and private, and stays at its place in the slot of the
// instance, which alone has it. A region is written by compiled code only (`module::load`).
unsafe impl InPlace for Running {
    fn parts(shared: &SharedModule) -> (&LoadedGuest, &CleanContent) {
        (&shared.guest, &shared.content)
    }

    fn reset_memory(&mut self, size: usize, resetter: Option<&mut Resetter>) -> Result<bool> {
        match self.memory {
            // SAFETY: the memory is the only one of the slot's instances; no guest runs and no
            // slice of it is alive while this is borrowed. Resetters are installed at its start.
            Some(memory) => unsafe { self.slot.grown_pages().reset(memory, size, resetter) },
            None => Ok(size == 0),
        }
    }
}

/// A part of one instance and its clean value.
pub(crate) struct Saved<P, V>(P, V);

// SAFETY: numbers, references to functions of one instance, and pointers to its parts, used with
// that instance only, which is `Send`.
unsafe impl<P, V> Send for Saved<P, V> {}

impl Stateful for Running {
    type Global = Saved<Global, ffi::WasmEdge_Value>;
    type Table = Saved<Table, Vec<ffi::WasmEdge_Value>>;

    fn save_global(&mut self, name: &str) -> Result<Self::Global> {
        let found = self.slot.instance().and_then(|instance| instance.global(name));
        let global = found.ok_or(NOT_EXPORTED)?;
        // SAFETY: the global is of the live instance.
        let value = unsafe { ffi::WasmEdge_GlobalInstanceGetValue(global.as_ptr()) };
        Ok(Saved(global, value))
    }

    fn restore_global(&mut self, Saved(global, value): &Self::Global) -> Result<()> {
        // SAFETY: the global is of the live instance, and the value came from it.
        let set = unsafe { ffi::WasmEdge_GlobalInstanceSetValue(global.as_ptr(), *value) };
        api::check(set).map_err(self.failed("restore a global"))
    }

    fn save_table(&mut self, name: &str) -> Result<Self::Table> {
        let found = self.slot.instance().and_then(|instance| instance.table(name));
        let table = found.ok_or(NOT_EXPORTED)?;
        let entries = (0..size(table)).map(|index| entry(table, index)).collect::<Result<_, _>>();
        Ok(Saved(table, entries.map_err(self.failed("save a table"))?))
    }

    fn restore_table(&mut self, Saved(table, entries): &Self::Table) -> Result<bool> {
        if size(*table) != entries.len() as u64 {
            return Ok(false);
        }
        for (value, index) in entries.iter().zip(0..) {
            // SAFETY: the table is of the instance, and so is a function that the value names.
            let set = unsafe { ffi::WasmEdge_TableInstanceSetData(table.as_ptr(), *value, index) };
            api::check(set).map_err(self.failed("restore a table"))?;
        }
        Ok(true)
    }
}

fn size(table: Table) -> u64 {
    // SAFETY: the table is of a live instance.
    unsafe { ffi::WasmEdge_TableInstanceGetSize(table.as_ptr()) }
}

fn entry(table: Table, index: u64) -> Result<ffi::WasmEdge_Value, api::Failure> {
    // SAFETY: makes a value, which the next call overwrites.
    let mut value = unsafe { ffi::WasmEdge_ValueGenI32(0) };
    // SAFETY: the table is of a live instance; the library checks the index.
    let got = unsafe { ffi::WasmEdge_TableInstanceGetData(table.as_ptr(), &raw mut value, index) };
    api::check(got).map(|()| value)
}
