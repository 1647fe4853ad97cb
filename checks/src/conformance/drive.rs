//! A script on one engine, through the contract alone.
//!
//! Every module of the script is a guest, with an instance that is prepared once; the
//! script's calls are invoked on it one after the other, in their order, and it is
//! finished when nothing of the script can call it any more. So what a call leaves
//! behind is there for the next one, as the scripts want it, also after a trap.

use super::expect::{Expected, difference, is_meant};
use super::prepare::{Prepared, Refusal, Wanted, without_numbers};
use super::script::{Call, Script, Task};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use touchstone_executor::CodeFrom;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Config, Engine, Error, ExportId, Instance, InstanceFrom, Module, Outcome, Strategy, Support,
};

/// How a step came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// As the script says.
    Passed,
    /// The harness refused a module that has to be refused; no engine saw it.
    Refused,
    /// Not as the script says.
    Failed(String),
    /// A feature is off, or the engine does not have it.
    Unsupported(String),
    /// Not tried, and why.
    NotDriven(String),
}

/// Takes all steps of a script but those of `skip`. `before` is told of each step before
/// it is taken, `after` what came of it; a step that `skip` names is not taken, and
/// nothing is told.
pub fn drive(
    engine: &dyn Engine,
    script: &Script,
    skip: &BTreeSet<usize>,
    mut before: impl FnMut(usize),
    mut after: impl FnMut(usize, Verdict),
) {
    let mut stage =
        Stage { engine, current: None, named: HashMap::new(), registered: HashMap::new() };
    for (index, step) in script.steps.iter().enumerate() {
        if skip.contains(&index) {
            if let Task::Instantiate { name, .. } = &step.task {
                let gone = Verdict::NotDriven("its module ended the process".to_owned());
                stage.enter(name.as_deref(), Err(gone));
            }
            continue;
        }
        before(index);
        after(index, stage.take(&step.task));
    }
}

/// The strategy that adds the least to a runtime: a new instance for each call with the
/// runtime's own memory if the engine has that, else the first that it has.
///
/// # Errors
///
/// Why there is none for this guest.
pub fn strategy_for(engine: &dyn Engine, guest: &GuestModule) -> Result<Strategy, String> {
    let mut strategies = Strategy::all();
    strategies.retain(|strategy| !matches!(engine.support(*strategy), Support::Unsupported { .. }));
    strategies.sort_by_key(|strategy| {
        let anew = matches!(strategy.instance, InstanceFrom::Interpreted | InstanceFrom::Recreate);
        !(anew && strategy.code == CodeFrom::InProcess)
    });
    let mut refused = None;
    for strategy in strategies {
        match engine.support_for(strategy, guest) {
            Support::Unsupported { reason } => drop(refused.get_or_insert(reason)),
            _ => return Ok(strategy),
        }
    }
    Err(refused.unwrap_or_else(|| "the engine has no strategy".to_owned()))
}

struct Stage<'a> {
    engine: &'a dyn Engine,
    current: Option<Slot>,
    named: HashMap<String, Slot>,
    /// By the names that other modules import from.
    registered: HashMap<String, Slot>,
}

/// An instance that calls can ask for, or why there is none.
type Slot = Rc<RefCell<Result<Running, Verdict>>>;

struct Running {
    instance: Box<dyn Instance>,
    module: Box<dyn Module>,
    exports: HashMap<String, ExportId>,
    output: Vec<u8>,
    /// A call on it was not made, so that its state may not be what the script expects.
    behind: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whether it can be made clean is not what is asked here.
        let _ = self.instance.finish();
    }
}

/// How far a module came.
enum Stopped {
    /// It was not compiled.
    Refused(Error),
    /// It was not loaded, which is where some engines initialise memories.
    Unloaded(Error),
    /// There is no instance.
    Failed(Error),
}

impl Stage<'_> {
    fn take(&mut self, task: &Task) -> Verdict {
        match task {
            Task::Instantiate { name, module } => {
                let (verdict, slot) = self.instantiate(module);
                self.enter(name.as_deref(), slot);
                verdict
            }
            Task::Call { module, call, expected } => match self.slot(module.as_deref()) {
                Some(slot) => match &mut *slot.borrow_mut() {
                    Ok(running) => running.take(call, expected),
                    Err(verdict) => verdict.clone(),
                },
                None => not_driven("there is no such instance"),
            },
            Task::Register { name, module } => {
                if let Some(slot) = self.slot(module.as_deref()) {
                    self.registered.insert(name.clone(), slot);
                }
                Verdict::NotDriven(String::new())
            }
            Task::CannotInstantiate(module) => match &module.prepared {
                Prepared::Guest { guest, .. } => match self.make(guest) {
                    Ok(_) => Verdict::Failed("it could be instantiated".to_owned()),
                    Err(Stopped::Unloaded(_) | Stopped::Failed(_)) => Verdict::Passed,
                    Err(Stopped::Refused(error)) => Verdict::Unsupported(in_short(&error)),
                },
                other => {
                    self.touch(module);
                    reason(other)
                }
            },
            Task::Refuse(refusal) => match refusal {
                Refusal::Ours => Verdict::Refused,
                Refusal::Hidden(reason) => Verdict::Unsupported(reason.clone()),
                Refusal::Outdated => not_driven("it is valid since version 2.0"),
                Refusal::Engine(guest) => match self.make(guest) {
                    Ok(_) => Verdict::Failed("an invalid module was taken".to_owned()),
                    Err(_) => Verdict::Passed,
                },
            },
            Task::NotDriven(reason) => not_driven(reason),
        }
    }

    fn slot(&self, name: Option<&str>) -> Option<Slot> {
        match name {
            Some(name) => self.named.get(name).map(Rc::clone),
            None => self.current.as_ref().map(Rc::clone),
        }
    }

    /// A module was not instantiated that could have changed those it imports from.
    fn touch(&self, module: &Wanted) {
        for name in &module.imports {
            if let Some(slot) = self.registered.get(name)
                && let Ok(running) = &mut *slot.borrow_mut()
            {
                running.behind = true;
            }
        }
    }

    fn enter(&mut self, name: Option<&str>, slot: Result<Running, Verdict>) {
        let slot = Rc::new(RefCell::new(slot));
        if let Some(name) = name {
            self.named.insert(name.to_owned(), Rc::clone(&slot));
        }
        self.current = Some(slot);
    }

    /// An instance, and what became of the step; without one, why its calls are not made.
    fn instantiate(&self, module: &Wanted) -> (Verdict, Result<Running, Verdict>) {
        let Prepared::Guest { guest, basic, .. } = &module.prepared else {
            self.touch(module);
            let verdict = reason(&module.prepared);
            let calls = match &verdict {
                Verdict::Failed(_) => not_driven("its module failed"),
                other => other.clone(),
            };
            return (verdict, Err(calls));
        };
        match self.make(guest) {
            Ok(running) => (Verdict::Passed, Ok(running)),
            Err(Stopped::Refused(error) | Stopped::Unloaded(error)) if !basic => {
                let verdict = Verdict::Unsupported(in_short(&error));
                (verdict.clone(), Err(verdict))
            }
            Err(Stopped::Refused(error) | Stopped::Unloaded(error) | Stopped::Failed(error)) => (
                Verdict::Failed(format!("the module: {error}")),
                Err(not_driven("its module failed")),
            ),
        }
    }

    fn make(&self, guest: &GuestModule) -> Result<Running, Stopped> {
        let strategy = strategy_for(self.engine, guest)
            .map_err(|reason| Stopped::Refused(Error::Unhostable { reason }))?;
        let config = Config::default();
        let artifact = self.engine.compile(guest, strategy, &config).map_err(Stopped::Refused)?;
        let module =
            self.engine.load(guest, &artifact, strategy, &config).map_err(Stopped::Unloaded)?;
        let mut instance = module.new_instance().map_err(Stopped::Failed)?;
        instance.prepare().map_err(Stopped::Failed)?;
        Ok(Running { instance, module, exports: HashMap::new(), output: Vec::new(), behind: false })
    }
}

impl Running {
    fn take(&mut self, call: &Result<Call, &'static str>, expected: &Expected) -> Verdict {
        let call = match call {
            Ok(call) => call,
            Err(reason) => {
                self.behind = true;
                return not_driven(reason);
            }
        };
        if self.behind {
            return not_driven("it comes after a call that was not driven");
        }
        let outcome = match self.invoke(call) {
            Ok(outcome) => outcome,
            Err(error) => return Verdict::Failed(error.to_string()),
        };
        let failure = match (expected, outcome) {
            (Expected::Anything, Outcome::Returned) => None,
            (Expected::Returns(patterns), Outcome::Returned) => difference(patterns, &self.output),
            (Expected::Traps(message), Outcome::Returned) => {
                Some(format!("expected the trap '{message}', it returned"))
            }
            (Expected::Traps(message), Outcome::Trapped(trap)) => (!is_meant(message, &trap.kind))
                .then(|| format!("expected the trap '{message}', got: {trap}")),
            (_, Outcome::Trapped(trap)) => Some(format!("trapped: {trap}")),
        };
        failure.map_or(Verdict::Passed, Verdict::Failed)
    }

    fn invoke(&mut self, call: &Call) -> touchstone_executor::Result<Outcome> {
        let export = match self.exports.get(&call.export) {
            Some(export) => *export,
            None => {
                let export = self.module.export(&call.export, Abi::Plain)?;
                self.exports.insert(call.export.clone(), export);
                export
            }
        };
        self.instance.invoke(export, &call.input, &mut self.output)
    }
}

/// A reason that modules share.
fn in_short(error: &Error) -> String {
    match error {
        Error::Unhostable { reason } => reason.clone(),
        other => without_numbers(&other.to_string()),
    }
}

fn not_driven(reason: &str) -> Verdict {
    Verdict::NotDriven(reason.to_owned())
}

/// Why there is no guest.
fn reason(module: &Prepared) -> Verdict {
    match module {
        Prepared::Guest { .. } => Verdict::Passed,
        Prepared::Unsupported(reason) => Verdict::Unsupported(reason.clone()),
        Prepared::NotDriven(reason) => Verdict::NotDriven(reason.clone()),
        Prepared::Failed(reason) => Verdict::Failed(format!("the module: {reason}")),
    }
}
