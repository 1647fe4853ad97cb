//! The publishing gate: what a page must not say without an explanation beside it.
//!
//! Numbers that contradict each other are not published. A violation that is understood
//! has an entry in `benches/explanations.toml`, and the page prints it with the numbers.
//! A precompiled variant is compared with code of the same binary by construction: all
//! cells of a [`Book`] belong to one run.

mod explanations;
mod page;
mod rules;
#[cfg(test)]
mod tests;

use super::units;
use crate::record::estimate::PROCESSES;
use crate::record::{Book, CellKey, Executor, Metric, Purpose};
use serde::Deserialize;
use std::fmt;

pub use explanations::{Explanation, Explanations};
pub(super) use page::{anomalies, draft};

/// A rule about single cells; these can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Throughput on N threads is at most 1.05 × N times that on one.
    Scaling,
    /// In every sample, each thread makes at least half of its share of the calls; on one
    /// thread, calls and thread agree.
    SlowThread,
    /// A comparison and the times of its two cells differ by a factor of at most 1.3.
    Comparison,
    /// At least 1,000 calls stand behind a call below 20 µs.
    FewCalls,
    /// Every sample of a latency times calls for at least 20 µs.
    ShortSample,
    /// Every cell is measured in at least three processes.
    Processes,
}

impl Rule {
    /// The name in `benches/explanations.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scaling => "scaling",
            Self::SlowThread => "slow_thread",
            Self::Comparison => "comparison",
            Self::FewCalls => "few_calls",
            Self::ShortSample => "short_sample",
            Self::Processes => "processes",
        }
    }
}

/// A broken rule of publication.
#[derive(Debug, Clone, PartialEq)]
pub enum Violation {
    /// A cell breaks a rule.
    Cell {
        /// The cell; of a comparison, its subject's.
        cell: CellKey,
        /// The numbers.
        fault: Fault,
    },
    /// The binary was built from a tree with changes, or nobody knows from which.
    Commit(String),
    /// Too many cells are marked †.
    Marked {
        /// Marked cells.
        marked: usize,
        /// Cells with a time.
        of: usize,
    },
}

/// What is wrong with a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// [`Rule::Scaling`].
    Scaling {
        /// Throughput over that on one thread.
        ratio: f64,
        /// The most that is believed.
        limit: f64,
    },
    /// [`Rule::SlowThread`].
    SlowThread {
        /// Samples that break the rule.
        samples: usize,
        /// Samples that the estimate is made of.
        of: usize,
        /// Least share of a thread in a sample; its fair share is 1.
        share: f64,
    },
    /// [`Rule::Comparison`].
    Comparison {
        /// Why the two are compared.
        purpose: Purpose,
        /// The other side.
        baseline: Executor,
        /// Subject over baseline as compared.
        compared: f64,
        /// Subject over baseline as the two cells have it.
        cells: f64,
    },
    /// [`Rule::FewCalls`].
    FewCalls {
        /// Calls in all.
        calls: u64,
        /// The estimate, ns.
        ns: f64,
    },
    /// [`Rule::ShortSample`].
    ShortSample {
        /// What was sampled.
        metric: Metric,
        /// Samples that break the rule.
        samples: usize,
        /// Samples that the estimate is made of.
        of: usize,
        /// Timed calls of the shortest, ns of each thread.
        shortest_ns: f64,
    },
    /// [`Rule::Processes`].
    Processes {
        /// Processes that measured the cell.
        processes: usize,
    },
}

impl Fault {
    /// The rule that is broken.
    #[must_use]
    pub fn rule(&self) -> Rule {
        match self {
            Self::Scaling { .. } => Rule::Scaling,
            Self::SlowThread { .. } => Rule::SlowThread,
            Self::Comparison { .. } => Rule::Comparison,
            Self::FewCalls { .. } => Rule::FewCalls,
            Self::ShortSample { .. } => Rule::ShortSample,
            Self::Processes { .. } => Rule::Processes,
        }
    }

    /// What was found, without the cell.
    fn found(&self, threads: usize) -> String {
        match self {
            Self::Scaling { ratio, .. } => {
                format!("scaling {ratio:.2} on {}", units::count(threads, "thread"))
            }
            Self::SlowThread { samples, of, share } => format!(
                "a thread makes {share:.2} of its share of the calls, in {samples} of {}",
                units::count(*of, "sample")
            ),
            Self::Comparison { purpose, baseline, compared, cells } => {
                let of = if *purpose == Purpose::Peers { "peers" } else { "comparison" };
                format!("{of} {compared:.2}, cells {cells:.2}, against {baseline}")
            }
            Self::FewCalls { calls, ns } => {
                format!("{calls} calls behind {}", units::time(*ns))
            }
            Self::ShortSample { metric, samples, of, shortest_ns } => format!(
                "{metric}: {samples} of {} too short, the shortest {}",
                units::count(*of, "sample"),
                units::time(*shortest_ns)
            ),
            Self::Processes { processes } => {
                format!("measured in {processes} processes")
            }
        }
    }

    /// The limit of the rule.
    fn limit(&self) -> String {
        match self {
            Self::Scaling { limit, .. } => format!("limit {limit:.2}"),
            Self::SlowThread { .. } => format!("limit {}", rules::LEAST_SHARE),
            Self::Comparison { .. } => format!("limit a factor of {}", rules::AGREEMENT),
            Self::FewCalls { .. } => {
                format!("limit {} calls", units::grouped(rules::LEAST_CALLS))
            }
            Self::ShortSample { .. } => format!("limit {}", units::time_short(rules::SHORT_NS)),
            Self::Processes { .. } => format!("limit {PROCESSES}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell { cell, fault } => {
                let found = fault.found(cell.threads);
                write!(f, "{found}: {}, {}", cell.executor(), cell.work())?;
                // Scaling says the number of threads itself.
                if cell.threads > 1 && fault.rule() != Rule::Scaling {
                    write!(f, " on {} threads", cell.threads)?;
                }
                write!(f, " ({})", fault.limit())
            }
            Self::Commit(commit) if commit.ends_with(rules::DIRTY) => {
                write!(f, "the binary is of a tree with changes that no commit holds: {commit}")
            }
            Self::Commit(_) => write!(f, "the commit of the binary is not known"),
            Self::Marked { marked, of } => write!(
                f,
                "{marked} of {} are marked {} ({}; limit below {})",
                units::count(*of, "cell"),
                units::MARK,
                units::percent(*marked as f64 / *of as f64),
                units::percent(rules::MOST_MARKED)
            ),
        }
    }
}

/// Rules of publication are broken, and no draft is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; nothing was written", page::broken(reasons.len()))]
pub struct Closed {
    /// One line for each.
    pub reasons: Vec<String>,
}

/// What the gate found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gate {
    /// Broken rules without an explanation.
    pub violations: Vec<Violation>,
    /// Broken rules with their explanations.
    pub explained: Vec<(Violation, String)>,
    /// Explanations of what is not there.
    pub stale: Vec<Explanation>,
}

impl Gate {
    /// Lets the page be published, or says why not.
    ///
    /// # Errors
    ///
    /// When a rule is broken without an explanation, or an explanation is stale.
    pub fn publish(&self) -> Result<(), Closed> {
        let reasons = self.reasons();
        if reasons.is_empty() { Ok(()) } else { Err(Closed { reasons }) }
    }

    /// One line for each reason not to publish.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let violations = self.violations.iter().map(ToString::to_string);
        violations.chain(self.stale.iter().map(ToString::to_string)).collect()
    }
}

/// Holds a run, and that of the peers where there is one, against the rules of publication.
/// The first explanation that fits a violation is its explanation.
#[must_use]
pub fn check(book: &Book, peers: Option<&Book>, explanations: &Explanations) -> Gate {
    let mut gate = Gate::default();
    let mut used = vec![false; explanations.0.len()];
    for violation in rules::violations(book, peers) {
        match explanations.0.iter().position(|explanation| explanation.fits(&violation)) {
            Some(place) => {
                used[place] = true;
                gate.explained.push((violation, explanations.0[place].text.to_string()));
            }
            None => gate.violations.push(violation),
        }
    }
    let unused = explanations.0.iter().zip(used).filter(|(_, used)| !used);
    gate.stale = unused.map(|(explanation, _)| explanation.clone()).collect();
    gate
}

/// The files whose run is of another commit than the benchmarks', a line each: nothing of
/// them stands in one table with times of the benchmarks, but a reader has to know.
#[must_use]
pub fn warnings(book: &Book, others: &[(&str, &Book)]) -> Vec<String> {
    let own = &book.header.tools.commit;
    let differs = |(_, other): &&(&str, &Book)| other.header.tools.commit != *own;
    let line = |(name, other): &(&str, &Book)| {
        format!("`{name}` is of commit {}, the benchmarks of {own}", other.header.tools.commit)
    };
    others.iter().filter(differs).map(line).collect()
}
