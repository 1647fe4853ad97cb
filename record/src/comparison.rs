//! Comparisons of a subject with a baseline.

use super::line::{is_one, one};
use super::sample::clean;
use super::{CellKey, Executor};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    Deadline,
    /// Touchstone's resets against the runtimes' own, in pairs of fresh processes: `make quick`
    /// and `touchstone machine`.
    Overview,
    /// Requested on the command line.
    Asked,
}

/// How one side of a comparison makes its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumIs)]
pub enum Means {
    #[default]
    Contract,
    Raw,
    /// Through the contract, with a deadline that no call reaches.
    Limited,
    /// In bursts, each after a call of another case on the same instance.
    After {
        case: String,
        /// Untimed calls between that call and the burst.
        skip: u64,
        burst: u64,
    },
    /// In the same bursts without the other call.
    Bursts {
        /// Untimed calls before the burst.
        skip: u64,
        burst: u64,
    },
    /// By another build, as it was named on the command line.
    Build(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Contender {
    #[serde(flatten)]
    pub executor: Executor,
    /// Threads that make calls at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: usize,
    #[serde(default, skip_serializing_if = "Means::is_contract")]
    pub means: Means,
}

impl Contender {
    /// An executor whose calls are made through the contract.
    pub const fn new(executor: Executor, threads: usize) -> Self {
        Self { executor, threads, means: Means::Contract }
    }
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
            Means::Build(label) => format!("{executor} ({label})"),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Match {
    pub purpose: Purpose,
    pub case: String,
    pub guest: String,
    pub subject: Contender,
    pub baseline: Contender,
}

impl Match {
    pub fn cell(&self, side: &Contender) -> CellKey {
        side.executor.cell(&self.case, &self.guest, side.threads)
    }

    /// The calls: `<case>_from_<guest>`.
    pub fn work(&self) -> String {
        format!("{}_from_{}", self.case, self.guest)
    }

    /// The name for filters: `<purpose>/<subject>/<work>/<N>_threads/<baseline>`.
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
    pub fn timed(&self) -> Vec<((f64, f64), bool)> {
        let rounds = self.rounds.iter().copied().zip(clean(self.rounds.len(), &self.noisy));
        rounds.filter(|((subject, baseline), _)| *subject > 0.0 && *baseline > 0.0).collect()
    }
}
