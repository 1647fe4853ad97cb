//! A kind of message, and its module at work.

use super::Problem;
use crate::case::Case;
use crate::guests::Guests;
use crate::session::abbreviate;
use std::collections::HashMap;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Config, Engine, ExportId, Instance, Module, Outcome, Result, Strategy,
};

/// A kind of message: the module that answers it, what it is given, what has to come out.
#[derive(Debug, Clone)]
pub struct Kind {
    /// The case.
    pub name: String,
    /// The module.
    pub guest: GuestModule,
    /// The guest's name and the SHA-256 of its file.
    pub file: (String, String),
    export: String,
    abi: Abi,
    /// The message.
    pub input: Arc<[u8]>,
    /// The answer.
    pub expected: Arc<[u8]>,
}

/// The two kinds of two cases, on the first guest of each.
///
/// # Errors
///
/// When a guest is missing or cannot be hosted, or an input cannot be made.
pub fn kinds(cases: &[Case; 2], guests: &mut Guests) -> anyhow::Result<[Kind; 2]> {
    let mut kind = |case: &Case| -> anyhow::Result<Kind> {
        let name = &case.guests[0];
        let sha256 = guests.file(name)?.sha256.clone();
        let guest = guests.module(name, case.heap.into())?;
        let heap_base = guest.info().heap_base;
        Ok(Kind {
            name: case.name.clone(),
            file: (name.clone(), sha256),
            export: case.export.clone(),
            abi: case.abi,
            input: case.input.bytes(heap_base)?.into(),
            expected: case.expect.output.bytes(heap_base)?.into(),
            guest,
        })
    };
    Ok([kind(&cases[0])?, kind(&cases[1])?])
}

impl Kind {
    /// Loads its module and resolves the export.
    pub(super) fn load(
        &self,
        engine: &dyn Engine,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Loaded> {
        let module = engine.load(&self.guest, artifact, strategy, config)?;
        let export = module.export(&self.export, self.abi)?;
        Ok(Loaded { module: module.into(), export })
    }

    /// The same, looked at first: is what the strategy's name says in force?
    pub(super) fn probe(
        &self,
        engine: &dyn Engine,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<()> {
        engine.load(&self.guest, artifact, strategy, config)?.probe()
    }

    /// Sends the message to an instance of its module and compares the answer.
    pub(super) fn send(
        &self,
        live: &mut Live,
        output: &mut Vec<u8>,
        place: impl Fn() -> String,
    ) -> std::result::Result<(), Problem> {
        let outcome = live.instance.call(live.export, std::hint::black_box(&self.input), output);
        match outcome {
            Ok(Outcome::Returned) if **output == *self.expected => Ok(()),
            Ok(Outcome::Returned) => Err(Problem::Wrong {
                place: place(),
                kind: self.name.clone(),
                expected: abbreviate(&self.expected),
                got: abbreviate(output),
            }),
            Ok(Outcome::Trapped(trap)) => {
                let (kind, source) = (self.name.clone(), Box::new(trap));
                Err(Problem::Trapped { place: place(), kind, source })
            }
            Err(source) => Err(Problem::host(place(), self, source)),
        }
    }
}

/// A loaded module and what of it is called.
pub(super) struct Loaded {
    module: Arc<dyn Module>,
    export: ExportId,
}

impl Loaded {
    /// A new instance of it.
    pub(super) fn instance(&self) -> Result<Live> {
        Ok(Live { instance: self.module.new_instance()?, export: self.export })
    }
}

/// An instance of a kind's module, ready for its messages.
pub(super) struct Live {
    instance: Box<dyn Instance>,
    export: ExportId,
}

/// What was compiled beforehand, shared by all strategies that can load it.
#[derive(Default)]
pub struct Artifacts(HashMap<(&'static str, String), Artifact>);

impl Artifacts {
    /// The artifact of a kind for a strategy, compiled if there is none yet, and staged.
    ///
    /// # Errors
    ///
    /// When the runtime cannot compile or store it.
    pub(super) fn of(
        &mut self,
        engine: &dyn Engine,
        kind: &Kind,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        let key = (engine.artifact_class(strategy), kind.name.clone());
        let artifact = match self.0.get(&key) {
            Some(artifact) => artifact.clone(),
            None => {
                let artifact = engine.compile(&kind.guest, strategy, config)?;
                self.0.insert(key, artifact.clone());
                artifact
            }
        };
        engine.stage(&artifact, strategy)?;
        Ok(artifact)
    }
}
