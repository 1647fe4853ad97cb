//! `interpreted`: a new store and instance each call.

use crate::home::Home;
use crate::module::Shared;
use crate::running::{Buffers, Running};
use std::sync::Arc;
use touchstone_executor::abi::{self, Abi};
use touchstone_executor::{EffectiveConfig, Error, ExportId, Instance, Module, Outcome, Result};

/// A module of which each call gets a new instance.
pub(crate) struct FreshModule(Arc<Shared>);

impl FreshModule {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl Module for FreshModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.0.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(FreshInstance {
            idle: Buffers::default(),
            running: None,
            shared: Arc::clone(&self.0),
        }))
    }

    fn effective(&self) -> EffectiveConfig {
        self.0
            .effective()
            .with("instance", "new store and instance each call")
            .with("memory", "wasmi's own, allocated and zeroed by it for each call")
            .with("reset", "everything is dropped")
            .with("grown memory", "dropped with the instance")
    }
}

struct FreshInstance {
    shared: Arc<Shared>,
    running: Option<Running>,
    /// What is kept from call to call while nothing is running.
    idle: Buffers,
}

impl Instance for FreshInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        let home = Home::new(&self.shared.wasmi, self.shared.host());
        let buffers = std::mem::take(&mut self.idle);
        self.running = Some(Running::new(&self.shared, home, buffers)?);
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        let running = self.running.as_mut().ok_or(Error::Misuse("invoke without prepare"))?;
        abi::invoke(running, export, input, output)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(running) = self.running.take() {
            self.idle = running.into_buffers();
        }
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.running.as_mut()?.bytes()
    }
}
