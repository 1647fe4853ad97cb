//! `instance_reuse…`: one memory for all calls, made clean in place.

use crate::module::Shared;
use crate::running::Running;
use std::sync::Arc;
use touchstone_executor::{CallState, Error, ExportId, Instance, Outcome, Result, abi};

/// Resets in `finish`, so that an idle instance is clean and small.
pub(crate) struct Reused {
    shared: Arc<Shared>,
    /// `None` before the first call and after growth.
    running: Option<Running>,
    state: CallState,
}

impl Reused {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), running: None, state: CallState::Idle }
    }
}

impl Instance for Reused {
    fn prepare(&mut self) -> Result<()> {
        if self.state == CallState::Used {
            self.finish()?;
        }
        if self.running.is_none() {
            self.running = Some(Running::new(&self.shared, self.shared.new_host())?);
        }
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        match &mut self.running {
            Some(running) if self.state != CallState::Idle => {
                self.state = CallState::Used;
                abi::invoke(running, export, input, output)
            }
            _ => Err(Error::Misuse("invoke without prepare")),
        }
    }

    fn finish(&mut self) -> Result<()> {
        let used = std::mem::take(&mut self.state) == CallState::Used;
        // Taken out first: what cannot be reset must not be used again.
        if let Some(mut running) = self.running.take()
            && (!used || running.reset()?)
        {
            self.running = Some(running);
        }
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.running.as_mut().map(Running::bytes)
    }
}
