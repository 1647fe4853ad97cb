//! The lines of a record file below a header.

use super::{Comparison, End, Finding, Header, Metric, Refusal, Samples};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use touchstone_executor::Strategy;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// A run begins; all lines up to the next header belong to it.
    Run(Box<Header>),
    Setup(Setup),
    Observations(Observations),
    Refusal(Refusal),
    Comparison(Box<Comparison>),
    Count(Count),
    Finding(Box<Finding>),
    Point(Box<super::Point>),
    /// The run is complete, and its lines are those that were written.
    End(End),
}

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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Executor {
    pub engine: String,
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
    pub fn executor(&self) -> Executor {
        Executor { engine: self.engine.clone(), strategy: self.strategy }
    }

    /// First part of the name if the case has no title on the guest: `<case>_from_<guest>`.
    pub fn work(&self) -> String {
        format!("{}_from_{}", self.case, self.guest)
    }

    /// Second part of the name: `<engine>_<strategy>/<N>_threads`.
    pub fn function(&self) -> String {
        format!("{}/{}_threads", self.executor(), self.threads)
    }

    /// The full name for filters, with the title of the case if it has one.
    pub fn name(&self, title: Option<&str>) -> String {
        match title {
            Some(title) => format!("{title}/{}", self.function()),
            None => format!("{}/{}", self.work(), self.function()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    #[serde(flatten)]
    pub executor: Executor,
    pub guest: String,
    /// How Touchstone implements the strategy, if the runtime does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// The effective configuration, key by key. Values equal to those on the executor's first
    /// guest of the run are left out; a key that only the first guest has is `null`.
    pub effective: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Clone, Default)]
pub struct Setups {
    /// That of each executor on its first guest of the run.
    pub first: BTreeMap<Executor, Setup>,
    /// Executors and guests with a setup.
    pub written: BTreeSet<(Executor, String)>,
}

impl Setups {
    /// A setup as the run records it: its differences from the executor's on its first guest.
    /// `None` if it is recorded already.
    pub fn recorded(&mut self, mut setup: Setup) -> Option<Setup> {
        if !self.written.insert((setup.executor.clone(), setup.guest.clone())) {
            return None;
        }
        let Some(first) = self.first.get(&setup.executor) else {
            self.first.insert(setup.executor.clone(), setup.clone());
            return Some(setup);
        };
        for key in first.effective.keys() {
            setup.effective.entry(key.clone()).or_insert(None);
        }
        setup.effective.retain(|key, value| first.effective.get(key) != Some(value));
        Some(setup)
    }

    /// The reverse: all that is in force, from a setup as the run records it.
    pub fn complete(&mut self, mut setup: Setup) -> Setup {
        let first = self.first.entry(setup.executor.clone()).or_insert_with(|| setup.clone());
        let mut effective = first.effective.clone();
        effective.append(&mut setup.effective);
        effective.retain(|_, value| value.is_some());
        Setup { effective, ..setup }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    #[serde(flatten)]
    pub cell: CellKey,
    /// Number of the process within the run, from 0.
    pub process: u32,
    /// Shortest interference probe of the state of its clean samples, ns; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub probe_ns: u64,
    pub metrics: BTreeMap<Metric, Samples>,
}

/// The counts of a case on a guest, equal for all executors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub case: String,
    pub guest: String,
    pub guest_sha256: String,
    pub metrics: BTreeMap<Metric, u64>,
    /// The engines that counted, all with the same result.
    pub counted_by: Vec<String>,
}

pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

pub(crate) fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn is_one(threads: &usize) -> bool {
    *threads == 1
}
