//! Holds every strategy of every engine against brand-new instances, and the
//! engines against each other.

use super::known;
use super::observe::{Loaded, Seen, not_started};
use super::sample::Sample;
use super::tally::Tally;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{
    Artifact, Config, Error, Imports, InstanceFrom, MemoryFrom, Strategy, Support,
};

/// Which executors a sample is run by.
pub(crate) type Choice<'a> = dyn Fn(&dyn MeasuredEngine, Strategy) -> bool + 'a;

/// Something that a guest could tell from a brand-new instance.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Engine and strategy.
    pub(crate) executor: String,
    /// The reference of the comparison.
    pub(crate) reference: String,
    /// Position in the sequence; `None` when none of it was run.
    pub(crate) step: Option<usize>,
    pub(crate) difference: String,
}

/// Runs the sample on all engines that are chosen.
pub(crate) fn compare(
    sample: &Sample,
    engines: &[Arc<dyn MeasuredEngine>],
    chosen: &Choice<'_>,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let config = Config {
        instances: 2,
        parallel_compilation: false,
        imports: Imports::Trap,
        ..Config::default()
    };
    let mut run = false;
    let mut first: Option<(String, Vec<Seen>)> = None;
    for engine in engines {
        let Some((reference, seen)) =
            Subject { engine: &**engine, sample, config: &config }.strategies(chosen, tally)?
        else {
            continue;
        };
        run = true;
        if let Some(error) = known::error_of(engine.id(), sample.guest.wasm()) {
            tally.refuse(format!("{}, beside other engines", engine.id()), error);
            continue;
        }
        let name = format!("{} {reference}", engine.id());
        match &first {
            None => first = Some((name, seen)),
            Some((other, expected)) => across(sample, &name, &seen, other, expected, tally)?,
        }
    }
    tally.modules += u64::from(run);
    Ok(())
}

/// One engine and one sample.
struct Subject<'a> {
    engine: &'a dyn MeasuredEngine,
    sample: &'a Sample,
    config: &'a Config,
}

/// Strategies that make a new instance for each call without more ado.
pub(crate) fn plain() -> [Strategy; 2] {
    [Strategy::INTERPRETED, Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments)]
}

impl Subject<'_> {
    /// Compares all strategies; gives what the reference showed. `None` when
    /// the engine does not take the module.
    fn strategies(
        &self,
        chosen: &Choice<'_>,
        tally: &mut Tally,
    ) -> Result<Option<(Strategy, Vec<Seen>)>, Failure> {
        let Some(reference) =
            plain().into_iter().find(|strategy| self.refusal(*strategy).is_none())
        else {
            let reason = self.refusal(plain()[0]).unwrap_or_default();
            tally.refuse(self.engine.id(), &reason);
            return Ok(None);
        };
        if !chosen(self.engine, reference) {
            return Ok(None);
        }
        let mut artifacts = HashMap::new();
        let artifact = match self.artifact(reference, &mut artifacts) {
            Ok(artifact) => artifact,
            Err(error) => {
                tally.refuse(self.engine.id(), &error.to_string());
                return self.others_refuse_too(chosen, reference, &mut artifacts).map(|()| None);
            }
        };
        let seen = match self.load(reference, &artifact) {
            Ok(loaded) => loaded.run_each_anew(),
            Err(error) => self.none_started(&error),
        };
        for strategy in Strategy::all() {
            if !chosen(self.engine, strategy) {
                continue;
            }
            if let Some(reason) = self.refusal(strategy) {
                // What no module can have is no news.
                if self.engine.support(strategy).is_supported() {
                    tally.refuse(format!("{}, a strategy", self.engine.id()), &reason);
                }
                continue;
            }
            let artifact = self
                .artifact(strategy, &mut artifacts)
                .map_err(|error| self.failure(strategy, reference, format!("refused: {error}")))?;
            let found = match self.load(strategy, &artifact) {
                Ok(loaded) => loaded.run(),
                Err(error) => self.none_started(&error),
            };
            tally.sequences += 1;
            tally.calls += found.iter().map(Seen::count).sum::<u64>();
            for (step, (found, expected)) in found.iter().zip(&seen).enumerate() {
                if let Some(difference) = found.difference(expected, self.sample) {
                    let mut refusals = [found, expected].into_iter().filter_map(Seen::failure);
                    let depends = |refusal| known::depends_on_strategy(self.engine.id(), refusal);
                    if let Some(refusal) = refusals.find(|refusal| depends(refusal)) {
                        tally.refuse(format!("{}, a strategy", self.engine.id()), refusal);
                        continue;
                    }
                    let failure = self.failure(strategy, reference, difference);
                    return Err(Failure { step: Some(step), ..failure });
                }
            }
        }
        if let Some(error) = seen.iter().find_map(Seen::failure) {
            tally.refuse(self.engine.id(), error);
            return Ok(None);
        }
        Ok(Some((reference, seen)))
    }

    /// Strategies of one engine agree about whether they take a module.
    fn others_refuse_too(
        &self,
        chosen: &Choice<'_>,
        reference: Strategy,
        artifacts: &mut HashMap<&'static str, Artifact>,
    ) -> Result<(), Failure> {
        for strategy in Strategy::all() {
            if !chosen(self.engine, strategy) || self.refusal(strategy).is_some() {
                continue;
            }
            if self.artifact(strategy, artifacts).is_ok() {
                let difference = "compiles what the reference does not".to_owned();
                return Err(self.failure(strategy, reference, difference));
            }
        }
        Ok(())
    }

    fn refusal(&self, strategy: Strategy) -> Option<String> {
        match self.engine.support_for(strategy, &self.sample.guest) {
            Support::Unsupported { reason } => Some(reason),
            Support::Native | Support::Emulated { .. } => None,
        }
    }

    fn artifact(
        &self,
        strategy: Strategy,
        artifacts: &mut HashMap<&'static str, Artifact>,
    ) -> Result<Artifact, Error> {
        let class = self.engine.artifact_class(strategy);
        if let Some(artifact) = artifacts.get(class) {
            return Ok(artifact.clone());
        }
        let artifact = self.engine.compile(&self.sample.guest, strategy, self.config)?;
        artifacts.insert(class, artifact.clone());
        Ok(artifact)
    }

    fn load(&self, strategy: Strategy, artifact: &Artifact) -> Result<Loaded<'_>, Error> {
        Loaded::new(self.engine, strategy, artifact, self.config, self.sample)
    }

    fn none_started(&self, error: &Error) -> Vec<Seen> {
        self.sample.steps.iter().map(|step| not_started(step, error)).collect()
    }

    fn failure(&self, strategy: Strategy, reference: Strategy, difference: String) -> Failure {
        Failure {
            executor: format!("{} {strategy}", self.engine.id()),
            reference: format!("{} {reference}, a new instance for each call", self.engine.id()),
            step: None,
            difference,
        }
    }
}

/// Two engines on new instances.
fn across(
    sample: &Sample,
    name: &str,
    seen: &[Seen],
    other: &str,
    expected: &[Seen],
    tally: &mut Tally,
) -> Result<(), Failure> {
    for (step, (seen, expected)) in seen.iter().zip(expected).enumerate() {
        if seen.met_a_limit() || expected.met_a_limit() {
            continue;
        }
        tally.across += 1;
        if seen == expected {
            continue;
        }
        let (seen, expected) = (seen.clone().in_general(), expected.clone().in_general());
        if let Some(difference) = seen.difference(&expected, sample) {
            return Err(Failure {
                executor: name.to_owned(),
                reference: other.to_owned(),
                step: Some(step),
                difference,
            });
        }
    }
    Ok(())
}

impl Failure {
    /// Of an engine that panicked; standard error says which one and where.
    pub(crate) fn panic() -> Self {
        Self {
            executor: "an engine".to_owned(),
            reference: "the contract".to_owned(),
            step: None,
            difference: "it panicked".to_owned(),
        }
    }

    /// All that is needed to see it again.
    pub(crate) fn describe(&self, sample: &Sample) -> String {
        let text = wasmprinter::print_bytes(sample.guest.wasm());
        let text = text.unwrap_or_else(|error| format!("the module cannot be printed: {error}"));
        let sequence: Vec<_> = (0..)
            .zip(&sample.steps)
            .map(|(index, step)| {
                let mark = if self.step == Some(index) { '>' } else { ' ' };
                format!("{mark} {index}: {step}")
            })
            .collect();
        let sequence = sequence.join("\n");
        let (seed, index) = (sample.id.seed, sample.id.index);
        format!(
            "{text}\ncalls:\n{sequence}\n{self}\nagain: make fuzz FUZZ_SEED={seed} FUZZ_INDEX={index}"
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executor, reference, step, difference } = self;
        write!(f, "{executor}, held against {reference}")?;
        if let Some(step) = step {
            write!(f, ", call {step}")?;
        }
        write!(f, ": {difference}")
    }
}
