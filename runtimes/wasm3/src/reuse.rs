//! `instance_reuse…`: one instance, reset in place, in a memory of ours.

use crate::machine::{Environment, Lent, Machine};
use crate::module::Shared;
use crate::recipe::Recipe;
use std::sync::Arc;
use touchstone_executor::abi::{self, Abi};
use touchstone_executor::{
    CallState, EffectiveConfig, Error, ExportId, Instance, Module, Outcome, Result,
};

/// A module whose instances are reset in place.
pub(crate) struct ReuseModule {
    shared: Arc<Shared>,
    recipe: Arc<Recipe>,
}

impl ReuseModule {
    pub(crate) fn new(shared: Arc<Shared>, recipe: Recipe) -> Self {
        Self { shared, recipe: Arc::new(recipe) }
    }
}

/// A clean instance with its state saved.
fn build(shared: &Arc<Shared>, recipe: &Recipe) -> Result<Machine> {
    let program = &shared.program;
    let mut machine = Machine::new(Environment::new(program.engine)?, shared)?;
    let plan = match &recipe.plan {
        // Such a module has no start function.
        Some(plan) => Some(plan.clone()),
        None => {
            machine.start()?;
            match shared.info().memory {
                Some(_) => Some(recipe.capture(machine.bytes())?),
                None => None,
            }
        }
    };
    if let Some(plan) = plan {
        machine.lend(Lent::new(plan.clone(), program.largest)?)?;
        recipe.check(shared, &plan, machine.bytes())?;
    }
    machine.save()?;
    Ok(machine)
}

impl Module for ReuseModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.shared.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(ReuseInstance {
            live: Some(build(&self.shared, &self.recipe)?),
            shared: Arc::clone(&self.shared),
            recipe: Arc::clone(&self.recipe),
            state: CallState::Idle,
        }))
    }

    /// Makes an instance, which looks at what lies under its memory. Each one does.
    fn probe(&mut self) -> Result<()> {
        build(&self.shared, &self.recipe).map(drop)
    }

    fn effective(&self) -> EffectiveConfig {
        let info = self.shared.info();
        let tables = if info.writes_tables { info.tables.len() } else { 0 };
        let globals = info.mutable_globals.len();
        let effective = self
            .shared
            .effective()
            .with("instance", format!("one, reset in place: {globals} globals, {tables} tables"));
        self.recipe.describe(&self.shared, effective)
    }
}

struct ReuseInstance {
    shared: Arc<Shared>,
    recipe: Arc<Recipe>,
    /// Clean whenever the state is idle; `None` after a reset that failed.
    live: Option<Machine>,
    state: CallState,
}

impl Instance for ReuseInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        if self.live.is_none() {
            self.live = Some(build(&self.shared, &self.recipe)?);
        }
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        let Some(machine) = self.live.as_mut().filter(|_| self.state != CallState::Idle) else {
            return Err(Error::Misuse("invoke without prepare"));
        };
        self.state = CallState::Used;
        abi::invoke(machine, export, input, output)
    }

    fn finish(&mut self) -> Result<()> {
        if std::mem::take(&mut self.state) != CallState::Used {
            return Ok(());
        }
        let done = self.live.as_mut().map_or(Ok(()), Machine::restore);
        if done.is_err() {
            self.live = None;
        }
        done
    }

    fn memory(&mut self) -> Option<&[u8]> {
        if self.state == CallState::Idle {
            return None;
        }
        self.shared.info().memory?;
        Some(self.live.as_mut()?.bytes())
    }
}
