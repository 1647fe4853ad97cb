//! The answer of a combination, and the comparison of answers.

use super::content::Content;
use serde::{Deserialize, Serialize};
use touchstone::lab::Refused;
use touchstone::record::Status;
use touchstone_executor::guest::text::{abridged, harmless};
use touchstone_executor::{Error, Trap, TrapKind};

/// Longest reason, characters.
const REASON: usize = 600;
/// Bytes of an output in a sentence.
const IN_WORDS: usize = 32;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The kind of a trap, and its place.
    pub(super) trap: Option<String>,
    /// `true` if it needs an import that the host does not have.
    pub(super) lacks_import: bool,
}

/// The state of a combination, in the words of `--json`. The first three are results of the guest.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, strum::Display, Serialize, Deserialize,
)]
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
    Unsupported,
    /// Left out, because the answer would be the same.
    #[default]
    NotRun,
}

impl State {
    /// `true` if the guest had a result.
    fn is_result(self) -> bool {
        self <= Self::Stopped
    }

    /// `true` if the backend is at fault, or its limits are too low.
    fn is_failure(self) -> bool {
        matches!(self, Self::Unstable | Self::Failed | Self::Crashed | Self::OverLimit)
    }
}

impl Answer {
    pub(super) fn returned(output: &[u8]) -> Self {
        let output = Some(Content::of_output(output));
        Self { state: State::Returned, output, ..Self::default() }
    }

    pub(super) fn trapped(trap: &Trap) -> Self {
        let is_over = trap.kind == TrapKind::DeadlineExceeded;
        let state = if is_over { State::Stopped } else { State::Trapped };
        let exit_code = match trap.kind {
            TrapKind::Exit { code } => Some(code),
            _ => None,
        };
        let words = Some(trap.kind.to_string());
        let lacks_import = matches!(trap.kind, TrapKind::MissingImport { .. });
        Self { trap: words, exit_code, lacks_import, ..Self::nothing(state, &trap.to_string()) }
    }

    pub(super) fn nothing(state: State, reason: &str) -> Self {
        // A runtime's message may contain a stack of calls, one per line.
        let reason = harmless(&reason.split_whitespace().collect::<Vec<_>>().join(" "));
        let reason = Some(abridged(&reason, REASON));
        let trap = (state == State::Stopped).then(|| TrapKind::DeadlineExceeded.to_string());
        Self { state, reason, trap, ..Self::default() }
    }

    pub(super) fn failed(error: Error, has_start: bool) -> Self {
        let lacks_import = matches!(error, Error::MissingImports { .. });
        let Error::Instantiation { trap } = error else {
            return Self { lacks_import, ..Refused::from(error).into() };
        };
        let trapped = Self::trapped(&trap);
        let place = match has_start {
            true => "in the start function",
            false => "while the module was instantiated",
        };
        let with_place = |words: String| format!("{words}, {place}");
        Self {
            reason: trapped.reason.map(with_place),
            // A guest may be stopped anywhere.
            trap: match trapped.state {
                State::Stopped => trapped.trap,
                _ => trapped.trap.map(with_place),
            },
            ..trapped
        }
    }

    /// The answer with the written streams. The standard output of a program is its output. A
    /// stopped guest has written as much as the machine was fast.
    pub(super) fn with_written(mut self, is_program: bool, [out, error]: [Vec<u8>; 2]) -> Self {
        let content = |bytes: Vec<u8>| (!bytes.is_empty()).then(|| Content::of_output(&bytes));
        if let State::Returned | State::Trapped = self.state {
            match is_program {
                true => self.output = self.output.or_else(|| content(out)),
                false => self.stdout = content(out),
            }
            self.stderr = content(error);
        }
        self
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
        let streams = [
            ("standard output", before.or(self.stdout.as_ref())),
            ("standard error", self.stderr.as_ref()),
        ];
        streams.into_iter().filter_map(|(name, content)| Some((name, content?)))
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

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        let is_unsupported = refused.status == Status::Unsupported;
        let state = if is_unsupported { State::Unsupported } else { State::Failed };
        Self::nothing(state, &refused.reason)
    }
}

/// Combinations with the same result.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) answer: &'a Answer,
    pub(super) memory: Option<&'a Content>,
    pub(super) members: Vec<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Groups<'a> {
    pub(super) all: Vec<Group<'a>>,
    /// `true` if a combination failed, gave two results, or was stopped where others ended.
    pub(super) failed: bool,
}

impl<'a> Groups<'a> {
    /// Guests that were stopped are a group only where no guest has ended: beside others, more time
    /// may give them the same result.
    pub(super) fn of<I>(answers: I) -> Self
    where
        I: IntoIterator<Item = Option<&'a Answer>, IntoIter: Clone>,
    {
        let mut own = Self::default();
        let answers = answers.into_iter();
        let has_ended = answers.clone().flatten().any(|own| own.state < State::Stopped);
        for (place, answer) in answers.enumerate() {
            let Some(answer) = answer else { continue };
            let is_unknown = has_ended && answer.state == State::Stopped;
            own.failed |= answer.state.is_failure() || is_unknown;
            if is_unknown {
                continue;
            }
            let is_like = |group: &&mut Group<'_>| {
                let memories = group.memory.zip(answer.memory.as_ref());
                group.answer.is_like(answer) && memories.is_none_or(|(mine, other)| mine == other)
            };
            match own.all.iter_mut().find(is_like) {
                _ if !answer.state.is_result() => {}
                Some(group) => {
                    group.memory = group.memory.or(answer.memory.as_ref());
                    group.members.push(place);
                }
                None => {
                    let memory = answer.memory.as_ref();
                    own.all.push(Group { answer, memory, members: vec![place] });
                }
            }
        }
        own
    }

    /// The groups with their numbers, the largest first, equally large ones in their order.
    pub(super) fn largest_first(&self) -> Vec<(usize, &Group<'a>)> {
        let mut all: Vec<_> = (1..).zip(&self.all).collect();
        all.sort_by_key(|(_, group)| std::cmp::Reverse(group.members.len()));
        all
    }

    /// The number of the group of a combination, from 1; `None` if it has no result.
    pub(super) fn number(&self, place: usize) -> Option<usize> {
        self.all.iter().position(|group| group.members.contains(&place)).map(|index| index + 1)
    }

    /// `true` if all with a result returned, with the same output unless a difference `is_allowed`.
    pub(super) fn agree(&self, is_allowed: bool) -> bool {
        let returned = self.all.iter().all(|group| group.answer.state == State::Returned);
        returned && (self.all.len() == 1 || is_allowed && self.all.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::KEPT;
    use super::*;

    fn of<'a>(answers: &[&'a Answer]) -> Groups<'a> {
        Groups::of(answers.iter().copied().map(Some))
    }

    fn members<'a>(groups: &'a Groups<'_>) -> Vec<&'a [usize]> {
        groups.all.iter().map(|group| &*group.members).collect()
    }

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

        let alike = of(&[&no, &a, &a]);
        assert!(alike.agree(false) && !alike.failed && members(&alike) == [[1, 2]]);
        assert_eq!([0, 1, 2].map(|place| alike.number(place)), [None, Some(1), Some(1)]);

        let differ = of(&[&b, &a, &trap, &a]);
        assert!(!differ.agree(true));
        let order: Vec<usize> = differ.largest_first().iter().map(|(number, ..)| *number).collect();
        assert_eq!(order, [2, 1, 3]);

        assert!(!of(&[&b, &a]).agree(false) && of(&[&b, &a]).agree(true));
        assert!(!of(&[&trap, &trap]).agree(false));

        let stopped = Answer::nothing(State::Stopped, "ended");
        assert_eq!(members(&of(&[&stopped, &stopped])), [[0, 1]]);
        let slow = of(&[&stopped, &a, &a]);
        assert!(slow.agree(false) && slow.failed && members(&slow) == [[1, 2]]);
        assert!(of(&[&a, &broken]).failed);
        assert!(!of(&[&no]).agree(true));
    }

    #[test]
    fn memories_are_compared_where_both_are_known() {
        let with = |memory: Option<&[u8]>| {
            let memory = memory.map(|bytes| Content::new(&[], bytes));
            Answer { memory, ..Answer::returned(&[]) }
        };
        let (unknown, one, two) = (with(None), with(Some(b"1")), with(Some(b"2")));
        assert_eq!(members(&of(&[&unknown, &one, &unknown])), [[0, 1, 2]]);
        assert_eq!(members(&of(&[&unknown, &one, &two])), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn what_was_written_is_part_of_the_result() {
        let exit = || Answer::trapped(&TrapKind::Exit { code: 1 }.into());
        let printed = |output: &str, stderr: &str| {
            exit().with_written(true, [output, stderr].map(|text| text.as_bytes().to_vec()))
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
        assert!(stopped.clone().with_written(false, [vec![], vec![1]]).is_like(&stopped));
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
