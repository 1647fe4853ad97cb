//! Sending messages by one method.

use super::{Kind, Method};
use crate::lab::{Lab, Refused, checked_call, host};
use crate::plan::Cell;
use std::sync::Arc;
use touchstone_executor::{Artifact, Config, Engine, ExportId, Instance, Module, Strategy};

/// What a method prepares before the first message, shared by all threads.
#[derive(Clone)]
pub struct Ready {
    /// The method.
    pub method: Method,
    /// The strategy of its instances.
    pub strategy: Strategy,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) kinds: Arc<[Kind; 2]>,
    config: Config,
    artifacts: [Artifact; 2],
}

/// A loaded module and its export.
pub(super) struct Loaded {
    module: Box<dyn Module>,
    export: ExportId,
}

/// An instance of a kind's module, ready for its messages.
pub(super) struct Live {
    instance: Box<dyn Instance>,
    export: ExportId,
}

impl Ready {
    /// Compiles both modules, unless the lab has their artifacts, and probes the strategy on
    /// each.
    ///
    /// # Errors
    ///
    /// When the engine does not support the method, or a module cannot be loaded.
    pub fn new(
        method: Method,
        engine: &Arc<dyn Engine>,
        kinds: &Arc<[Kind; 2]>,
        lab: &mut Lab,
    ) -> Result<Self, Refused> {
        let strategy = method.strategy(&**engine, kinds)?;
        let mut artifact = |kind: &Kind| {
            let cell = Cell::new(&kind.case, &kind.case.guests[0], engine, strategy, 1);
            lab.load(&cell)?;
            let heap = kind.case.heap.into();
            lab.artifact(&**engine, strategy, &kind.guest, heap).map_err(host)
        };
        let [first, second] = &**kinds;
        let (first, _) = artifact(first).map_err(|refused| first.refused(refused))?;
        let (second, _) = artifact(second).map_err(|refused| second.refused(refused))?;
        lab.unload();
        Ok(Self {
            method,
            strategy,
            engine: Arc::clone(engine),
            kinds: Arc::clone(kinds),
            config: lab.config().clone(),
            artifacts: [first, second],
        })
    }

    /// Loads the module of a kind, and compiles it first if the method says so.
    pub(super) fn load(&self, kind: usize) -> Result<Loaded, Refused> {
        let of = &self.kinds[kind];
        let load = || {
            let artifact = match self.method {
                Method::Recompile => {
                    let fresh = self.engine.compile(&of.guest, self.strategy, &self.config)?;
                    self.engine.stage(&fresh, self.strategy)?;
                    fresh
                }
                _ => self.artifacts[kind].clone(),
            };
            let module = self.engine.load(&of.guest, &artifact, self.strategy, &self.config)?;
            let export = module.export(&of.case.export, of.case.abi)?;
            Ok(Loaded { module, export })
        };
        load().map_err(|error| of.refused(host(error)))
    }

    /// A new instance of a loaded module.
    pub(super) fn instance(&self, kind: usize, loaded: &Loaded) -> Result<Live, Refused> {
        match loaded.module.new_instance() {
            Ok(instance) => Ok(Live { instance, export: loaded.export }),
            Err(error) => Err(self.kinds[kind].refused(host(error))),
        }
    }

    /// Sends a message to an instance of its module and compares the answer.
    pub(super) fn send(&self, kind: usize, live: &mut Live) -> Result<(), Refused> {
        let of = &self.kinds[kind];
        let sent = checked_call(&mut *live.instance, live.export, &of.input, &of.expected);
        sent.map(drop).map_err(|refused| of.refused(refused))
    }
}

/// Sends messages of both kinds in any order.
pub struct Messages {
    ready: Ready,
    /// By kind. Methods that keep one instance leave the other empty. Instances are declared,
    /// and so dropped, before their modules.
    live: [Option<Live>; 2],
    /// By kind, likewise.
    loaded: [Option<Loaded>; 2],
    last: usize,
    changes: u64,
}

impl Messages {
    /// Loads what the method keeps, and sends a message of each kind.
    ///
    /// # Errors
    ///
    /// When a module cannot be loaded or gives a wrong answer.
    pub fn new(ready: Ready) -> Result<Self, Refused> {
        let method = ready.method;
        let mut messages =
            Self { ready, live: [None, None], loaded: [None, None], last: 1, changes: 0 };
        for kind in [0, 1] {
            if method.keeps_modules() {
                messages.loaded[kind] = Some(messages.ready.load(kind)?);
            }
        }
        for kind in [0, 1] {
            messages.send(kind)?;
        }
        Ok(messages)
    }

    /// The kind of the last message.
    #[must_use]
    pub fn last(&self) -> usize {
        self.last
    }

    /// Number of changes of kind so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Sends a message and compares the answer. Changes the module first if the last message was
    /// of the other kind.
    ///
    /// # Errors
    ///
    /// When the module cannot be loaded or the answer is wrong.
    pub fn send(&mut self, kind: usize) -> Result<(), Refused> {
        self.changes += u64::from(self.last != kind);
        self.last = kind;
        if self.live[kind].is_none() {
            self.change_to(kind)?;
        }
        match &mut self.live[kind] {
            Some(live) => self.ready.send(kind, live),
            None => Ok(()),
        }
    }

    fn change_to(&mut self, kind: usize) -> Result<(), Refused> {
        let method = self.ready.method;
        // Drop the old one first, so that there are never two.
        if !method.keeps_instances() {
            self.live = [None, None];
        }
        if !method.keeps_modules() {
            self.loaded = [None, None];
            self.loaded[kind] = Some(self.ready.load(kind)?);
        }
        if let Some(loaded) = &self.loaded[kind] {
            self.live[kind] = Some(self.ready.instance(kind, loaded)?);
        }
        Ok(())
    }
}
