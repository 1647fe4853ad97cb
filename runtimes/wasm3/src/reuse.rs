//! Machines that exist for one call, and one that is reset in place.

use crate::machine::{Environment, Lent, Machine};
use crate::module::SharedModule;
use std::sync::Arc;
use touchstone_executor::Result;
use touchstone_executor::adapter::{Disposable, Live, Resident};
use touchstone_executor::memory::ResetterMut;

impl Disposable for Machine {
    type Shared = SharedModule;
    /// A lent memory is clean.
    type Kept = (Environment, Option<Lent>);

    fn new(shared: &Arc<SharedModule>, kept: Option<Self::Kept>) -> Result<Self> {
        let program = &shared.program;
        let (environment, lent) = match kept {
            Some(kept) => kept,
            None => (Environment::new(program.engine)?, None),
        };
        let mut machine = Self::new(environment, shared)?;
        if let Some(template) = shared.content.known() {
            let lent = match lent {
                Some(lent) => lent,
                None => {
                    let mut lent = Lent::new(template, program.largest)?;
                    // By the driver.
                    lent.resetter().note_threads();
                    lent
                }
            };
            machine.lend(lent)?;
        }
        machine.start()?;
        Ok(machine)
    }

    /// A memory that cannot be cleaned is dropped.
    fn into_kept(self) -> Self::Kept {
        let (environment, lent) = self.into_parts();
        let clean = lent.and_then(|mut lent| lent.clean().is_ok().then_some(lent));
        (environment, clean)
    }
}

/// A clean instance with its state saved.
pub(crate) struct SavedMachine(Machine);

impl Resident for SavedMachine {
    type Shared = SharedModule;
    type Live = Machine;

    fn new(shared: &Arc<SharedModule>) -> Result<Self> {
        let (program, content) = (&shared.program, &shared.content);
        let mut machine = Machine::new(Environment::new(program.engine)?, shared)?;
        let template = match content.known() {
            // Such a module has no start function.
            Some(template) => Some(template.clone()),
            None => {
                machine.start()?;
                let memory = shared.guest.info().memory;
                memory.map(|_| content.template(program.engine, machine.memory())).transpose()?
            }
        };
        if let Some(template) = template {
            machine.lend(Lent::new(&template, program.largest)?)?;
            content.check(&shared.guest, &template, machine.memory().as_ptr() as usize)?;
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

    fn reset(&mut self) -> Result<bool> {
        self.0.restore()
    }

    fn trim(&mut self) -> Result<()> {
        self.0.trim()
    }
}
