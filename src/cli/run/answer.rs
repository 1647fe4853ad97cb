//! The answer of a combination, and whether answers are alike.

use serde::{Deserialize, Serialize};
use touchstone::case::hex;
use touchstone::lab::{Refused, abbreviate_to};
use touchstone::record::Status;
use touchstone_executor::text::{abridged, harmless};
use touchstone_executor::{Error, Trap, TrapKind};

/// Bytes of an output that an answer keeps. Outputs are compared as a whole, by their digest.
pub(super) const KEPT: usize = 1 << 20;
/// Longest reason, characters.
const REASON: usize = 600;
/// Bytes of an output in a sentence.
const IN_WORDS: usize = 32;

/// The answer of a combination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) state: State,
    /// What the export returned, if it did.
    pub(super) output: Option<Content>,
    /// The memory after the call; `None` if it was not asked for or cannot be seen.
    pub(super) memory: Option<Content>,
    /// Why there is no output, in one line.
    pub(super) reason: Option<String>,
    /// The kind of trap.
    trap: Option<String>,
}

/// What became of a combination, in the words of `--json`. The first three are results of the
/// guest.
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
    /// It took more time to compile, or more memory, than it may.
    OverLimit,
    /// It is unsupported, or unsupported for this module.
    Unsupported,
    /// It was left out because its answer would be the same.
    NotRun,
}

impl State {
    /// Whether the guest had a result.
    pub(super) fn is_result(self) -> bool {
        self <= Self::Stopped
    }

    /// Whether something is wrong with the backend, or it was given too little.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Unstable | Self::Failed | Self::Crashed | Self::OverLimit)
    }
}

/// Bytes: the first of them, and what identifies all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    /// The first bytes, in hexadecimal: at most [`KEPT`] of an output, what `--dump` asks for of
    /// a memory.
    shown: String,
    /// Number of all bytes.
    pub(super) length: u64,
    /// SHA-256 of all bytes.
    pub(super) sha256: String,
}

impl Content {
    /// `shown` are some of the bytes `all`.
    pub(super) fn new(shown: &[u8], all: &[u8]) -> Self {
        let sha256 = touchstone::case::digest(all);
        Self { shown: hex(shown), length: all.len() as u64, sha256 }
    }

    fn of_output(output: &[u8]) -> Self {
        Self::new(&output[..output.len().min(KEPT)], output)
    }

    /// The shown bytes, in hexadecimal.
    pub(super) fn hex(&self) -> String {
        format!("0x{}", self.shown)
    }

    /// All bytes; `None` if it holds only the first of them.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let bytes = touchstone::case::parse_hex(&self.hex()).ok()?;
        (bytes.len() as u64 == self.length).then_some(bytes)
    }

    /// At most `most` bytes, and how many there are if there are more.
    pub(super) fn abbreviated(&self, most: usize) -> String {
        match self.bytes() {
            Some(bytes) => abbreviate_to(&bytes, most),
            None => {
                let start = &self.shown[..self.shown.len().min(2 * most)];
                format!("0x{start}… ({} bytes)", self.length)
            }
        }
    }
}

impl Answer {
    pub(super) fn returned(output: &[u8]) -> Self {
        let output = Some(Content::of_output(output));
        Self { state: State::Returned, output, memory: None, reason: None, trap: None }
    }

    /// The same, with the memory after the call.
    pub(super) fn with_memory(self, memory: Option<Content>) -> Self {
        Self { memory, ..self }
    }

    pub(super) fn trapped(trap: &Trap) -> Self {
        let is_over = trap.kind == TrapKind::DeadlineExceeded;
        let state = if is_over { State::Stopped } else { State::Trapped };
        Self { trap: Some(trap.kind.to_string()), ..Self::nothing(state, &trap.to_string()) }
    }

    pub(super) fn nothing(state: State, reason: &str) -> Self {
        // What a runtime says may come with a stack of calls, a line for each.
        let reason = harmless(&reason.split_whitespace().collect::<Vec<_>>().join(" "));
        let reason = Some(abridged(&reason, REASON));
        let trap = (state == State::Stopped).then(|| TrapKind::DeadlineExceeded.to_string());
        Self { state, output: None, memory: None, reason, trap }
    }

    /// The answer of a combination that failed. A trap of a start function is one of the guest.
    pub(super) fn failed(error: Error, has_start: bool) -> Self {
        let Error::Instantiation { trap } = error else { return Refused::from(error).into() };
        let trapped = Self::trapped(&trap);
        let place = match has_start {
            true => "in the start function",
            false => "while the module was instantiated",
        };
        let reason = trapped.reason.map(|reason| format!("{reason}, {place}"));
        // A guest that was stopped was stopped, wherever it was.
        let trap = match trapped.state {
            State::Stopped => trapped.trap,
            _ => trapped.trap.map(|kind| format!("{kind}, {place}")),
        };
        Self { trap, reason, ..trapped }
    }

    /// Whether two answers are the same result of the guest. The wording of traps is ignored,
    /// and so is a memory that only one of them has.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let memories = self.memory.as_ref().zip(other.memory.as_ref());
        self.state.is_result()
            && (self.state, &self.output, &self.trap) == (other.state, &other.output, &other.trap)
            && memories.is_none_or(|(mine, others)| mine == others)
    }

    /// The state as part of a sentence.
    pub(super) fn in_words(&self) -> String {
        match (&self.output, &self.memory, &self.reason) {
            (Some(output), None, _) => output.abbreviated(IN_WORDS),
            (Some(output), Some(memory), _) => {
                format!("{} with the memory {}", output.abbreviated(IN_WORDS), memory.sha256)
            }
            (None, _, reason) => {
                format!("{} ({})", self.state, reason.as_deref().unwrap_or_default())
            }
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

/// Answers in groups of the same result.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    /// An answer of each group.
    first: Vec<Answer>,
    /// The members, by their place among all answers.
    pub(super) members: Vec<Vec<usize>>,
    /// Whether a combination failed or did not agree with itself.
    pub(super) failed: bool,
}

impl Groups {
    /// The groups of some answers.
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
        // A group without a memory so far takes that of its first member with one.
        let first = &mut self.first[group];
        if first.memory.is_none() {
            first.memory.clone_from(&answer.memory);
        }
        self.members[group].push(place);
        Some(group + 1)
    }

    /// The groups with their numbers and answers, largest first.
    pub(super) fn largest_first(&self) -> Vec<(usize, &Answer, &[usize])> {
        let all = self.first.iter().zip(&self.members).enumerate();
        let mut all: Vec<_> =
            all.map(|(index, (first, members))| (index + 1, first, members.as_slice())).collect();
        // Stable: of two groups of one size the one that came first stays first.
        all.sort_by_key(|(.., members)| std::cmp::Reverse(members.len()));
        all
    }

    /// Whether all combinations with a result returned the same output.
    pub(super) fn returned_alike(&self) -> bool {
        matches!(&*self.first, [only] if only.state == State::Returned)
    }
}

#[cfg(test)]
mod tests {
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
