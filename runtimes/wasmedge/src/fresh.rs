//! A new instance for each call, with a memory of its own or one of Touchstone's.

use crate::host::bytes;
use crate::module::SharedModule;
use crate::running::Running;
use crate::slot::Slot;
use std::sync::Arc;
use touchstone_executor::adapter::{self, CallState, Live, UNPREPARED};
use touchstone_executor::memory::{Resetter, ResetterMut, UsedOn};
use touchstone_executor::{CallOptions, ExportId, Instance, Outcome, Result};

/// An instance that `prepare` makes and `finish` drops.
pub(crate) struct FreshInstance {
    used_on: UsedOn,
    shared: Arc<SharedModule>,
    /// Resets Touchstone's memory in the slot; dropped before it.
    resetter: Option<Resetter>,
    /// `None` before the first call, and after a call whose memory cannot be reset.
    running: Option<Running>,
    state: CallState,
}

impl FreshInstance {
    pub(crate) fn new(shared: &Arc<SharedModule>) -> Self {
        let (used_on, shared) = (UsedOn::default(), Arc::clone(shared));
        Self { used_on, shared, resetter: None, running: None, state: CallState::Idle }
    }

    /// Executor and imports, and a memory of Touchstone's in its clean state.
    fn slot(&mut self) -> Result<Slot> {
        self.resetter = None;
        let slot = Slot::new(&self.shared)?;
        if let (Some(memory), Some(template)) = (slot.memory_of_ours(), &self.shared.template) {
            let base = crate::running::start_of(memory);
            // SAFETY: the memory is of the slot, and no instance has it yet.
            self.shared.check_size(unsafe { bytes(memory.as_ptr()) }.len(), template)?;
            // SAFETY: WasmEdge has just made this memory, page-aligned, private, zero and, by the
            // check above, of the template's whole size; only this slot has it, and `resetter` is
            // dropped before the slot. A region is written by compiled code only
            // (`WasmEdgeModule::new`).
            let mut resetter = unsafe { template.install(base as *mut u8) }?;
            // By `used_on`.
            ResetterMut::from(&mut resetter).note_threads();
            self.resetter = Some(resetter);
        }
        Ok(slot)
    }
}

impl Instance for FreshInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        self.used_on.begin();
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::new(self.slot()?),
        };
        if let Err(error) = running.renew() {
            // A start function may have changed the memory. Dropped before the slot.
            self.resetter = None;
            return Err(error);
        }
        self.running = Some(running);
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        match &mut self.running {
            Some(running) if self.state != CallState::Idle => {
                self.state = CallState::Used;
                self.used_on.go_on();
                adapter::invoke(running, export, input, output)
            }
            _ => Err(UNPREPARED),
        }
    }

    fn invoke_with(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: CallOptions<'_>,
    ) -> Result<Outcome> {
        match &mut self.running {
            Some(running) if self.state != CallState::Idle => {
                self.state = CallState::Used;
                self.used_on.go_on();
                adapter::invoke_with(running, export, input, output, options)
            }
            _ => Err(UNPREPARED),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.used_on.end();
        if std::mem::take(&mut self.state) == CallState::Idle {
            return Ok(());
        }
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.slot.host().reset();
        if let Some(mut resetter) = self.resetter.take() {
            // Touchstone's memory, which stays when the instance goes.
            if !running.reset_memory(resetter.template().whole_size(), Some(&mut resetter))? {
                return Ok(());
            }
            self.resetter = Some(resetter);
        }
        running.clear();
        self.running = Some(running);
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        if self.state == CallState::Idle {
            return None;
        }
        self.running.as_mut()?.shown_memory()
    }
}
