//! Runs a script on one engine through the contract alone.
//!
//! Each module of the script is a guest with one instance, which is prepared once. The script's
//! calls are invoked on it in order, and it is finished when no later call can use it. State
//! therefore carries over from call to call, also after a trap, as the scripts expect.

use super::expect::{Expected, difference, is_meant};
use super::prepare::{Prepared, Refusal, Wanted, without_numbers};
use super::script::{Call, Script, Task};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{self, GuestModule};
use touchstone_executor::{
    Abi, CodeFrom, Config, Error, ExportId, Imports, Instance, InstanceFrom, Module, Outcome,
    Strategy, Support,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Passed,
    /// The harness refused the module, as it must, before any engine saw it.
    Refused,
    /// The result differs from the expected one.
    Failed(String),
    /// A feature is off, or the engine does not have it.
    Unsupported(String),
    /// Not tried, with the reason.
    NotDriven(String),
}

/// Runs all steps of a script except those in `skip`. `tell` gets each step as it begins, and again
/// with its verdict. Fails if `tell` fails.
pub fn drive(
    engine: &dyn MeasuredEngine,
    script: &Script,
    skip: &BTreeSet<usize>,
    mut tell: impl FnMut(usize, Option<Verdict>) -> Result<()>,
) -> Result<()> {
    let mut stage = Stage { engine, slots: HashMap::new(), registered: HashMap::new() };
    for (index, step) in script.steps.iter().enumerate() {
        if skip.contains(&index) {
            if let Task::Instantiate { name, .. } = &step.task {
                stage.enter(name, Err(not_driven("its module ended the process")));
            }
            continue;
        }
        tell(index, None)?;
        tell(index, Some(stage.take(&step.task)))?;
    }
    Ok(())
}

/// The strategy that adds the least to a runtime: a new instance per call on the runtime's own
/// memory if the engine has that, else the first supported one. Fails with the reason if there is
/// none.
pub fn strategy_for(engine: &dyn MeasuredEngine, guest: &GuestModule) -> Result<Strategy, String> {
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
    engine: &'a dyn MeasuredEngine,
    /// By name; the current one is also there without a name.
    slots: HashMap<Option<String>, Slot>,
    registered: HashMap<String, Slot>,
}

/// A callable instance, or the reason why there is none.
type Slot = Rc<RefCell<Result<Running, Verdict>>>;

struct Running {
    instance: Box<dyn Instance>,
    module: Box<dyn Module>,
    exports: HashMap<String, ExportId>,
    output: Vec<u8>,
    /// A call was left out, so the state may differ from what the script expects.
    behind: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Cleaning may fail; no call follows.
        let _ = self.instance.finish();
    }
}

/// The step at which a module failed.
enum Stopped {
    /// Compiling.
    Refused(Error),
    /// Loading, where some engines initialise memories.
    Unloaded(Error),
    /// Instantiating.
    Failed(Error),
}

impl Stage<'_> {
    fn take(&mut self, task: &Task) -> Verdict {
        match task {
            Task::Instantiate { name, module } => {
                let (verdict, slot) = self.instantiate(module);
                self.enter(name, slot);
                verdict
            }
            Task::Call { expected, .. }
                if expected.is_exhaustion() && !self.engine.capabilities().recursion =>
            {
                not_driven("endless recursion: it ends the process on this engine")
            }
            Task::Call { module, call, expected } => match self.slots.get(module) {
                Some(slot) => match &mut *slot.borrow_mut() {
                    Ok(running) => running.take(call, expected),
                    Err(verdict) => verdict.clone(),
                },
                None => not_driven("there is no such instance"),
            },
            Task::Register { name, module } => {
                if let Some(slot) = self.slots.get(module) {
                    self.registered.insert(name.clone(), Rc::clone(slot));
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

    /// Marks the instances that a module imports from: its instantiation could have changed them.
    fn touch(&self, module: &Wanted) {
        for name in &module.imports {
            if let Some(slot) = self.registered.get(name)
                && let Ok(running) = &mut *slot.borrow_mut()
            {
                running.behind = true;
            }
        }
    }

    fn enter(&mut self, name: &Option<String>, slot: Result<Running, Verdict>) {
        let slot = Rc::new(RefCell::new(slot));
        self.slots.insert(name.clone(), Rc::clone(&slot));
        self.slots.insert(None, slot);
    }

    /// The instance and the verdict of the step; without an instance, the verdict of its calls.
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
            .map_err(|reason| Stopped::Refused(Error::unhostable(reason)))?;
        let config = Config { imports: Imports::Trap, ..Config::default() };
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
        self.instance.invoke(export, &call.input, &mut self.output, None)
    }
}

/// The error in a form that is the same for different modules.
fn in_short(error: &Error) -> String {
    match error {
        Error::Guest(guest::Error::Unhostable { reason }) => reason.clone(),
        other => without_numbers(&other.to_string()),
    }
}

fn not_driven(reason: &str) -> Verdict {
    Verdict::NotDriven(reason.to_owned())
}

/// The verdict on a module without a guest.
fn reason(module: &Prepared) -> Verdict {
    match module {
        Prepared::Guest { .. } => Verdict::Passed,
        Prepared::Unsupported(reason) => Verdict::Unsupported(reason.clone()),
        Prepared::NotDriven(reason) => Verdict::NotDriven(reason.clone()),
        Prepared::Failed(reason) => Verdict::Failed(format!("the module: {reason}")),
    }
}
