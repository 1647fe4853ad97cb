//! `interpreted` and `recreate_instance_…`: a new runtime and module each call.

use crate::machine::{Environment, Lent, Machine};
use crate::module::SharedModule;
use crate::recipe::Recipe;
use std::sync::Arc;
use touchstone_executor::adapter::{self, UNPREPARED};
use touchstone_executor::memory::UsedOn;
use touchstone_executor::{
    Abi, CallOptions, EffectiveConfig, ExportId, Instance, Module, Outcome, Result,
};

/// A module with a new instance for each call.
pub(crate) struct FreshModule {
    shared: Arc<SharedModule>,
    /// `None` if the memories are Wasm3's.
    recipe: Option<Arc<Recipe>>,
}

impl FreshModule {
    pub(crate) fn new(shared: Arc<SharedModule>, recipe: Option<Recipe>) -> Self {
        Self { shared, recipe: recipe.map(Arc::new) }
    }

    fn instance(&self) -> FreshInstance {
        FreshInstance {
            used_on: UsedOn::default(),
            shared: Arc::clone(&self.shared),
            recipe: self.recipe.clone(),
            running: None,
            environment: None,
            lent: None,
        }
    }
}

impl Module for FreshModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.shared.guest.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(self.instance()))
    }

    /// Probes the memory of an instance, if it is Touchstone's.
    fn probe(&mut self) -> Result<()> {
        let Some(recipe) = &self.recipe else { return Ok(()) };
        let mut machine = self.instance().build()?;
        recipe.probe(&self.shared, machine.bytes())
    }

    fn effective(&self) -> EffectiveConfig {
        let effective = self.shared.effective().with(
            "instance",
            "new runtime each call; the module is parsed, linked and compiled again for it, \
             because Wasm3 loads a parsed module once",
        );
        match &self.recipe {
            None => effective
                .with("memory", "Wasm3's own, allocated and zeroed by it for each call")
                .with("reset", "everything is dropped but code pages and function types")
                .with("grown memory", "dropped with the instance"),
            Some(recipe) => recipe.describe(&self.shared, effective),
        }
    }
}

struct FreshInstance {
    used_on: UsedOn,
    shared: Arc<SharedModule>,
    recipe: Option<Arc<Recipe>>,
    running: Option<Machine>,
    /// Kept while nothing runs. A lent memory is clean.
    environment: Option<Environment>,
    lent: Option<Lent>,
}

impl FreshInstance {
    /// A machine that is ready to run its start function.
    fn build(&mut self) -> Result<Machine> {
        let program = &self.shared.program;
        let environment = match self.environment.take() {
            Some(environment) => environment,
            None => Environment::new(program.engine)?,
        };
        let mut machine = Machine::new(environment, &self.shared)?;
        if let Some(recipe) = &self.recipe
            && let Some(template) = &recipe.template
        {
            match self.lent.take() {
                Some(lent) => machine.lend(lent)?,
                None => {
                    let mut lent = Lent::new(template, program.largest)?;
                    // By `used_on`.
                    lent.resetter().note_threads();
                    machine.lend(lent)?;
                }
            }
        }
        Ok(machine)
    }
}

impl Instance for FreshInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        self.used_on.begin();
        let mut machine = self.build()?;
        machine.start()?;
        self.running = Some(machine);
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        let running = self.running.as_mut().ok_or(UNPREPARED)?;
        self.used_on.go_on();
        adapter::invoke(running, export, input, output)
    }

    fn invoke_with(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: CallOptions<'_>,
    ) -> Result<Outcome> {
        let running = self.running.as_mut().ok_or(UNPREPARED)?;
        self.used_on.go_on();
        adapter::invoke_with(running, export, input, output, options)
    }

    fn finish(&mut self) -> Result<()> {
        self.used_on.end();
        let Some(machine) = self.running.take() else { return Ok(()) };
        let (environment, lent) = machine.into_parts();
        self.environment = Some(environment);
        if let Some(mut lent) = lent {
            lent.clean()?;
            self.lent = Some(lent);
        }
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.shared.info().memory?;
        Some(self.running.as_mut()?.bytes())
    }
}
