//! The lines of a record file below a header.

use super::{Header, Metric, Samples};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use touchstone_executor::Strategy;

/// One line of a record file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// A run begins; all lines up to the next header belong to it.
    Run(Box<Header>),
    /// What was in force.
    Setup(Setup),
    /// What was measured of a cell in one process.
    Observations(Observations),
    /// What is not measured, and why.
    Refusal(Refusal),
    /// Two things timed in turns in one process.
    Comparison(Box<Comparison>),
    /// What was counted of a case on a guest, whoever runs it.
    Count(Count),
    /// What a check found.
    Finding(Box<Finding>),
    /// Calls under load, or memory over many swaps.
    Swap(Box<super::Swap>),
}

/// Name of a cell: what is run, on what, how.
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
    /// Threads that make calls at the same time.
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

impl CellKey {
    /// Engine and strategy.
    #[must_use]
    pub fn executor(&self) -> Executor {
        Executor { engine: self.engine.clone(), strategy: self.strategy }
    }

    /// First part of the name, where the case has no title on the guest:
    /// `<case>_from_<guest>`.
    #[must_use]
    pub fn work(&self) -> String {
        format!("{}_from_{}", self.case, self.guest)
    }

    /// Second part of the name: `<engine>_<strategy>/<N>_threads`.
    #[must_use]
    pub fn function(&self) -> String {
        format!("{}/{}_threads", self.executor(), self.threads)
    }

    /// The whole name as filters take it, under the case's title where it has one.
    #[must_use]
    pub fn name(&self, title: Option<&str>) -> String {
        match title {
            Some(title) => format!("{title}/{}", self.function()),
            None => format!("{}/{}", self.work(), self.function()),
        }
    }
}

/// What was in force when an executor ran a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The executor.
    #[serde(flatten)]
    pub executor: Executor,
    /// The guest.
    pub guest: String,
    /// How Touchstone does the strategy where the runtime does not do it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// What was probed, key by key; what is the same as on the executor's first guest of
    /// the run is left out, and a key that is missing here is `null`.
    pub effective: BTreeMap<String, Option<String>>,
}

/// What was measured of a cell in one process.
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

/// Why something is not measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refusal {
    /// The engine.
    pub engine: String,
    /// The strategy; `None` where the reason is the same for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The guest; `None` where the reason holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
    /// The case; `None` where the reason holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Threads; `None` where the reason holds for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// What kind of refusal.
    pub status: Status,
    /// In words.
    pub reason: String,
}

/// Why a cell has no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The engine cannot do the strategy, or not for this module.
    Unsupported,
    /// The case does not ask for it: another engine executes in the same way, or another
    /// strategy is preferred.
    NotAsked,
    /// A call takes longer than the case's budget.
    OverBudget,
    /// More threads than processors.
    Skipped,
    /// The output differed from the expected one.
    Wrong,
    /// The guest trapped.
    Trapped,
    /// The host side failed.
    Failed,
}

impl Status {
    /// Whether something is wrong, and not merely left out.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Wrong | Self::Trapped | Self::Failed)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unsupported => "unsupported",
            Self::NotAsked => "not asked for",
            Self::OverBudget => "over budget",
            Self::Skipped => "skipped",
            Self::Wrong => "wrong",
            Self::Trapped => "trapped",
            Self::Failed => "failed",
        })
    }
}

impl Refusal {
    /// Whether it is about a cell.
    #[must_use]
    pub fn is_of(&self, cell: &CellKey) -> bool {
        self.engine == cell.engine
            && self.strategy.is_none_or(|strategy| strategy == cell.strategy)
            && self.guest.as_ref().is_none_or(|guest| *guest == cell.guest)
            && self.case.as_ref().is_none_or(|case| *case == cell.case)
            && self.threads.is_none_or(|threads| threads == cell.threads)
    }
}

/// Why two things are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A cell against itself: what the machine lets anyone tell apart.
    Null,
    /// An adapter against the raw interface of its runtime.
    Overhead,
    /// An executor against the one that the case names.
    Against,
    /// An executor against a peer, itself on one thread, or itself without a heavy call
    /// before: the rows of `benches/peers.toml`.
    Peers,
    /// A way to swap modules against compiling them anew.
    Swap,
    /// What was asked for on the command line.
    Asked,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Null => "null",
            Self::Overhead => "overhead",
            Self::Against => "against",
            Self::Peers => "peers",
            Self::Swap => "swap",
            Self::Asked => "asked",
        })
    }
}

/// How one side of a comparison makes its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// Through the contract.
    #[default]
    Contract,
    /// Through the raw interface of the runtime.
    Raw,
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
    /// Messages of two kinds, each answered by a module of its own that is brought about
    /// in this way at each change of kind.
    Swap {
        /// The way: `recompile`, `load_artifact`, …
        method: String,
    },
    /// The same messages sorted by kind, without the time of the change.
    Sorted {
        /// The way to swap.
        method: String,
    },
    /// By another program or a stored run, as it was named on the command line.
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
    #[serde(default, skip_serializing_if = "is_contract")]
    pub means: Means,
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one(threads: &usize) -> bool {
    *threads == 1
}

fn is_contract(means: &Means) -> bool {
    *means == Means::Contract
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executor = &self.executor;
        f.pad(&match &self.means {
            Means::Contract => executor.to_string(),
            Means::Raw => format!("raw API of {}", executor.engine),
            Means::After { case, .. } => format!("{executor} after {case}"),
            Means::Bursts { .. } => format!("{executor} in bursts"),
            Means::Swap { method } => format!("{}/{method}", executor.engine),
            Means::Sorted { method } => format!("{}/{method}, sorted messages", executor.engine),
            Means::Build(label) => format!("{executor} ({label})"),
        })
    }
}

/// What is compared: the name of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Match {
    /// Why.
    pub purpose: Purpose,
    /// The case; for swaps, the two kinds of messages.
    pub case: String,
    /// The guest.
    pub guest: String,
    /// What is judged.
    pub subject: Contender,
    /// What it is held against.
    pub baseline: Contender,
}

impl Match {
    /// The name as filters take it: `<purpose>/<subject>/<work>/<N>_threads/<baseline>`.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { purpose, case, guest, subject, baseline } = self;
        let (executor, threads) = (&subject.executor, subject.threads);
        format!("{purpose}/{executor}/{case}_from_{guest}/{threads}_threads/{baseline}")
    }
}

/// Subject and baseline timed in turns in one process, or in one pair of processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is compared.
    #[serde(flatten)]
    pub of: Match,
    /// Number of the process within the run, from 0.
    pub process: u32,
    /// ns per call of subject and baseline, round by round.
    pub rounds: Vec<(f64, f64)>,
    /// Places of the rounds with interference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noisy: Vec<usize>,
}

/// What was counted of a case on a guest, the same whoever runs it.
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
    /// Who counted, all of them the same.
    pub counted_by: Vec<String>,
}

/// A part of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The test scripts of the specification.
    Conformance,
    /// Whether a call sees anything of the one before.
    Isolation,
    /// What hostile guests do to the host.
    Hostile,
    /// What of a run survives kills, full disks and crashes.
    Survival,
}

/// What a check found about one thing on one executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// What was checked: a script, a kind of state, an attack, a scenario.
    pub name: String,
    /// The engine; empty where none takes part.
    pub engine: String,
    /// The strategy, where the check is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// What came of it, by how often: `held`, `failed`, `unproven`, and what the check
    /// counts besides.
    pub counts: BTreeMap<Outcome, u64>,
    /// Why, where the cause is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What was seen, for the failures and the refusals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// What came of one try of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it has to be.
    Held,
    /// As it has to be, at the price of the process.
    HeldByEnding,
    /// Not as it has to be.
    Failed,
    /// The check could not show that it would have noticed.
    Unproven,
    /// The executor refuses it, with the reason.
    Refused,
    /// The harness did not drive it.
    NotDriven,
    /// It cannot be seen by the rules of the language.
    Exempt,
}
