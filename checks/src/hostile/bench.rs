//! An engine under attack, with a well-behaved guest beside the hostile one.

use super::attack::Class;
use super::{Line, Order, guests};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use touchstone::supervise::Parent;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Artifact, CodeFrom, Config, Error, Imports, Instance, Module, Outcome, Strategy,
};

/// Deadline of endless calls.
pub(super) const BRIEF: Duration = Duration::from_millis(100);
/// Deadline that no call should reach.
pub(super) const PATIENT: Duration = Duration::from_secs(10);

/// An engine and a strategy under attack.
pub(super) struct Bench<'a> {
    pub(super) engine: &'a Arc<dyn MeasuredEngine>,
    /// All engines; others make foreign code.
    pub(super) others: &'a [Arc<dyn MeasuredEngine>],
    pub(super) class: Class,
    /// `true` if the engine can stop calls.
    pub(super) has_deadline: bool,
    pub(super) parent: &'a mut Parent<Order, Line>,
    pub(super) artifacts: &'a mut Artifacts,
    /// Noted ends of hostile guests.
    pub(super) seen: BTreeSet<String>,
}

/// Artifacts that all rounds and strategies share.
#[derive(Default)]
pub(super) struct Artifacts(BTreeMap<(String, &'static str), Artifact>);

impl<'a> Bench<'a> {
    pub(super) fn config(&self, deadline: Duration) -> Config {
        Config {
            deadline: self.has_deadline.then_some(deadline),
            max_log_level: 5,
            log: Some(Arc::new(|_, _, _| {})),
            instances: 2,
            imports: Imports::Trap,
            ..Config::default()
        }
    }

    /// The strategy of this class for a guest. Fails with the engine's reason if it refuses the
    /// guest.
    pub(super) fn strategy(&self, guest: &GuestModule) -> Result<Strategy> {
        let of = |guest| self.class.strategy(&**self.engine, guest, CodeFrom::InProcess);
        if let Some(strategy) = of(guest) {
            return Ok(strategy);
        }
        let usual = of(&well_behaved()?).context("no strategy of this class is available")?;
        self.engine.support_for(usual, guest).check(self.engine.id(), usual)?;
        Ok(usual)
    }

    /// Compiles a guest once for all strategies that share its artifact.
    fn compiled(&mut self, guest: &GuestModule, strategy: Strategy) -> Result<Artifact, Error> {
        let key = (guest.name().to_owned(), self.engine.artifact_class(strategy));
        if let Some(artifact) = self.artifacts.0.get(&key) {
            return Ok(artifact.clone());
        }
        let artifact = self.compile(guest, strategy)?;
        self.artifacts.0.insert(key, artifact.clone());
        Ok(artifact)
    }

    pub(super) fn compile(
        &mut self,
        guest: &GuestModule,
        strategy: Strategy,
    ) -> Result<Artifact, Error> {
        self.tell(&Line::Compiling(true));
        let artifact = self.engine.compile(guest, strategy, &self.config(PATIENT));
        self.tell(&Line::Compiling(false));
        artifact
    }

    pub(super) fn load(
        &mut self,
        guest: &GuestModule,
        deadline: Duration,
    ) -> Result<Box<dyn Module>> {
        let strategy = self.strategy(guest)?;
        let artifact = self.compiled(guest, strategy)?;
        Ok(self.engine.load(guest, &artifact, strategy, &self.config(deadline))?)
    }

    /// Makes a call that shows a clean instance. Fails if its output is another one.
    pub(super) fn answers(&self, module: &dyn Module, instance: &mut dyn Instance) -> Result<()> {
        let export = module
            .export("count", Abi::Plain)
            .or_else(|_| module.export("count_packed", Abi::Substrate))?;
        let mut output = b"left over".to_vec();
        match instance.call(export, b"", &mut output)? {
            Outcome::Returned if output == guests::CLEAN => Ok(()),
            Outcome::Returned => bail!("is not clean: {output:?}"),
            Outcome::Trapped(trap) => bail!("trapped: {trap}"),
        }
    }

    pub(super) fn saw(&mut self, how: String) {
        self.seen.insert(how);
    }

    /// Notes a refusal by the executor, the compiler or the loader.
    pub(super) fn refused(&mut self, error: &Error) {
        // Without names of engine and strategy, so that equal reasons are equal.
        let text = match error {
            Error::Unsupported { reason, .. } | Error::BadArtifact { reason, .. } => reason.clone(),
            Error::Runtime { action, reason, .. } => {
                let cause = match reason.trim().rsplit_once('\n') {
                    Some((_, last)) => last.rsplit(": ").next().unwrap_or(last),
                    None => reason,
                };
                format!("cannot {action}: {cause}")
            }
            other => other.to_string(),
        };
        let short: String = text.chars().take(160).collect();
        self.saw(format!("refused: {short}"));
    }

    /// Tells the parent. Without a parent, the next message ends this process.
    fn tell(&mut self, line: &Line) {
        let _ = self.parent.say(line);
    }
}

pub(super) struct Neighbour {
    module: Box<dyn Module>,
    instance: Box<dyn Instance>,
}

impl Neighbour {
    pub(super) fn new(bench: &mut Bench<'_>) -> Result<Self> {
        let module = bench.load(&well_behaved()?, PATIENT)?;
        let instance = module.new_instance()?;
        Ok(Self { module, instance })
    }

    /// Calls the guest on its old instance and on a new one.
    pub(super) fn answers(&mut self, bench: &Bench<'_>) -> Result<()> {
        bench.answers(&*self.module, &mut *self.instance)?;
        bench.answers(&*self.module, &mut *self.module.new_instance()?)
    }
}

/// A harmless guest.
pub(super) fn well_behaved() -> Result<GuestModule> {
    let wasm = wat::parse_str(guests::well())?;
    Ok(GuestModule::new("well-behaved", &wasm, HeapPages::default())?)
}
