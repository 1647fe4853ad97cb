//! The rungs of the ladder: ways to have the right module at hand.

use super::kind::{Live, Loaded};
use super::{Artifacts, Kind, Problem};
use std::fmt;
use std::sync::Arc;
use touchstone_executor::{Artifact, Config, Engine, Strategy, Support};

/// A way to have the right module at hand, dearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// At each change: compile, load, make an instance.
    Recompile,
    /// Compiled beforehand. At each change: load, make an instance.
    LoadArtifact,
    /// Both loaded beforehand. At each change: make an instance.
    Instantiate,
    /// An instance of each, kept and reset in place.
    TwoLive,
    /// A pool for each.
    Pool,
}

impl Step {
    /// All of them, in their order.
    pub const ALL: [Self; 5] =
        [Self::Recompile, Self::LoadArtifact, Self::Instantiate, Self::TwoLive, Self::Pool];

    /// Name in filters, tables and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recompile => "recompile",
            Self::LoadArtifact => "load_artifact",
            Self::Instantiate => "instantiate",
            Self::TwoLive => "two_live_instances",
            Self::Pool => "pool",
        }
    }

    /// Strategies that will do, the best first.
    fn strategies(self) -> &'static [&'static str] {
        match self {
            Self::Recompile | Self::LoadArtifact | Self::Instantiate => {
                &["recreate_instance_cow", "recreate_instance", "interpreted"]
            }
            Self::TwoLive => &["instance_reuse_tracked"],
            Self::Pool => &["pooling_cow", "pooling_tracked"],
        }
    }

    /// The first of its strategies that the engine has for both modules.
    ///
    /// # Errors
    ///
    /// [`Problem::LeftOut`] with the reason against the last one.
    pub fn strategy(self, engine: &dyn Engine, kinds: &[Kind; 2]) -> Result<Strategy, Problem> {
        let mut reason = String::new();
        for strategy in self.strategies().iter().filter_map(|name| name.parse().ok()) {
            let against =
                kinds.iter().find_map(|kind| match engine.support_for(strategy, &kind.guest) {
                    Support::Unsupported { reason } => Some(reason),
                    _ => None,
                });
            match against {
                None => return Ok(strategy),
                Some(against) => reason = format!("{strategy}: {against}"),
            }
        }
        Err(Problem::LeftOut { reason })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One rung of an engine, ready for messages of both kinds in any order.
pub struct Rung<'a> {
    step: Step,
    strategy: Strategy,
    engine: Arc<dyn Engine>,
    config: &'a Config,
    kinds: &'a [Kind; 2],
    artifacts: [Artifact; 2],
    /// By kind; of the rungs that keep one instance, the other is empty. Instances
    /// come before their modules, here and where they are dropped.
    live: [Option<Live>; 2],
    /// The module that was loaded at the last change.
    module: Option<Loaded>,
    /// The modules that were loaded beforehand.
    loaded: Vec<Loaded>,
    last: Option<usize>,
    changes: u64,
    output: Vec<u8>,
}

impl<'a> Rung<'a> {
    /// Compiles and loads what the rung has beforehand, probes the strategy, and sends
    /// a message of each kind.
    ///
    /// # Errors
    ///
    /// [`Problem`]; the engine may not have the rung.
    pub fn new(
        step: Step,
        engine: &Arc<dyn Engine>,
        kinds: &'a [Kind; 2],
        artifacts: &mut Artifacts,
        config: &'a Config,
    ) -> Result<Self, Problem> {
        let strategy = step.strategy(&**engine, kinds)?;
        let place = move || format!("{}/{step}", engine.id());
        let host = |kind: &'a Kind| move |source| Problem::host(place(), kind, source);
        let mut artifact = |kind: &Kind| {
            let artifact = artifacts.of(&**engine, kind, strategy, config)?;
            kind.probe(&**engine, &artifact, strategy, config)?;
            Ok(artifact)
        };
        let artifacts = [
            artifact(&kinds[0]).map_err(host(&kinds[0]))?,
            artifact(&kinds[1]).map_err(host(&kinds[1]))?,
        ];
        let mut rung = Self {
            step,
            strategy,
            engine: Arc::clone(engine),
            config,
            kinds,
            artifacts,
            live: [None, None],
            module: None,
            loaded: Vec::new(),
            last: None,
            changes: 0,
            output: Vec::new(),
        };
        if !matches!(step, Step::Recompile | Step::LoadArtifact) {
            for (kind, artifact) in kinds.iter().zip(&rung.artifacts) {
                let loaded =
                    kind.load(&**engine, artifact, strategy, config).map_err(host(kind))?;
                rung.loaded.push(loaded);
            }
        }
        if matches!(step, Step::TwoLive | Step::Pool) {
            for (index, kind) in kinds.iter().enumerate() {
                rung.live[index] = Some(rung.loaded[index].instance().map_err(host(kind))?);
            }
        }
        for kind in [0, 1] {
            rung.send(kind)?;
        }
        Ok(rung)
    }

    /// Which rung it is.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    /// The strategy of its instances.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The kind of the last message.
    #[must_use]
    pub fn last(&self) -> usize {
        self.last.unwrap_or(0)
    }

    /// Messages so far of another kind than the one before.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Sends a message of a kind, after having changed to its module where the last
    /// was of the other kind, and compares the answer.
    ///
    /// # Errors
    ///
    /// [`Problem`], also for an answer other than the expected one.
    pub fn send(&mut self, kind: usize) -> Result<(), Problem> {
        let (step, kinds) = (self.step, self.kinds);
        let engine = Arc::clone(&self.engine);
        let place = || format!("{}/{step}", engine.id());
        let host = |source| Problem::host(place(), &kinds[kind], source);
        if self.last != Some(kind) {
            self.changes += u64::from(self.last.is_some());
            self.last = Some(kind);
            self.change_to(kind).map_err(host)?;
        }
        let Some(live) = &mut self.live[kind] else {
            return Err(host(touchstone_executor::Error::Misuse("there is no instance")));
        };
        kinds[kind].send(live, &mut self.output, place)
    }

    /// Sends messages one after the other.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send), at the first.
    pub fn send_all(&mut self, order: &[usize]) -> Result<(), Problem> {
        order.iter().try_for_each(|kind| self.send(*kind))
    }

    fn change_to(&mut self, kind: usize) -> touchstone_executor::Result<()> {
        if matches!(self.step, Step::TwoLive | Step::Pool) {
            return Ok(());
        }
        // The old one goes first: never are there two of them.
        self.live = [None, None];
        self.module = None;
        if let Some(loaded) = self.loaded.get(kind) {
            self.live[kind] = Some(loaded.instance()?);
            return Ok(());
        }
        let fresh;
        let artifact = match self.step {
            Step::Recompile => {
                let guest = &self.kinds[kind].guest;
                fresh = self.engine.compile(guest, self.strategy, self.config)?;
                self.engine.stage(&fresh, self.strategy)?;
                &fresh
            }
            _ => &self.artifacts[kind],
        };
        let loaded = self.kinds[kind].load(&*self.engine, artifact, self.strategy, self.config)?;
        self.live[kind] = Some(loaded.instance()?);
        self.module = Some(loaded);
        Ok(())
    }
}
