//! Instances that exist for one call, and one that is reset in place.

use crate::host::bytes;
use crate::module::SharedModule;
use crate::running::{Running, start_of};
use crate::slot::Slot;
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, Disposable, InPlace, Live, LoadedGuest};
use touchstone_executor::memory::{Resetter, ResetterMut};
use touchstone_executor::{InstanceFrom, Result};

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
