//! `interpreted`: a new store and instance each call.

use crate::module::SharedModule;
use crate::running::Running;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::adapter::Fresh;
use touchstone_executor::{EffectiveConfig, ExportId, Instance, Module, Result};

/// A module with a new instance for each call.
pub(crate) struct FreshModule(Arc<SharedModule>);

impl FreshModule {
    pub(crate) fn new(shared: Arc<SharedModule>) -> Self {
        Self(shared)
    }
}

impl Module for FreshModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.0.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(Fresh::<Running>::new(&self.0)))
    }

    fn effective(&self) -> EffectiveConfig {
        self.0
            .effective()
            .with("instance", "new store and instance each call")
            .with(
                "engine",
                "one for all instances, whose lock every call takes: one for each instance would \
                 mean to translate the module in every call",
            )
            .with("memory", "wasmi's own, allocated and zeroed by it for each call")
            .with("reset", "everything is dropped")
            .with("grown memory", "dropped with the instance")
    }
}
