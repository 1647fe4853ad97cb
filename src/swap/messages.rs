//! The kinds of messages, and sending them by one method.

use super::Method;
use crate::case::{Case, Guests};
use crate::lab::{Lab, Refused, checked_call};
use crate::measure::resident_kib;
use crate::plan::{Random, shuffled};
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Artifact, Config, ExportId, Instance, Module, Strategy};

/// A kind of message: a module, an input, and the expected answer.
#[derive(Debug, Clone)]
pub struct Kind {
    pub case: Arc<Case>,
    pub guest: GuestModule,
    pub input: Arc<[u8]>,
    pub expected: Arc<[u8]>,
}

/// The two kinds of two cases, on the first guest of each. Fails if a guest is missing or cannot be
/// hosted, or an input cannot be made.
pub fn kinds(cases: [&Arc<Case>; 2], guests: &mut Guests) -> anyhow::Result<Arc<[Kind; 2]>> {
    let mut kind = |case: &Arc<Case>| {
        let guest = guests.of_case(case, &case.guests[0])?;
        let heap_base = guest.info().heap_base;
        anyhow::Ok(Kind {
            input: case.input.bytes(heap_base)?.into(),
            expected: case.expect.output.bytes(heap_base)?.into(),
            case: Arc::clone(case),
            guest,
        })
    };
    Ok(Arc::new([kind(cases[0])?, kind(cases[1])?]))
}

impl Kind {
    /// A refusal that names the kind.
    fn refused(&self, refused: impl Into<Refused>) -> Refused {
        let refused = refused.into();
        Refused { reason: format!("{}: {}", self.case.name, refused.reason), ..refused }
    }
}

/// The preparation of a method before the first message, shared by all threads.
#[derive(Clone)]
pub struct Ready {
    pub method: Method,
    pub strategy: Strategy,
    pub(super) engine: Arc<dyn MeasuredEngine>,
    pub(super) kinds: Arc<[Kind; 2]>,
    config: Config,
    artifacts: [Artifact; 2],
}

pub(super) struct Loaded {
    kind: usize,
    module: Box<dyn Module>,
    export: ExportId,
}

impl Ready {
    /// Compiles both modules, unless the lab has their artifacts, and probes the strategy on each.
    /// Fails if the engine does not support the method, or a module cannot be loaded.
    pub fn new(
        method: Method,
        engine: &Arc<dyn MeasuredEngine>,
        kinds: &Arc<[Kind; 2]>,
        lab: &mut Lab,
    ) -> Result<Self, Refused> {
        let strategy = method.strategy(&**engine, kinds)?;
        let mut artifact = |kind: &Kind| {
            let (engine, heap) = (&**engine, kind.case.heap);
            let config = lab.config.clone();
            lab.load_guest(engine, strategy, &kind.guest, heap, &config)
                .and_then(|_| Ok(lab.artifact(engine, strategy, &kind.guest, heap)?.0))
                .map_err(|error| kind.refused(error))
        };
        let artifacts = [artifact(&kinds[0])?, artifact(&kinds[1])?];
        Ok(Self {
            method,
            strategy,
            engine: Arc::clone(engine),
            kinds: Arc::clone(kinds),
            config: lab.config.clone(),
            artifacts,
        })
    }

    /// Loads the module of a kind, and compiles it first if the method says so.
    pub(super) fn load(&self, kind: usize) -> Result<Loaded, Refused> {
        let of = &self.kinds[kind];
        let load = || {
            let artifact = match self.method {
                Method::Recompile => {
                    let fresh = self.engine.compile(&of.guest, self.strategy, &self.config)?;
                    fresh.stage(self.strategy)?;
                    fresh
                }
                _ => self.artifacts[kind].clone(),
            };
            let module = self.engine.load(&of.guest, &artifact, self.strategy, &self.config)?;
            let export = module.export(&of.case.export, of.case.abi)?;
            Ok(Loaded { kind, module, export })
        };
        load().map_err(|error: touchstone_executor::Error| of.refused(error))
    }

    pub(super) fn instance(&self, of: &Loaded) -> Result<Box<dyn Instance>, Refused> {
        of.module.new_instance().map_err(|error| self.kinds[of.kind].refused(error))
    }

    /// Sends a message to an instance of its module and compares the answer.
    pub(super) fn send(&self, to: &Loaded, instance: &mut dyn Instance) -> Result<(), Refused> {
        let of = &self.kinds[to.kind];
        let sent = checked_call(instance, to.export, &of.input, &of.expected);
        sent.map(drop).map_err(|refused| of.refused(refused))
    }
}

/// Sends messages of both kinds in any order.
pub struct Messages {
    ready: Ready,
    /// By kind. Methods that keep one instance leave the other empty. Instances are declared,
    /// and so dropped, before their modules.
    live: [Option<Box<dyn Instance>>; 2],
    /// By kind, likewise.
    loaded: [Option<Loaded>; 2],
    last: usize,
}

impl Messages {
    /// Loads what the method keeps, and sends a message of each kind. Fails if a module cannot be
    /// loaded or gives a wrong answer.
    pub fn new(ready: Ready) -> Result<Self, Refused> {
        let method = ready.method;
        let mut messages = Self { ready, live: [None, None], loaded: [None, None], last: 1 };
        if method.keeps_modules() {
            messages.loaded = [Some(messages.ready.load(0)?), Some(messages.ready.load(1)?)];
        }
        for kind in [0, 1] {
            messages.send(kind)?;
        }
        Ok(messages)
    }

    /// Sends a message and compares the answer. Changes the module first if the last message was of
    /// the other kind. Fails if the module cannot be loaded or the answer is wrong.
    pub fn send(&mut self, kind: usize) -> Result<(), Refused> {
        self.turn_to(kind)?;
        match (&self.loaded[kind], &mut self.live[kind]) {
            (Some(loaded), Some(live)) => self.ready.send(loaded, &mut **live),
            _ => Ok(()),
        }
    }

    /// Sends another message of a kind than its case has, and fails, as [`Self::send`] does.
    pub fn send_other(
        &mut self,
        kind: usize,
        input: &[u8],
        expected: &[u8],
    ) -> Result<(), Refused> {
        self.turn_to(kind)?;
        let (Some(loaded), Some(live)) = (&self.loaded[kind], &mut self.live[kind]) else {
            return Ok(());
        };
        let sent = checked_call(&mut **live, loaded.export, input, expected);
        sent.map(drop).map_err(|refused| self.ready.kinds[kind].refused(refused))
    }

    /// Loads the module of a kind unless it is there.
    fn turn_to(&mut self, kind: usize) -> Result<(), Refused> {
        self.last = kind;
        if self.live[kind].is_some() {
            return Ok(());
        }
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
            self.live[kind] = Some(self.ready.instance(loaded)?);
        }
        Ok(())
    }
}

/// Kinds of messages in random order. Two of each four change the kind. One more message comes
/// first, as the reference for the first change; the last one is of the same kind.
pub fn random_order(random: &mut Random, messages: usize) -> Vec<usize> {
    let mut last = usize::from(random.coin());
    let mut order = vec![last];
    while order.len() <= messages {
        for change in shuffled(vec![0, 0, 1, 1], random) {
            last ^= change;
            order.push(last);
        }
    }
    order
}

/// Number of swaps after which allocators have taken their arenas.
const WARM: u64 = 1000;

/// How often the memory is read after the first time.
const LOOKS: u64 = 10;

/// Makes `swaps` swaps, each with a message of the other kind, and reads the resident memory
/// meanwhile: `look` gets the swaps so far and KiB. The first point is after 1000 swaps, or after a
/// tenth of fewer than 10,000. Fails if a module cannot be loaded or an answer is wrong.
pub fn soak(ready: Ready, swaps: u64, mut look: impl FnMut(u64, u64)) -> Result<(), Refused> {
    let mut messages = Messages::new(ready)?;
    let mut looks: Vec<u64> = (1..=LOOKS).map(|part| swaps * part / LOOKS).collect();
    looks.insert(0, WARM.min(swaps / LOOKS));
    looks.dedup();
    let mut made = 0;
    for next in looks {
        while made < next {
            messages.send(1 - messages.last)?;
            made += 1;
        }
        look(made, resident_kib());
    }
    Ok(())
}
