//! Combinations of backend and strategy, and their answers.

use super::target::Target;
use super::timing::Times;
use anyhow::Result;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::case::Guests;
use touchstone::features::support_for;
use touchstone::lab::{Lab, Loaded, Refused, abbreviate};
use touchstone::plan::Filter;
use touchstone::record::Status;
use touchstone::terminal::complain;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Config, Engine, Execution, Outcome, Strategy, Support, Trap, TrapKind};

/// Number of instances that may live at once. Only one is used, and a pool reserves address
/// space for each.
const INSTANCES: u32 = 4;

/// A combination and its answer.
pub(super) struct Row {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) strategy: Strategy,
    pub(super) support: Support,
    pub(super) answer: Answer,
    pub(super) times: Option<Result<Times, String>>,
}

/// The answer of a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) state: State,
    /// What the export returned, if it did.
    pub(super) output: Option<Vec<u8>>,
    /// Why there is no output, in one line.
    pub(super) reason: Option<String>,
    trap: Option<TrapKind>,
}

/// What became of a combination, in the words of `--json`. The first three are results of the
/// guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub(super) enum State {
    /// The export returned, twice the same.
    Returned,
    /// The guest trapped, twice in the same way.
    Trapped,
    /// The guest was stopped after the timeout.
    Stopped,
    /// Two calls on clean instances had different results.
    Unstable,
    /// The host side failed.
    Failed,
    /// It is unsupported, or unsupported for this module.
    Unsupported,
    /// It was left out because its answer would be the same.
    NotRun,
}

/// The requested combinations. Without names, these are all that the backends support, even if
/// refused for this module. The baseline is included only for guests that it contains.
pub(super) fn choose(
    guest: &GuestModule,
    backend: Option<&str>,
    strategies: &[Strategy],
) -> Result<Vec<Row>> {
    let engines = touchstone_runtimes::engines();
    let all_engines = engines.clone();
    let filter = Filter::new(backend)?;
    let engines =
        filter.select("no backend of this build", engines, |engine| engine.id().to_owned())?;
    let all = Strategy::all();
    let wanted = if strategies.is_empty() { &all[..] } else { strategies };
    let mut rows = Vec::new();
    for engine in engines {
        let has_code = || all.iter().any(|way| engine.support_for(*way, guest).is_supported());
        if backend.is_none() && engine.execution() == Execution::Native && !has_code() {
            continue;
        }
        let has = |way: &&Strategy| !strategies.is_empty() || engine.support(**way).is_supported();
        rows.extend(wanted.iter().filter(has).map(|strategy| Row {
            engine: Arc::clone(&engine),
            strategy: *strategy,
            support: support_for(&*engine, *strategy, guest, &all_engines),
            answer: Answer::nothing(State::NotRun, ""),
            times: None,
        }));
    }
    Ok(rows)
}

/// Loads modules and calls them.
pub(super) struct Loader<'a> {
    pub(super) target: &'a Target,
    deadline: Option<Duration>,
    /// Compiles once for all strategies that share an artifact.
    lab: Lab,
    /// The combination whose log is printed now.
    logged: Arc<Mutex<Option<String>>>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(target: &'a Target, deadline: Option<Duration>, log: bool) -> Self {
        let logged = Arc::new(Mutex::new(None));
        let mut config = Config { deadline, instances: INSTANCES, ..Config::default() };
        if log {
            const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
            let logged = Arc::clone(&logged);
            config.max_log_level = 5;
            config.log = Some(Arc::new(move |level, target, message| {
                if let Some(name) = &*logged.lock() {
                    let level = LEVELS.get(level as usize).copied().unwrap_or("?");
                    let (target, message) = (harmless(target), harmless(message));
                    complain(&format!("[{name}] {level} {target}: {message}"));
                }
            }));
        }
        let lab = Lab::new(Guests::built(), config).without_times();
        Self { target, deadline, lab, logged }
    }

    /// The loaded module.
    pub(super) fn load(&mut self, row: &Row) -> Result<Loaded, Answer> {
        let (engine, strategy, guest) = (&*row.engine, row.strategy, &self.target.guest);
        let heap = self.target.heap;
        // What is compiled here is not compiled again below.
        self.lab.artifact(engine, strategy, guest, heap).map_err(Refused::from)?;
        let started = Instant::now();
        // It may have to instantiate, and so to run a start function.
        let loaded = self.lab.load_guest(engine, strategy, guest, heap, None);
        loaded.map_err(|refused| self.refusal(refused, started))
    }

    /// Calls the export twice. `before` are the rows so far.
    pub(super) fn run(&mut self, row: &Row, before: &[Row]) -> Answer {
        if let Support::Unsupported { reason } = &row.support {
            return Answer::nothing(State::Unsupported, reason);
        }
        // Other strategies of a backend run the same code and would take the same time.
        let stopped = |other: &&Row| {
            other.engine.id() == row.engine.id() && other.answer.state == State::Stopped
        };
        match before.iter().find(stopped) {
            Some(other) => {
                Answer::nothing(State::NotRun, &format!("{} was stopped already", other.name()))
            }
            None => self.call_twice(row).unwrap_or_else(|answer| answer),
        }
    }

    fn call_twice(&mut self, row: &Row) -> Result<Answer, Answer> {
        *self.logged.lock() = Some(row.name());
        let Loaded { instances, .. } = self.load(row)?;
        let target = self.target;
        let export = instances.export(&target.export, target.abi).map_err(Refused::from)?;
        let mut instance = instances.take().map_err(Refused::from)?;
        let mut call = || {
            let started = Instant::now();
            let mut output = Vec::new();
            match instance.call(export, &target.input, &mut output) {
                Ok(Outcome::Returned) => Ok(Answer::returned(output)),
                Ok(Outcome::Trapped(trap)) => Ok(Answer::trapped(&trap)),
                Err(error) => Err(self.refusal(error.into(), started)),
            }
        };
        let first = call()?;
        if first.state == State::Stopped {
            return Ok(first);
        }
        // The second call logs the same again.
        *self.logged.lock() = None;
        let second = call()?;
        if first.is_like(&second) {
            return Ok(first);
        }
        let (first, second) = (first.in_words(), second.in_words());
        let words = format!("two calls on clean instances differ: first {first}, then {second}");
        Ok(Answer::nothing(State::Unstable, &words))
    }

    /// The refusal of a call that can run a start function. When one is stopped, runtimes report
    /// a failure to instantiate.
    fn refusal(&self, refused: Refused, started: Instant) -> Answer {
        let is_over = self.deadline.is_some_and(|deadline| started.elapsed() >= deadline);
        match Answer::from(refused) {
            failed if is_over && failed.state == State::Failed => {
                Answer { state: State::Stopped, trap: Some(TrapKind::DeadlineExceeded), ..failed }
            }
            other => other,
        }
    }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        let is_unsupported = refused.status == Status::Unsupported;
        let state = if is_unsupported { State::Unsupported } else { State::Failed };
        Self::nothing(state, &refused.reason)
    }
}

/// A text of a guest, which is not trusted, with its control characters escaped.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

impl Row {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.engine.id(), self.strategy)
    }

    /// Its times, where it was timed.
    pub(super) fn times(&self) -> Option<&Times> {
        self.times.as_ref()?.as_ref().ok()
    }

    pub(super) fn has_returned(&self) -> bool {
        self.answer.state == State::Returned
    }
}

impl Answer {
    fn returned(output: Vec<u8>) -> Self {
        Self { state: State::Returned, output: Some(output), reason: None, trap: None }
    }

    fn trapped(trap: &Trap) -> Self {
        let is_over = trap.kind == TrapKind::DeadlineExceeded;
        let state = if is_over { State::Stopped } else { State::Trapped };
        Self { trap: Some(trap.kind.clone()), ..Self::nothing(state, &trap.to_string()) }
    }

    fn nothing(state: State, reason: &str) -> Self {
        // What a runtime says may come with a stack of calls, a line for each.
        let reason = harmless(&reason.split_whitespace().collect::<Vec<_>>().join(" "));
        Self { state, output: None, reason: Some(reason), trap: None }
    }

    /// Whether two answers are the same result of the guest. The wording of traps is ignored.
    fn is_like(&self, other: &Self) -> bool {
        let of = |answer: &Self| (answer.state, answer.output.clone(), answer.trap.clone());
        self.state <= State::Stopped && of(self) == of(other)
    }

    /// The state as part of a sentence.
    fn in_words(&self) -> String {
        match (&self.output, &self.reason) {
            (Some(output), _) => abbreviate(output),
            (None, reason) => format!("{} ({})", self.state, reason.as_deref().unwrap_or_default()),
        }
    }
}

/// Groups of rows with the same result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Rows with the same result, largest group first.
    pub(super) groups: Vec<Vec<usize>>,
    /// Whether a combination failed or did not agree with itself.
    pub(super) failed: bool,
    /// Whether all rows with a result returned the same output.
    pub(super) returned_alike: bool,
}

impl Verdict {
    pub(super) fn of(answers: &[&Answer]) -> Self {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, answer) in answers.iter().enumerate() {
            match groups.iter_mut().find(|group| answers[group[0]].is_like(answer)) {
                _ if answer.state > State::Stopped => {}
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        // Stable: of two groups of one size the one that came first stays first.
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let failures = [State::Failed, State::Unstable];
        let returned = |group: &Vec<usize>| answers[group[0]].state == State::Returned;
        Self {
            failed: answers.iter().any(|answer| failures.contains(&answer.state)),
            returned_alike: groups.len() == 1 && returned(&groups[0]),
            groups,
        }
    }

    /// The group that a row belongs to, from 1.
    pub(super) fn group_of(&self, row: usize) -> Option<usize> {
        self.groups.iter().position(|group| group.contains(&row)).map(|index| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_text_cannot_move_the_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\nü"), "a\\u{1b}[2Jb\\nü");
    }

    #[test]
    fn traps_are_alike_by_kind() {
        let trap =
            |detail: &str| Answer::trapped(&Trap::with_detail(TrapKind::Unreachable, detail));
        let failed = Answer::nothing(State::Failed, "x");
        assert!(trap("one").is_like(&trap("another")));
        assert!(!trap("one").is_like(&Answer::returned(Vec::new())));
        assert!(!failed.is_like(&failed));
    }

    #[test]
    fn results_are_grouped_and_the_rest_is_not_a_result() {
        let (a, b) = (Answer::returned(vec![1]), Answer::returned(vec![2]));
        let trap = Answer::trapped(&TrapKind::Unreachable.into());
        let no = Answer::nothing(State::Unsupported, "no");
        let broken = Answer::nothing(State::Failed, "broken");

        let alike = Verdict::of(&[&no, &a, &a]);
        assert!(alike.returned_alike && !alike.failed && alike.groups == [[1, 2]]);
        assert_eq!((alike.group_of(0), alike.group_of(2)), (None, Some(1)));

        let differ = Verdict::of(&[&b, &a, &trap, &a]);
        assert!(!differ.returned_alike);
        assert_eq!(differ.groups, [vec![1, 3], vec![0], vec![2]]);

        assert!(!Verdict::of(&[&trap, &trap]).returned_alike);
        assert!(Verdict::of(&[&a, &broken]).failed);
        assert!(!Verdict::of(&[&no]).returned_alike);
    }
}
