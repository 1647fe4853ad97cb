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

use serde::{Deserialize, Serialize};
use std::fmt;
use touchstone_record::{Book, CellKey};

pub(crate) use explanations::Explanation;
pub(super) use page::{anomalies, broken_rules, draft};

/// A rule about single cells; these can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rule {
    /// Throughput on N threads is at most 1.05 × N times that on one.
    Scaling,
    /// A comparison and the times of its two cells differ by a factor of at most 1.3.
    Comparison,
    /// At least 1,000 calls stand behind a call below 20 µs.
    FewCalls,
    /// Every sample of a latency times calls for at least 20 µs.
    ShortSample,
    /// Every cell is measured in at least three processes.
    Processes,
    /// No engine makes a warm call faster than native code.
    Baseline,
}

impl Rule {
    /// The fault that its violations share.
    fn title(self) -> &'static str {
        match self {
            Self::Scaling => "scaling beyond the number of threads",
            Self::Comparison => "comparisons that contradict their cells",
            Self::FewCalls => "too few calls",
            Self::ShortSample => "samples that are too short",
            Self::Processes => "too few processes",
            Self::Baseline => "native code slower than an engine",
        }
    }
}

/// A broken rule of publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The cell (of a comparison, its subject's) and the rule; `None` where it is one about
    /// the whole run, which nothing explains.
    cell: Option<(CellKey, Rule)>,
    /// The value, without the cell, and the limit.
    found: (String, String),
    /// `true` if the intervals allow the limit. Then an explanation is optional.
    is_tie: bool,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, limit) = &self.found;
        let Some((cell, rule)) = &self.cell else { return write!(f, "{found}{limit}") };
        write!(f, "{found}: {}, {}", cell.executor(), cell.work())?;
        // Scaling says the number of threads itself.
        if cell.threads > 1 && *rule != Rule::Scaling {
            write!(f, " on {} threads", cell.threads)?;
        }
        write!(f, " ({limit})")
    }
}

/// Rules of publication are broken, and no draft is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; nothing was written", page::broken(reasons.len()))]
pub struct Closed {
    /// One line for each.
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Gate {
    /// Broken rules without an explanation.
    violations: Vec<Violation>,
    /// Broken rules with their explanations.
    explained: Vec<(Violation, String)>,
    /// Explanations of what is not there.
    stale: Vec<Explanation>,
}

impl Gate {
    /// An error if a rule is broken without an explanation, or an explanation is stale.
    pub(crate) fn publish(&self) -> Result<(), Closed> {
        let violations = self.violations.iter().map(ToString::to_string);
        let stale = self.stale.iter().map(ToString::to_string);
        let reasons: Vec<String> = violations.chain(stale).collect();
        if reasons.is_empty() { Ok(()) } else { Err(Closed { reasons }) }
    }
}

/// Checks a run, and that of the peers, by the rules of publication. The first explanation that
/// fits a violation is its explanation.
pub(crate) fn check(book: &Book, peers: Option<&Book>, explanations: Vec<Explanation>) -> Gate {
    let mut gate = Gate::default();
    let mut used = vec![false; explanations.len()];
    for violation in rules::violations(book, peers) {
        match explanations.iter().position(|explanation| explanation.fits(&violation)) {
            Some(place) => {
                used[place] = true;
                gate.explained.push((violation, explanations[place].text.clone()));
            }
            None if violation.is_tie => {}
            None => gate.violations.push(violation),
        }
    }
    let unused = explanations.into_iter().zip(used).filter(|(_, used)| !used);
    gate.stale = unused.map(|(explanation, _)| explanation).collect();
    gate
}
