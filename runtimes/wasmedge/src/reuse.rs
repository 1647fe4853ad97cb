//! `instance_reuse…`: one instance, reset in place.

use crate::module::SharedModule;
use crate::running::Running;
use crate::slot::Slot;
use crate::snapshot::Snapshot;
use std::sync::Arc;
use touchstone_executor::memory::{InitialContent, MemoryTemplate, Resetter, ResetterMut};
use touchstone_executor::{Result, adapter};

/// An instance with its clean state.
pub(crate) struct Resident {
    snapshot: Snapshot,
    /// Resets the memory of the instance; dropped before it.
    resetter: Option<Resetter>,
    running: Running,
    /// Bytes of the clean memory, with its region.
    size: usize,
}

impl adapter::Resident for Resident {
    type Shared = SharedModule;
    type Live = Running;

    fn new(shared: &Arc<SharedModule>) -> Result<Self> {
        let mut running = Running::new(Slot::new(shared)?);
        running.renew()?;
        let snapshot = Snapshot::take(&mut running)?;
        let template = match running.bytes() {
            None => None,
            Some(clean) => Some(match &shared.template {
                Some(template) => template.clone(),
                // A start function has written the content.
                None => MemoryTemplate::new(InitialContent::capture(clean), shared.reset)?,
            }),
        };
        let mut resetter = None;
        if let Some(template) = &template {
            shared.check_size(running.bytes().map_or(0, |bytes| bytes.len()), template)?;
            if template.size() > 0 {
                // SAFETY: WasmEdge's memory is page-aligned, private and, by the check above, of
                // the template's whole size; only this instance has it, and no slice of it is
                // alive. All that is not zero in it now is part of the template's content. It is
                // dropped after the resetter. A region is written by compiled code only
                // (`WasmEdgeModule::new`).
                resetter = Some(unsafe { template.install(running.base()) }?);
                // A shared template was probed with the module. Reading the list of mappings for
                // each instance would cost more than making it.
                if shared.template.is_none() {
                    shared.check_memory(running.base(), Some(template))?;
                }
            }
        }
        let size = template.map_or(0, |template| template.whole_size());
        Ok(Self { snapshot, resetter, running, size })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.resetter.as_mut().map(|resetter| work(resetter.into()))
    }

    fn reset(&mut self) -> Result<bool> {
        if !self.snapshot.sizes_are_kept()
            || !self.running.reset_memory(self.size, self.resetter.as_mut())?
        {
            return Ok(false);
        }
        self.snapshot.restore(&mut self.running)?;
        Ok(true)
    }
}
