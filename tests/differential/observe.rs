//! Runs the calls of a sample and writes down all that can be seen of them.

use super::sample::{Call, Look, Sample, Step};
use std::fmt;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{
    Artifact, Config, Instance, Module, Outcome, Result, Strategy, TrapKind,
};

/// How one call ended. Two failures of the host are the same whatever they say.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// With this output.
    Returned(Vec<u8>),
    /// The guest trapped. The runtime's own words are left out: they may have
    /// addresses in them.
    Trapped(TrapKind),
    /// There is no instance: the start function or a segment trapped, or the
    /// engine found out only now that it cannot run the module. In its words.
    NotStarted(String),
    /// The host side failed. Right only where the same happens on a brand-new
    /// instance: an engine may find out as late as this that it cannot run a
    /// function.
    Failed(String),
}

impl PartialEq for Ended {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Returned(one), Self::Returned(other)) => one == other,
            (Self::Trapped(one), Self::Trapped(other)) => one == other,
            (Self::NotStarted(_), Self::NotStarted(_)) | (Self::Failed(_), Self::Failed(_)) => true,
            _ => false,
        }
    }
}

/// All that was seen of one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Seen {
    /// Before the calls, where it was looked.
    pub(crate) before: Option<State>,
    pub(crate) calls: Vec<Ended>,
    /// After them.
    pub(crate) after: Option<State>,
}

/// The state of an instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// `None` where there is none to be seen.
    pub(crate) memory: Option<Vec<u8>>,
    pub(crate) readers: Vec<Ended>,
}

/// A sample loaded by an engine under a strategy.
pub(crate) struct Loaded<'a> {
    sample: &'a Sample,
    module: Box<dyn Module>,
}

impl<'a> Loaded<'a> {
    pub(crate) fn new(
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
        artifact: &Artifact,
        config: &Config,
        sample: &'a Sample,
    ) -> Result<Self> {
        artifact.stage(strategy)?;
        let mut module = engine.load(&sample.guest, artifact, strategy, config)?;
        module.probe().or_else(|error| match error {
            // It looks at a live instance, which there may not be.
            wrong @ touchstone_executor::Error::WrongMode { .. } => Err(wrong),
            _ => Ok(()),
        })?;
        Ok(Self { sample, module })
    }

    /// Every step on an instance of its own, brand-new.
    pub(crate) fn run_each_anew(&self) -> Vec<Seen> {
        self.sample
            .steps
            .iter()
            .map(|step| match self.module.new_instance() {
                Ok(mut instance) => self.step(&mut *instance, step),
                Err(error) => not_started(step, &error),
            })
            .collect()
    }

    /// All steps on one instance of the contract.
    pub(crate) fn run(&self) -> Vec<Seen> {
        match self.module.new_instance() {
            Ok(mut instance) => {
                self.sample.steps.iter().map(|step| self.step(&mut *instance, step)).collect()
            }
            Err(error) => self.sample.steps.iter().map(|step| not_started(step, &error)).collect(),
        }
    }

    fn step(&self, instance: &mut dyn Instance, step: &Step) -> Seen {
        if step.look == Look::Not {
            let calls = step.calls.iter().map(|call| self.whole(instance, call)).collect();
            return Seen { calls, ..Seen::default() };
        }
        if let Err(error) = instance.prepare() {
            return not_started(step, &error);
        }
        let before = (step.look == Look::Around).then(|| self.state(instance));
        let calls = step.calls.iter().map(|call| self.invoke(instance, call)).collect();
        let after = Some(self.state(instance));
        let mut seen = Seen { before, calls, after };
        if let Err(error) = instance.finish() {
            seen.calls.push(Ended::Failed(error.to_string()));
        }
        seen
    }

    fn state(&self, instance: &mut dyn Instance) -> State {
        // Some engines show a memory of no pages, some show none.
        let memory = instance.memory().filter(|memory| !memory.is_empty()).map(<[u8]>::to_vec);
        let readers = &self.sample.readers;
        State { memory, readers: readers.iter().map(|call| self.invoke(instance, call)).collect() }
    }

    fn invoke(&self, instance: &mut dyn Instance, call: &Call) -> Ended {
        self.ended(call, |export, output| instance.invoke(export, &call.input, output, None))
    }

    fn whole(&self, instance: &mut dyn Instance, call: &Call) -> Ended {
        let ended = self.ended(call, |export, output| instance.call(export, &call.input, output));
        match ended {
            // Which of the three steps failed is seen by doing the first alone.
            Ended::Failed(_) => match instance.prepare() {
                Err(error) => Ended::NotStarted(error.to_string()),
                Ok(()) => ended,
            },
            ended => ended,
        }
    }

    fn ended(
        &self,
        call: &Call,
        run: impl FnOnce(touchstone_executor::ExportId, &mut Vec<u8>) -> Result<Outcome>,
    ) -> Ended {
        // What an earlier call left in the buffer must not come out.
        let mut output = b"left over".to_vec();
        let ended =
            self.module.export(&call.export, call.abi).and_then(|export| run(export, &mut output));
        match ended {
            Ok(Outcome::Returned) => Ended::Returned(output),
            Ok(Outcome::Trapped(trap)) => Ended::Trapped(trap.kind),
            Err(error) => Ended::Failed(error.to_string()),
        }
    }
}

/// The observation of a step without an instance.
pub(crate) fn not_started(step: &Step, error: &touchstone_executor::Error) -> Seen {
    Seen { calls: vec![Ended::NotStarted(error.to_string()); step.calls.len()], ..Seen::default() }
}

impl Seen {
    /// Calls and readers, however they ended.
    fn all(&self) -> impl Iterator<Item = &Ended> {
        let states = [&self.before, &self.after].into_iter().flatten();
        self.calls.iter().chain(states.flat_map(|state| &state.readers))
    }

    /// `true` if a limit of the engine ended something: other engines have other limits.
    pub(crate) fn met_a_limit(&self) -> bool {
        self.all().any(|ended| {
            matches!(ended, Ended::Trapped(TrapKind::StackOverflow | TrapKind::DeadlineExceeded))
        })
    }

    /// The engine's message about a call that it did not run.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.all().find_map(|ended| match ended {
            Ended::Failed(error) | Ended::NotStarted(error) => Some(error.as_str()),
            _ => None,
        })
    }

    /// Calls made, readers included.
    pub(crate) fn count(&self) -> u64 {
        self.all().count() as u64
    }

    /// The same without what engines say each in their own way: why a host
    /// function refuses depends on what the adapter looks at first.
    pub(crate) fn in_general(mut self) -> Self {
        let states = [&mut self.before, &mut self.after].into_iter().flatten();
        for ended in self.calls.iter_mut().chain(states.flat_map(|state| &mut state.readers)) {
            if let Ended::Trapped(TrapKind::HostFunction { reason, .. }) = ended {
                reason.clear();
            }
        }
        self
    }

    /// The first difference, in words; `None` when there is none.
    pub(crate) fn difference(&self, other: &Self, sample: &Sample) -> Option<String> {
        if let Some(difference) = differing(&self.before, &other.before, sample) {
            return Some(format!("before the call, {difference}"));
        }
        if self.calls != other.calls {
            let calls = |seen: &Self| {
                seen.calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ")
            };
            return Some(format!("{}\n  instead of  {}", calls(self), calls(other)));
        }
        differing(&self.after, &other.after, sample)
            .map(|difference| format!("after the call, {difference}"))
    }
}

fn differing(one: &Option<State>, other: &Option<State>, sample: &Sample) -> Option<String> {
    let (Some(one), Some(other)) = (one, other) else {
        return (one.is_some() != other.is_some()).then(|| "only one has a state".to_owned());
    };
    if let (Some(a), Some(b)) = (&one.memory, &other.memory) {
        if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
            return Some(format!(
                "the memory's byte at {at:#x} is {:#04x} instead of {:#04x}",
                a[at], b[at]
            ));
        }
        if a.len() != b.len() {
            return Some(format!("the memory has {} bytes instead of {}", a.len(), b.len()));
        }
    } else if one.memory.is_some() != other.memory.is_some() {
        return Some("only one has a memory".to_owned());
    }
    let readers = sample.readers.iter().zip(one.readers.iter().zip(&other.readers));
    for (reader, (a, b)) in readers {
        if a != b {
            return Some(format!("{reader}: {a}\n  instead of  {b}"));
        }
    }
    None
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Returned(bytes) => {
                write!(f, "returned 0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Trapped(kind) => write!(f, "trapped: {kind}"),
            Self::NotStarted(error) => write!(f, "not started: {error}"),
            Self::Failed(error) => write!(f, "the host failed: {error}"),
        }
    }
}
