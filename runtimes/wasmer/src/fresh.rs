//! A new store and instance for each call.

use crate::module::Shared;
use crate::running::Running;
use std::sync::Arc;
use touchstone_executor::host::HostState;
use touchstone_executor::{Error, ExportId, Instance, Outcome, Result, abi};

/// Instantiates in `prepare`, drops in `finish`.
pub(crate) struct Fresh {
    shared: Arc<Shared>,
    running: Option<Running>,
    /// The host's side between calls, so that its buffers are kept.
    host: Option<HostState>,
}

impl Fresh {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), running: None, host: None }
    }
}

impl Instance for Fresh {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        let host = match self.host.take() {
            Some(mut host) => {
                host.reset();
                host
            }
            None => self.shared.new_host(),
        };
        self.running = Some(Running::new(&self.shared, host)?);
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        match &mut self.running {
            Some(running) => abi::invoke(running, export, input, output),
            None => Err(Error::Misuse("invoke without prepare")),
        }
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(running) = self.running.take() {
            self.host = Some(running.into_host());
        }
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.running.as_ref()?.memory_bytes()
    }
}
