//! Detects leaks of one kind of state in one module: a call changes the state and the next one
//! looks, in every order of calls.

use super::kinds::{Act, Ends, Kind, Spoil};
use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_executor::harness::swap::{swap_out, swap_space};
use touchstone_executor::{
    CallOptions, Error, ExportId, Instance, InterruptHandle, Limits, Module, Outcome, TrapKind,
};

/// The result for one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Detected {
    /// No call saw state of an earlier one, and the change was visible before cleaning.
    Clean,
    /// No leak, but the change was not visible before cleaning either: the reason.
    Unproven(String),
    /// A call saw state of an earlier one: which.
    Leak(String),
}

/// A failure before there was a result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("{0}")]
    Host(#[from] Error),
    /// A call did not do its planted work.
    #[error("{0}")]
    Wrong(String),
}

/// Searches for leaks, and counts observations.
pub(super) struct Detector<'a> {
    module: &'a dyn Module,
    kind: &'a Kind,
    clean: Vec<u8>,
    observe: ExportId,
    spoils: Vec<(&'a Spoil, ExportId)>,
    /// Ends calls from within: a host function of the guest interrupts it.
    interrupt: InterruptHandle,
    /// Number of compared observations.
    pub(super) checks: u64,
    /// Pages of guests that were swapped out before a reset.
    swapped: AtomicUsize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Output(Vec<u8>),
    /// A trap. A deadline says nothing about the state.
    Trapped(TrapKind),
}

/// A way that needs swap space. As the last one, it hides no leak of another way.
const SWAPPED: &str = "on the same instance, whose memory was swapped out before the reset,";

/// Free swap space in bytes from which on memories are swapped out.
const SPACE: u64 = 32 << 20;

/// Rounds of all changing calls in turn: strategies learn which pages calls write.
const ROUNDS: usize = 24;

/// Operators of a call that runs out of fuel: after its changes.
const FUEL: u64 = 10_000;

/// Attempts of an observation that a deadline stopped.
const ATTEMPTS: usize = 10;

impl<'a> Detector<'a> {
    /// Resolves the exports.
    pub(super) fn new(
        module: &'a dyn Module,
        kind: &'a Kind,
        limits_recursion: bool,
        interrupt: &InterruptHandle,
    ) -> Result<Self, Error> {
        let export = |act: &Act| module.export(&act.export, act.abi);
        let spoils = kind
            .spoils
            .iter()
            .filter(|spoil| limits_recursion || spoil.ends != Ends::Recursing)
            .map(|spoil| Ok((spoil, export(&spoil.act)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        let observe = export(&kind.observe)?;
        let interrupt = interrupt.clone();
        Ok(Self {
            module,
            kind,
            clean: kind.clean(),
            observe,
            spoils,
            interrupt,
            checks: 0,
            swapped: AtomicUsize::new(0),
        })
    }

    pub(super) fn detect(&mut self) -> Result<Detected, Problem> {
        let first = self.patiently(|detector| detector.look(&mut *detector.instance()?))?;
        if let Some(difference) = self.difference(&first) {
            return Err(Problem::Wrong(format!("a new instance {difference}")));
        }
        let mut leaks: Vec<String> = Vec::new();
        // A leak can keep the next call from its work, so a failed call alone proves nothing.
        let mut wrong: Option<Problem> = None;
        let unproven = past(self.unproven(), &mut wrong)?.flatten();
        for (words, is_for_long, way) in WAYS {
            if self.kind.needs_deadline() && !is_for_long || *words == SWAPPED && !can_swap() {
                continue;
            }
            for index in 0..self.spoils.len() {
                let seen = past(self.patiently(|detector| way(detector, index)), &mut wrong)?;
                if let Some(difference) = seen.and_then(|seen| self.difference(&seen)) {
                    let export = &self.spoils[index].0.act.export;
                    leaks.push(format!("after `{export}`, a call {words} {difference}"));
                }
            }
        }
        if leaks.is_empty() && !self.kind.needs_deadline() {
            leaks.extend(past(self.in_turn(), &mut wrong)?.flatten());
        }
        match (leaks.split_first(), wrong) {
            (Some((first, [])), _) => Ok(Detected::Leak(first.clone())),
            (Some((first, more)), _) => {
                Ok(Detected::Leak(format!("{first}; {} more checks found it", more.len())))
            }
            (None, Some(problem)) => Err(problem),
            (None, None) => Ok(unproven.map_or(Detected::Clean, Detected::Unproven)),
        }
    }

    /// Number of pages that were swapped out so far.
    pub(super) fn swapped(&self) -> u64 {
        self.swapped.load(Ordering::Relaxed) as u64
    }

    /// The reason why a change is not visible without cleaning; `None` if all are.
    fn unproven(&mut self) -> Result<Option<String>, Problem> {
        if !self.kind.lasting {
            return Ok(None);
        }
        for (index, (spoil, _)) in self.spoils.iter().enumerate() {
            let warm = |detector: &Self| -> Result<Result<Seen, Error>, Problem> {
                let instance = &mut *detector.instance()?;
                instance.prepare()?;
                detector.spoil_prepared(instance, index)?;
                let mut output = Vec::new();
                let seen = instance.invoke(
                    detector.observe,
                    &detector.kind.observe.input,
                    &mut output,
                    None,
                );
                instance.finish()?;
                Ok(seen.map(|outcome| Seen::of(outcome, output)))
            };
            let stopped = Seen::Trapped(TrapKind::DeadlineExceeded);
            let mut seen = warm(self)?;
            for _ in 1..ATTEMPTS {
                // A busy machine proves nothing.
                if seen.as_ref().ok() != Some(&stopped) {
                    break;
                }
                seen = warm(self)?;
            }
            let export = &spoil.act.export;
            let found = match seen {
                Ok(seen) if seen == stopped => format!("is stopped at once after `{export}`"),
                Ok(seen) if seen == Seen::Output(self.clean.clone()) => {
                    format!("does not see what `{export}` changed either")
                }
                Ok(_) => continue,
                Err(error) => format!("is refused after `{export}`: {error}"),
            };
            return Ok(Some(format!("a second call on the used instance {found}")));
        }
        Ok(None)
    }

    /// All changing calls in turn, each followed by an observation.
    fn in_turn(&mut self) -> Result<Option<String>, Problem> {
        let instance = &mut *self.instance()?;
        for round in 0..ROUNDS {
            for index in 0..self.spoils.len() {
                self.spoil(instance, index)?;
                let seen = self.look(instance)?;
                self.checks += 1;
                if let Some(difference) = self.difference(&seen) {
                    let export = &self.spoils[index].0.act.export;
                    return Ok(Some(format!(
                        "in round {} of all spoiling calls in turn, after `{export}`, a call on \
                         the same instance {difference}",
                        round + 1
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Makes one check, and repeats it if a deadline stopped the observation.
    fn patiently(
        &mut self,
        check: impl Fn(&Self) -> Result<Seen, Problem>,
    ) -> Result<Seen, Problem> {
        self.checks += 1;
        for _ in 1..ATTEMPTS {
            let seen = check(self)?;
            if seen != Seen::Trapped(TrapKind::DeadlineExceeded) {
                return Ok(seen);
            }
        }
        check(self)
    }

    /// The difference from a clean instance, in words that follow "a call".
    fn difference(&self, seen: &Seen) -> Option<String> {
        match seen {
            Seen::Output(output) if *output == self.clean => None,
            Seen::Output(output) => Some(differing(&self.clean, output)),
            Seen::Trapped(kind) => Some(format!("traps: {kind}")),
        }
    }

    fn instance(&self) -> Result<Box<dyn Instance>, Problem> {
        Ok(self.module.new_instance()?)
    }

    /// The observing call.
    fn look(&self, instance: &mut dyn Instance) -> Result<Seen, Problem> {
        // The old content of the buffer is no output.
        let mut output = b"left over".to_vec();
        let outcome = instance.call(self.observe, &self.kind.observe.input, &mut output)?;
        Ok(Seen::of(outcome, output))
    }

    /// A whole changing call.
    fn spoil(&self, instance: &mut dyn Instance, index: usize) -> Result<(), Problem> {
        instance.prepare()?;
        let spoiled = self.spoil_prepared(instance, index);
        instance.finish()?;
        spoiled
    }

    /// A changing call on a prepared instance.
    fn spoil_prepared(&self, instance: &mut dyn Instance, index: usize) -> Result<(), Problem> {
        let (spoil, export) = &self.spoils[index];
        self.interrupt.clear();
        let options = match spoil.ends {
            Ends::Interrupted => {
                Some(CallOptions { interrupt: Some(self.interrupt.clone()), ..Default::default() })
            }
            Ends::OutOfFuel => {
                let limits = Limits { fuel: Some(FUEL), ..Limits::default() };
                Some(CallOptions { limits, ..CallOptions::default() })
            }
            _ => None,
        };
        ended(spoil, instance.invoke(*export, &spoil.act.input, &mut Vec::new(), options))
    }
}

impl Seen {
    fn of(outcome: Outcome, output: Vec<u8>) -> Self {
        match outcome {
            Outcome::Returned => Self::Output(output),
            Outcome::Trapped(trap) => Self::Trapped(trap.kind),
        }
    }
}

/// Continues after a call that did not do its work, and keeps the first such problem.
fn past<T>(result: Result<T, Problem>, wrong: &mut Option<Problem>) -> Result<Option<T>, Problem> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(problem @ Problem::Wrong(_)) => {
            wrong.get_or_insert(problem);
            Ok(None)
        }
        Err(problem) => Err(problem),
    }
}

/// Fails if a changing call did not do its work.
fn ended(spoil: &Spoil, called: Result<Outcome, Error>) -> Result<(), Problem> {
    let outcome = match called {
        Err(Error::HostPanicked { .. }) if spoil.ends == Ends::Panicking => return Ok(()),
        called => called?,
    };
    let (well, how) = match outcome.trap() {
        None => (spoil.ends == Ends::Returning, "returned".to_owned()),
        Some(trap) => {
            let well = match spoil.ends {
                Ends::Returning | Ends::Panicking => false,
                Ends::Stopped => trap.kind == TrapKind::DeadlineExceeded,
                Ends::Interrupted => trap.kind == TrapKind::Interrupted,
                Ends::OutOfFuel => trap.kind == TrapKind::OutOfFuel,
                Ends::Trapping | Ends::Recursing => trap.kind != TrapKind::DeadlineExceeded,
            };
            (well, format!("trapped: {trap}"))
        }
    };
    if well { Ok(()) } else { Err(Problem::Wrong(format!("`{}` {how}", spoil.act.export))) }
}

/// The difference of two outputs, in words that follow "a call".
fn differing(clean: &[u8], seen: &[u8]) -> String {
    if clean.len() != seen.len() {
        return format!("sees {} bytes where {} are clean", seen.len(), clean.len());
    }
    let differ = clean.iter().zip(seen).filter(|(a, b)| a != b).count();
    let at = clean.iter().zip(seen).position(|(a, b)| a != b).unwrap_or(0);
    format!(
        "sees {differ} of {} bytes changed, the first at {at}: {:#04x} for {:#04x}",
        clean.len(),
        seen[at],
        clean[at]
    )
}

/// One order of two calls: makes the changing call with this index, and returns what the next call
/// saw.
type Way = for<'a> fn(&Detector<'a>, usize) -> Result<Seen, Problem>;

/// All orders, with words that follow "after `<export>`", and `true` for the most different ones,
/// which long calls have.
const WAYS: &[(&str, bool, Way)] = &[
    ("on the same instance", true, |detector, index| {
        let instance = &mut *detector.instance()?;
        detector.spoil(instance, index)?;
        detector.look(instance)
    }),
    ("on the same instance, three times", false, |detector, index| {
        let instance = &mut *detector.instance()?;
        for _ in 0..3 {
            detector.spoil(instance, index)?;
        }
        detector.look(instance)
    }),
    ("on the same instance, without a finish", false, |detector, index| {
        let instance = &mut *detector.instance()?;
        instance.prepare()?;
        detector.spoil_prepared(instance, index)?;
        detector.look(instance)
    }),
    ("on the same instance, trimmed", false, |detector, index| {
        let instance = &mut *detector.instance()?;
        detector.spoil(instance, index)?;
        instance.trim()?;
        detector.look(instance)
    }),
    ("on the same instance, handed to another thread", false, |detector, index| {
        let mut instance = detector.instance()?;
        detector.spoil(&mut *instance, index)?;
        on_another_thread(move || detector.look(&mut *instance))
    }),
    ("on another instance", true, |detector, index| {
        let (one, two) = (&mut *detector.instance()?, &mut *detector.instance()?);
        detector.spoil(one, index)?;
        detector.look(two)
    }),
    ("on another instance, while the first is in its call", false, |detector, index| {
        let (one, two) = (&mut *detector.instance()?, &mut *detector.instance()?);
        one.prepare()?;
        detector.spoil_prepared(one, index)?;
        let seen = detector.look(two);
        one.finish()?;
        seen
    }),
    ("on a new instance, the first dropped within its call", false, |detector, index| {
        let mut instance = detector.instance()?;
        instance.prepare()?;
        detector.spoil_prepared(&mut *instance, index)?;
        drop(instance);
        detector.look(&mut *detector.instance()?)
    }),
    ("on another instance, on another thread", true, |detector, index| {
        detector.spoil(&mut *detector.instance()?, index)?;
        on_another_thread(|| detector.look(&mut *detector.instance()?))
    }),
    (SWAPPED, false, |detector, index| {
        let instance = &mut *detector.instance()?;
        instance.prepare()?;
        detector.spoil_prepared(instance, index)?;
        let pages = instance.memory().map_or(Ok(0), swap_out);
        let pages = pages.map_err(|error| Problem::Wrong(format!("cannot swap out: {error}")))?;
        detector.swapped.fetch_add(pages, Ordering::Relaxed);
        instance.finish()?;
        detector.look(instance)
    }),
];

/// `true` if the machine has swap space for the memory of a guest.
pub(super) fn can_swap() -> bool {
    swap_space() >= SPACE
}

fn on_another_thread(look: impl FnOnce() -> Result<Seen, Problem> + Send) -> Result<Seen, Problem> {
    std::thread::scope(|scope| scope.spawn(look).join())
        .unwrap_or_else(|_| Err(Problem::Wrong("an executor panicked on a thread".to_owned())))
}
