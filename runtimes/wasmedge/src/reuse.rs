//! `instance_reuse…`: one instance, reset in place.

use crate::module::Shared;
use crate::running::Running;
use crate::slot::Slot;
use crate::snapshot::Snapshot;
use std::sync::Arc;
use touchstone_executor::memory::{InitialMemory, Plan, Restorer, RestorerMut};
use touchstone_executor::{Result, driver};

/// An instance and what it looked like when it was new.
pub(crate) struct Resident {
    snapshot: Snapshot,
    /// Dropped before the instance, whose memory it looks after.
    restorer: Option<Restorer>,
    running: Running,
    /// Size of the clean memory with its region, bytes.
    size: usize,
}

impl driver::Resident for Resident {
    type Shared = Shared;
    type Live = Running;

    fn new(shared: &Arc<Shared>) -> Result<Self> {
        let mut running = Running::new(Slot::new(shared)?);
        running.renew()?;
        let snapshot = Snapshot::take(&mut running)?;
        let plan = match running.bytes() {
            None => None,
            Some(clean) => Some(match &shared.plan {
                Some(plan) => plan.clone(),
                // A start function has run: only now the content is known.
                None => Plan::new(InitialMemory::capture(clean), shared.reset)?,
            }),
        };
        let mut restorer = None;
        if let Some(plan) = &plan {
            shared.check_size(running.bytes().map_or(0, |bytes| bytes.len()), plan)?;
            if plan.size() > 0 {
                // SAFETY: WasmEdge's memory is page-aligned, private and, by the check
                // above, of the plan's whole size; only this instance has it, and no slice
                // of it is alive. All that is not zero in it now is part of the plan's
                // content. It is dropped after the restorer, and written no more then.
                // Compiled code writes to a region (`Loaded::new`), and nobody else does.
                restorer = Some(unsafe { plan.install(running.base()) }?);
                // The probe of the module has looked at a plan that all instances share.
                // Reading the list of mappings for each would cost more than making it.
                if shared.plan.is_none() {
                    shared.check_memory(running.base(), Some(plan))?;
                }
            }
        }
        let size = plan.map_or(0, |plan| plan.whole_size());
        Ok(Self { snapshot, restorer, running, size })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_restorer<T>(&mut self, work: impl FnOnce(RestorerMut<'_>) -> T) -> Option<T> {
        self.restorer.as_mut().map(|restorer| work(restorer.into()))
    }

    fn reset(&mut self) -> Result<bool> {
        if !self.snapshot.sizes_are_kept()
            || !self.running.reset_memory(self.size, self.restorer.as_mut())?
        {
            return Ok(false);
        }
        self.snapshot.restore(&mut self.running)?;
        Ok(true)
    }
}
