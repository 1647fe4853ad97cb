//! `instance_reuse…`: one instance, reset in place, in a memory of Touchstone's.

use crate::machine::{Environment, Lent, Machine};
use crate::module::SharedModule;
use crate::recipe::Recipe;
use std::sync::Arc;
use touchstone_executor::adapter::{Resident, Reused};
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{Abi, EffectiveConfig, ExportId, Instance, Module, Result};

/// A module whose instances are reset in place.
pub(crate) struct ReuseModule(Arc<ReusedParts>);

/// The parts of instances.
struct ReusedParts {
    shared: Arc<SharedModule>,
    recipe: Recipe,
}

impl ReuseModule {
    pub(crate) fn new(shared: Arc<SharedModule>, recipe: Recipe) -> Self {
        Self(Arc::new(ReusedParts { shared, recipe }))
    }
}

/// A clean instance with its state saved.
struct SavedMachine(Machine);

impl Resident for SavedMachine {
    type Shared = ReusedParts;
    type Live = Machine;

    fn new(made: &Arc<ReusedParts>) -> Result<Self> {
        let ReusedParts { shared, recipe } = &**made;
        let program = &shared.program;
        let mut machine = Machine::new(Environment::new(program.engine)?, shared)?;
        let template = match &recipe.template {
            // Such a module has no start function.
            Some(template) => Some(template.clone()),
            None => {
                machine.start()?;
                match shared.info().memory {
                    Some(_) => Some(recipe.capture(machine.bytes())?),
                    None => None,
                }
            }
        };
        if let Some(template) = template {
            machine.lend(Lent::new(&template, program.largest)?)?;
            // A shared template is probed with the module.
            if recipe.template.is_none() {
                recipe.check(shared, &template, machine.bytes())?;
            }
        }
        machine.save()?;
        Ok(Self(machine))
    }

    fn live(&mut self) -> &mut Machine {
        &mut self.0
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.0.resetter().map(work)
    }

    /// An instance is replaced if Wasm3 failed to compile a function in it.
    fn reset(&mut self) -> Result<bool> {
        if !self.0.is_sound() {
            return Ok(false);
        }
        self.0.restore().map(|()| true)
    }

    fn trim(&mut self) -> Result<()> {
        self.0.trim()
    }
}

impl Module for ReuseModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.0.shared.guest.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(Reused::<SavedMachine>::new(&self.0)))
    }

    /// Probes the memory of an instance.
    fn probe(&mut self) -> Result<()> {
        let SavedMachine(mut machine) = SavedMachine::new(&self.0)?;
        self.0.recipe.probe(&self.0.shared, machine.bytes())
    }

    fn effective(&self) -> EffectiveConfig {
        let info = self.0.shared.info();
        let tables = if info.writes_tables { info.tables.len() } else { 0 };
        let globals = info.mutable_globals.len();
        let effective = self
            .0
            .shared
            .effective()
            .with("instance", format!("one, reset in place: {globals} globals, {tables} tables"));
        self.0.recipe.describe(&self.0.shared, effective)
    }
}
