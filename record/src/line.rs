//! The lines of a record file below a header.

use super::sample::clean;
use super::{Header, Metric, Refusal, Samples};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use touchstone_executor::Strategy;

/// One line of a record file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// A run begins; all lines up to the next header belong to it.
    Run(Box<Header>),
    /// The setup of an executor on a guest.
    Setup(Setup),
    /// The measurements of a cell in one process.
    Observations(Observations),
    /// A combination that is not measured, with the reason.
    Refusal(Refusal),
    /// Subject and baseline, timed in turns.
    Comparison(Box<Comparison>),
    /// The counts of a case on a guest, equal for all executors.
    Count(Count),
    /// A finding of a check.
    Finding(Box<Finding>),
    /// The values of an experiment at a place.
    Point(Box<super::Point>),
}

/// The name of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellKey {
    /// Case, e.g. `call_empty_function`.
    pub case: String,
    /// Guest module, e.g. `test_runtime`.
    pub guest: String,
    /// Engine, e.g. `wasmtime`.
    pub engine: String,
    /// Strategy, e.g. `pooling_cow`.
    pub strategy: Strategy,
    /// Threads that make calls at the same time; left out of the file if it is one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: usize,
}

/// An engine under a strategy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Executor {
    /// The engine.
    pub engine: String,
    /// The strategy.
    pub strategy: Strategy,
}

impl fmt::Display for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}_{}", self.engine, self.strategy))
    }
}

impl FromStr for Executor {
    type Err = String;

    /// Parses `<engine>_<strategy>`. The name of an engine may have `_` itself: the longest end
    /// that names a strategy is the strategy.
    fn from_str(name: &str) -> Result<Self, String> {
        let split = |(at, _): (usize, &str)| {
            let (engine, strategy) = (name[..at].to_owned(), name[at + 1..].parse().ok()?);
            (!engine.is_empty()).then_some(Self { engine, strategy })
        };
        let found = name.match_indices('_').find_map(split);
        found.ok_or_else(|| format!("'{name}' is no executor, which is '<engine>_<strategy>'"))
    }
}

impl Executor {
    /// The cell of a case on a guest.
    #[must_use]
    pub fn cell(&self, case: &str, guest: &str, threads: usize) -> CellKey {
        CellKey {
            case: case.to_owned(),
            guest: guest.to_owned(),
            engine: self.engine.clone(),
            strategy: self.strategy,
            threads,
        }
    }
}

impl CellKey {
    /// Engine and strategy.
    #[must_use]
    pub fn executor(&self) -> Executor {
        Executor { engine: self.engine.clone(), strategy: self.strategy }
    }

    /// First part of the name if the case has no title on the guest: `<case>_from_<guest>`.
    #[must_use]
    pub fn work(&self) -> String {
        format!("{}_from_{}", self.case, self.guest)
    }

    /// Second part of the name: `<engine>_<strategy>/<N>_threads`.
    #[must_use]
    pub fn function(&self) -> String {
        format!("{}/{}_threads", self.executor(), self.threads)
    }

    /// The full name for filters, with the title of the case if it has one.
    #[must_use]
    pub fn name(&self, title: Option<&str>) -> String {
        match title {
            Some(title) => format!("{title}/{}", self.function()),
            None => format!("{}/{}", self.work(), self.function()),
        }
    }
}

/// The effective setup of an executor on a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The executor.
    #[serde(flatten)]
    pub executor: Executor,
    /// The guest.
    pub guest: String,
    /// How Touchstone implements the strategy, if the runtime does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// The effective configuration, key by key. Values equal to those on the executor's first
    /// guest of the run are left out; a key that only the first guest has is `null`.
    pub effective: BTreeMap<String, Option<String>>,
}

/// The measurements of a cell in one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// The cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// Number of the process within the run, from 0.
    pub process: u32,
    /// The samples of each metric.
    pub metrics: BTreeMap<Metric, Samples>,
}

/// The purpose of a comparison.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Purpose {
    /// A cell against itself: shows the noise floor.
    Null,
    /// An adapter against the raw interface of its runtime.
    Overhead,
    /// An executor against a named baseline.
    Against,
    /// An executor against a peer, itself on one thread, or itself without a heavy call
    /// before: `make peers`.
    Peers,
    /// The price of a deadline.
    Deadline,
    /// A swap method against recompiling, or against sorted messages.
    Swap,
    /// Requested on the command line.
    Asked,
}

/// How one side of a comparison makes its calls.
#[derive(
    Debug,
    Clone,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumIs,
)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// Through the contract.
    #[default]
    Contract,
    /// Through the raw interface of the runtime.
    Raw,
    /// Through the contract, with a deadline that no call reaches.
    Limited,
    /// In bursts, each after a call of another case on the same instance.
    After {
        /// The other case.
        case: String,
        /// Untimed calls between that call and the burst.
        skip: u64,
        /// Timed calls.
        burst: u64,
    },
    /// In the same bursts without the other call.
    Bursts {
        /// Untimed calls before the burst.
        skip: u64,
        /// Timed calls.
        burst: u64,
    },
    /// Messages of two kinds in random order, each answered by a module of its own, which this
    /// method provides at each change of kind.
    Swap {
        /// The swap method: `recompile`, `load_artifact`, …
        method: String,
    },
    /// The same messages sorted by kind, without the time of the change.
    Sorted {
        /// The swap method.
        method: String,
    },
    /// By another build, as it was named on the command line.
    Build(String),
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Contender {
    /// The executor.
    #[serde(flatten)]
    pub executor: Executor,
    /// Threads that make calls at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: usize,
    /// How the calls are made.
    #[serde(default, skip_serializing_if = "Means::is_contract")]
    pub means: Means,
}

impl Contender {
    /// An executor whose calls are made through the contract.
    #[must_use]
    pub const fn new(executor: Executor, threads: usize) -> Self {
        Self { executor, threads, means: Means::Contract }
    }
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one(threads: &usize) -> bool {
    *threads == 1
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executor = &self.executor;
        f.pad(&match &self.means {
            Means::Contract => executor.to_string(),
            Means::Limited => format!("{executor} with a deadline"),
            Means::Raw => format!("raw API of {}", executor.engine),
            Means::After { case, .. } => format!("{executor} after {case}"),
            Means::Bursts { .. } => format!("{executor} in bursts"),
            Means::Swap { method } => format!("{}/{method}", executor.engine),
            Means::Sorted { method } => format!("{}/{method}, sorted messages", executor.engine),
            Means::Build(label) => format!("{executor} ({label})"),
        })
    }
}

/// A case on a guest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Work {
    /// The case.
    pub case: String,
    /// The guest.
    pub guest: String,
}

/// The name of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Match {
    /// The purpose.
    pub purpose: Purpose,
    /// The case; for swaps, the first of the two kinds of messages.
    pub case: String,
    /// The guest.
    pub guest: String,
    /// The second kind of messages of swaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Work>,
    /// The subject.
    pub subject: Contender,
    /// The baseline.
    pub baseline: Contender,
}

impl Match {
    /// The cell of one of its sides.
    #[must_use]
    pub fn cell(&self, side: &Contender) -> CellKey {
        side.executor.cell(&self.case, &self.guest, side.threads)
    }

    /// The calls: `<case>_from_<guest>`, with `_and_` between the two kinds of messages of a swap.
    #[must_use]
    pub fn work(&self) -> String {
        let Self { case, guest, second, .. } = self;
        let second = second
            .as_ref()
            .map_or_else(String::new, |Work { case, guest }| format!("_and_{case}_from_{guest}"));
        format!("{case}_from_{guest}{second}")
    }

    /// The name for filters: `<purpose>/<subject>/<work>/<N>_threads/<baseline>`.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { purpose, subject, baseline, .. } = self;
        let (executor, threads, work) = (&subject.executor, subject.threads, self.work());
        let name = format!("{purpose}/{executor}/{work}/{threads}_threads/{baseline}");
        match baseline.threads {
            same if same == threads => name,
            other => format!("{name}_on_{other}_threads"),
        }
    }
}

/// Subject and baseline timed in turns in one process, or in one pair of processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name.
    #[serde(flatten)]
    pub of: Match,
    /// Number of the process within the run, from 0.
    pub process: u32,
    /// ns per call of subject and baseline, round by round.
    pub rounds: Vec<(f64, f64)>,
    /// Indices of the rounds with interference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noisy: Vec<usize>,
}

impl Comparison {
    /// Each round in which time passed on both sides, and whether it is clean.
    #[must_use]
    pub fn timed(&self) -> Vec<((f64, f64), bool)> {
        let rounds = self.rounds.iter().copied().zip(clean(self.rounds.len(), &self.noisy));
        rounds.filter(|((subject, baseline), _)| *subject > 0.0 && *baseline > 0.0).collect()
    }
}

/// The counts of a case on a guest, equal for all executors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// The case.
    pub case: String,
    /// The guest.
    pub guest: String,
    /// SHA-256 of the guest's bytes.
    pub guest_sha256: String,
    /// The counts.
    pub metrics: BTreeMap<Metric, u64>,
    /// The engines that counted, all with the same result.
    pub counted_by: Vec<String>,
}

/// A check.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Check {
    /// The test scripts of the specification.
    Conformance,
    /// Which features of WebAssembly an engine runs.
    Features,
    /// State that a call sees of an earlier call.
    Isolation,
    /// Effects of hostile guests on the host.
    Hostile,
    /// Runs that are killed, crash or meet a full disk.
    Survival,
}

/// A reason without the place that engines name at its end: ` (at offset 0x1f)`. Refusals that
/// differ in nothing else are one.
#[must_use]
pub fn without_offset(reason: &str) -> &str {
    match reason.rsplit_once(" (at offset ") {
        Some((before, place)) if place.strip_suffix(')').is_some_and(|at| !at.contains(' ')) => {
            before
        }
        _ => reason,
    }
}

/// A finding of a check about one thing on one executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The subject: a script, a kind of state, an attack, a scenario.
    pub name: String,
    /// The engine; empty if none takes part.
    pub engine: String,
    /// The strategy, if the finding concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The number of tries by outcome.
    pub counts: BTreeMap<Outcome, u64>,
    /// The cause, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Evidence of failures and refusals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

impl Finding {
    /// The number of tries with an outcome.
    #[must_use]
    pub fn number(&self, outcome: Outcome) -> u64 {
        self.counts.get(&outcome).copied().unwrap_or_default()
    }
}

/// The outcome of one try of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expected result.
    Held,
    /// The expected result, by ending the process.
    HeldByEnding,
    /// Not the expected result.
    Failed,
    /// The check could not prove that it would have noticed a failure.
    Unproven,
    /// The executor refuses it with a reason.
    Refused,
    /// The harness did not drive it.
    NotDriven,
    /// The rules of the language make it invisible.
    Exempt,
}
