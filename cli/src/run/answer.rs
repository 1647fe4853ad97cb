//! The answer of a combination, and the comparison of answers.

use super::content::Content;
use serde::{Deserialize, Serialize};
use touchstone::lab::Refused;
use touchstone::record::Status;
use touchstone_executor::text::{abridged, harmless};
use touchstone_executor::{Error, Trap, TrapKind};

/// Longest reason, characters.
const REASON: usize = 600;
/// Bytes of an output in a sentence.
const IN_WORDS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) state: State,
    /// Output of the export, if it returned, or of a program before an exit or a trap.
    pub(super) output: Option<Content>,
    /// Standard output of a call in another convention than that of programs.
    pub(super) stdout: Option<Content>,
    pub(super) stderr: Option<Content>,
    /// `true` if the start function wrote something that is in none of these.
    pub(super) start_wrote: bool,
    /// The code of an exit that is a trap.
    pub(super) exit_code: Option<i32>,
    /// The memory after the call; `None` if not requested or not visible.
    pub(super) memory: Option<Content>,
    /// The reason for no output, in one line.
    pub(super) reason: Option<String>,
    trap: Option<String>,
}

/// The state of a combination, in the words of `--json`. The first three are results of the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, strum::Display, Serialize, Deserialize)]
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
    /// The process that ran it died.
    Crashed,
    /// Compiling took too much time, or the process too much memory.
    OverLimit,
    /// Unsupported, or unsupported for this module.
    Unsupported,
    /// Left out, because the answer would be the same.
    NotRun,
}

impl State {
    /// `true` if the guest had a result.
    pub(super) fn is_result(self) -> bool {
        self <= Self::Stopped
    }

    /// `true` if the backend is at fault, or its limits are too low.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Unstable | Self::Failed | Self::Crashed | Self::OverLimit)
    }
}

impl Answer {
    pub(super) fn returned(output: &[u8]) -> Self {
        let output = Some(Content::of_output(output));
        Self { state: State::Returned, output, reason: None, trap: None, ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            state: State::NotRun,
            output: None,
            stdout: None,
            stderr: None,
            start_wrote: false,
            exit_code: None,
            memory: None,
            reason: None,
            trap: None,
        }
    }

    /// The answer with the memory after the call.
    pub(super) fn with_memory(self, memory: Option<Content>) -> Self {
        Self { memory, ..self }
    }

    pub(super) fn trapped(trap: &Trap) -> Self {
        let is_over = trap.kind == TrapKind::DeadlineExceeded;
        let state = if is_over { State::Stopped } else { State::Trapped };
        let exit_code = match trap.kind {
            TrapKind::Exit { code } => Some(code),
            _ => None,
        };
        let trap_words = Some(trap.kind.to_string());
        Self { trap: trap_words, exit_code, ..Self::nothing(state, &trap.to_string()) }
    }

    /// The answer with the written streams. A stopped guest has written as much as the machine was
    /// fast.
    pub(super) fn with_written(self, written: Written) -> Self {
        let content = |bytes: Vec<u8>| (!bytes.is_empty()).then(|| Content::of_output(&bytes));
        let Written { output, stdout, stderr, start_wrote } = written;
        match self.state {
            State::Returned | State::Trapped => Self {
                output: self.output.or_else(|| content(output)),
                stdout: content(stdout),
                stderr: content(stderr),
                start_wrote,
                ..self
            },
            _ => self,
        }
    }

    pub(super) fn nothing(state: State, reason: &str) -> Self {
        // A runtime's message may contain a stack of calls, one per line.
        let reason = harmless(&reason.split_whitespace().collect::<Vec<_>>().join(" "));
        let reason = Some(abridged(&reason, REASON));
        let trap = (state == State::Stopped).then(|| TrapKind::DeadlineExceeded.to_string());
        Self { state, reason, trap, ..Self::empty() }
    }

    pub(super) fn failed(error: Error, has_start: bool) -> Self {
        let Error::Instantiation { trap } = error else { return Refused::from(error).into() };
        let trapped = Self::trapped(&trap);
        let place = match has_start {
            true => "in the start function",
            false => "while the module was instantiated",
        };
        let reason = trapped.reason.map(|reason| format!("{reason}, {place}"));
        // A guest may be stopped anywhere.
        let trap = match trapped.state {
            State::Stopped => trapped.trap,
            _ => trapped.trap.map(|kind| format!("{kind}, {place}")),
        };
        Self { trap, reason, ..trapped }
    }

    /// `true` if two answers are the same result of the guest. Ignores the wording of traps, and a
    /// memory that only one of them has.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let memories = self.memory.as_ref().zip(other.memory.as_ref());
        self.state.is_result()
            && (self.state, &self.trap) == (other.state, &other.trap)
            && (&self.output, &self.stdout, &self.stderr)
                == (&other.output, &other.stdout, &other.stderr)
            && memories.is_none_or(|(mine, others)| mine == others)
    }

    /// The non-empty streams, without the output of a call that returned.
    pub(super) fn written(&self) -> impl Iterator<Item = (&'static str, &Content)> {
        let before = self.output.as_ref().filter(|_| self.state != State::Returned);
        [
            ("standard output", before.or(self.stdout.as_ref())),
            ("standard error", self.stderr.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, content)| Some((name, content?)))
    }

    /// The state as part of a sentence.
    pub(super) fn in_words(&self) -> String {
        let mut words = match (self.state, &self.output) {
            (State::Returned, Some(output)) => output.line(IN_WORDS),
            _ => format!("{} ({})", self.state, self.reason.as_deref().unwrap_or_default()),
        };
        for (name, content) in self.written() {
            words += &format!(" with the {name} {}", content.line(IN_WORDS));
        }
        if let Some(memory) = &self.memory {
            words += &format!(" with the memory {}", memory.sha256);
        }
        words
    }
}

/// The streams of a call.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Standard output of a program that has not returned.
    pub(super) output: Vec<u8>,
    /// Standard output of a call in another convention.
    pub(super) stdout: Vec<u8>,
    /// The standard error.
    pub(super) stderr: Vec<u8>,
    /// `true` if the start function has written something else.
    pub(super) start_wrote: bool,
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        let is_unsupported = refused.status == Status::Unsupported;
        let state = if is_unsupported { State::Unsupported } else { State::Failed };
        Self::nothing(state, &refused.reason)
    }
}

/// Answers grouped by result.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    /// One answer per group.
    first: Vec<Answer>,
    pub(super) members: Vec<Vec<usize>>,
    /// `true` if a combination failed or gave two results.
    pub(super) failed: bool,
}

impl Groups {
    #[cfg(test)]
    pub(super) fn of(answers: &[&Answer]) -> Self {
        let mut groups = Self::default();
        for (place, answer) in answers.iter().enumerate() {
            groups.add(place, answer);
        }
        groups
    }

    /// Adds an answer, and returns the number of its group, from 1; `None` if it is no result.
    pub(super) fn add(&mut self, place: usize, answer: &Answer) -> Option<usize> {
        self.failed |= answer.state.is_failure();
        if !answer.state.is_result() {
            return None;
        }
        let known = self.first.iter().position(|first| first.is_like(answer));
        let group = known.unwrap_or_else(|| {
            self.first.push(answer.clone());
            self.members.push(Vec::new());
            self.first.len() - 1
        });
        // A group takes the memory of its first member with one.
        let first = &mut self.first[group];
        if first.memory.is_none() {
            first.memory.clone_from(&answer.memory);
        }
        self.members[group].push(place);
        Some(group + 1)
    }

    pub(super) fn largest_first(&self) -> Vec<(usize, &Answer, &[usize])> {
        let all = self.first.iter().zip(&self.members).enumerate();
        let mut all: Vec<_> =
            all.map(|(index, (first, members))| (index + 1, first, members.as_slice())).collect();
        // Stable: equally large groups keep their order.
        all.sort_by_key(|(.., members)| std::cmp::Reverse(members.len()));
        all
    }

    /// `true` if all combinations with a result returned the same output.
    pub(super) fn returned_alike(&self) -> bool {
        self.first.len() == 1 && self.all_returned()
    }

    pub(super) fn all_returned(&self) -> bool {
        !self.first.is_empty() && self.first.iter().all(|first| first.state == State::Returned)
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::KEPT;
    use super::*;

    #[test]
    fn traps_are_alike_by_kind() {
        let trap =
            |detail: &str| Answer::trapped(&Trap::with_detail(TrapKind::Unreachable, detail));
        let failed = Answer::nothing(State::Failed, "x");
        assert!(trap("one").is_like(&trap("another")));
        assert!(!trap("one").is_like(&Answer::returned(&[])));
        assert!(!failed.is_like(&failed));
    }

    #[test]
    fn a_start_functions_trap_is_a_result_of_the_guest() {
        let of = |kind: TrapKind| Answer::failed(Error::Instantiation { trap: kind.into() }, true);
        let trapped = of(TrapKind::Unreachable);
        assert_eq!(trapped.state, State::Trapped);
        assert_eq!(trapped.reason.as_deref(), Some("unreachable executed, in the start function"));
        let stopped = of(TrapKind::DeadlineExceeded);
        assert!(stopped.is_like(&Answer::nothing(State::Stopped, "ended")));
    }

    #[test]
    fn results_are_grouped_and_the_rest_is_not_a_result() {
        let (a, b) = (Answer::returned(&[1]), Answer::returned(&[2]));
        let trap = Answer::trapped(&TrapKind::Unreachable.into());
        let no = Answer::nothing(State::Unsupported, "no");
        let broken = Answer::nothing(State::Crashed, "broken");

        let alike = Groups::of(&[&no, &a, &a]);
        assert!(alike.returned_alike() && !alike.failed && alike.members == [[1, 2]]);

        let differ = Groups::of(&[&b, &a, &trap, &a]);
        assert!(!differ.returned_alike());
        let order: Vec<usize> = differ.largest_first().iter().map(|(number, ..)| *number).collect();
        assert_eq!(order, [2, 1, 3]);

        assert!(!Groups::of(&[&trap, &trap]).returned_alike());
        assert!(Groups::of(&[&a, &broken]).failed);
        assert!(!Groups::of(&[&no]).returned_alike());
    }

    #[test]
    fn memories_are_compared_where_both_are_known() {
        let with = |memory: Option<&[u8]>| {
            Answer::returned(&[]).with_memory(memory.map(|bytes| Content::new(&[], bytes)))
        };
        let (unknown, one, two) = (with(None), with(Some(b"1")), with(Some(b"2")));
        assert_eq!(Groups::of(&[&unknown, &one, &unknown]).members, [[0, 1, 2]]);
        assert_eq!(Groups::of(&[&unknown, &one, &two]).members, [vec![0, 1], vec![2]]);
    }

    #[test]
    fn what_was_written_is_part_of_the_result() {
        let exit = || Answer::trapped(&TrapKind::Exit { code: 1 }.into());
        let printed = |output: &str, stderr: &str| {
            let [output, stderr] = [output, stderr].map(|text| text.as_bytes().to_vec());
            exit().with_written(Written { output, stderr, ..Written::default() })
        };
        assert!(printed("a", "b").is_like(&printed("a", "b")));
        assert!(!printed("a", "").is_like(&printed("b", "")));
        assert!(!printed("a", "").is_like(&printed("a", "b")));
        assert!(printed("", "").is_like(&exit()));
        let words = printed("a", "b").in_words();
        let expected = "trapped (exited with code 1) with the standard output \"a\" with the \
                        standard error \"b\"";
        assert_eq!((printed("a", "b").exit_code, &*words), (Some(1), expected));
        // The output of an endless program depends on the machine.
        let stopped = Answer::trapped(&TrapKind::DeadlineExceeded.into());
        let written = Written { stderr: vec![1], ..Written::default() };
        assert!(stopped.clone().with_written(written).is_like(&stopped));
    }

    #[test]
    fn long_outputs_are_compared_as_a_whole() {
        let (mut a, b) = (vec![0; KEPT + 1], vec![0; KEPT + 1]);
        assert!(Answer::returned(&a).is_like(&Answer::returned(&b)));
        a[KEPT] = 1;
        let long = Answer::returned(&a);
        assert!(!long.is_like(&Answer::returned(&b)));
        let output = long.output.unwrap();
        assert_eq!((output.bytes(), output.length), (None, KEPT as u64 + 1));
        assert_eq!(output.abbreviated(2), "0x0000… (1048577 bytes)");
    }
}
