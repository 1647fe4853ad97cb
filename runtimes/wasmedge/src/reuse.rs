//! `instance_reuse…`: one instance, reset in place.

use crate::module::Shared;
use crate::running::Running;
use crate::slot::Slot;
use crate::snapshot::Snapshot;
use std::sync::Arc;
use touchstone_executor::abi;
use touchstone_executor::memory::{InitialMemory, Plan};
use touchstone_executor::{CallState, Error, ExportId, Instance, Outcome, Result};

/// Resets in `finish`, so that an idle instance is clean and small.
pub(crate) struct ReuseInstance {
    shared: Arc<Shared>,
    /// Clean whenever the state is idle; `None` before the first call and after one
    /// that cannot be undone in place.
    resident: Option<Resident>,
    state: CallState,
}

/// An instance and what it looked like when it was new.
struct Resident {
    snapshot: Snapshot,
    plan: Option<Plan>,
    running: Running,
}

impl ReuseInstance {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), resident: None, state: CallState::Idle }
    }
}

impl Resident {
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
        if let Some(plan) = &plan {
            if running.bytes().map(|bytes| bytes.len()) != Some(plan.size()) {
                let failed = Error::runtime(shared.engine, "lay out the memory");
                return Err(failed("it has another size than the module says"));
            }
            if plan.size() > 0 {
                // SAFETY: WasmEdge's memory is page-aligned, private and, by the check
                // above, of the plan's size; only this instance has it, and no slice
                // of it is alive. All that is not zero in it now is part of the plan's
                // content.
                unsafe { plan.install(running.base()) }?;
                shared.check_memory(running.base(), Some(plan))?;
            }
        }
        Ok(Self { snapshot, plan, running })
    }

    /// Brings everything back; `false` when something grew that cannot shrink.
    fn reset(&mut self) -> Result<bool> {
        if !self.snapshot.sizes_are_kept(&mut self.running) {
            return Ok(false);
        }
        if let Some(plan) = self.plan.as_ref().filter(|plan| plan.size() > 0) {
            // SAFETY: the plan was installed to this memory in `new`, whose size has
            // not changed; no guest runs and no slice is alive, by `&mut self`.
            unsafe { plan.reset(self.running.base()) }?;
        }
        self.snapshot.restore(&mut self.running)?;
        Ok(true)
    }
}

impl Instance for ReuseInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        if self.resident.is_none() {
            self.resident = Some(Resident::new(&self.shared)?);
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
        // Put back only when it is clean.
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
        self.resident.as_mut()?.running.bytes().map(|bytes| &*bytes)
    }
}
