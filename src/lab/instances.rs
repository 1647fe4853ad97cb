//! Idle instances of a module.

use parking_lot::Mutex;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::{ExportId, Instance, Module};

/// Idle instances of a module, shared by consecutive measurements. Making an instance can cost as
/// much as a thousand calls (a memory of 128 MiB that is cleared once).
#[derive(Clone)]
pub struct Instances {
    module: Arc<dyn Module>,
    idle: Arc<Mutex<Vec<Box<dyn Instance>>>>,
}

impl Instances {
    pub fn new(module: Arc<dyn Module>) -> Self {
        Self { module, idle: Arc::default() }
    }

    pub fn module(&self) -> Arc<dyn Module> {
        Arc::clone(&self.module)
    }

    /// `true` if both hold instances of the same module.
    pub fn are_of_one_module(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.module, &other.module)
    }

    /// An idle instance, or a new one.
    pub fn take(&self) -> touchstone_executor::Result<Box<dyn Instance>> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| self.module.new_instance(), Ok)
    }

    /// A new instance, even if one is idle.
    pub fn new_instance(&self) -> touchstone_executor::Result<Box<dyn Instance>> {
        self.module.new_instance()
    }

    /// The handle of another export. Fails if the module has none of that name and convention.
    pub fn export(&self, name: &str, abi: Abi) -> touchstone_executor::Result<ExportId> {
        self.module.export(name, abi)
    }

    /// Returns an instance for the next user. Its next `prepare` cleans up after an
    /// interrupted call.
    pub fn give_back(&self, instance: Box<dyn Instance>) {
        self.idle.lock().push(instance);
    }
}
