//! Results of the attacks.

use crate::conformance::known::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use touchstone::record::{self, Check, Outcome};
use touchstone_executor::Strategy;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hostile {
    /// Names of attacks in the order of the table.
    pub attacks: Vec<&'static str>,
    /// Names of engines in the order of the table.
    pub engines: Vec<String>,
    pub findings: Vec<Finding>,
}

/// The end of an attack on an engine, with the strategies on which it was the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub attack: String,
    pub engine: String,
    pub strategies: Vec<Strategy>,
    pub verdict: Verdict,
    /// Ends of the attack, or the failures.
    pub how: Vec<String>,
    /// The cause of a failure, if it is known.
    pub cause: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Stopped within the host's process.
    Held,
    /// Stopped only by ending its process.
    HeldInChild,
    Failed,
}

impl Verdict {
    const fn outcome(self) -> Outcome {
        match self {
            Self::Held => Outcome::Held,
            Self::HeldInChild => Outcome::HeldByEnding,
            Self::Failed => Outcome::Failed,
        }
    }

    /// For sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldInChild => "held, in a child",
            Self::Failed => "FAILED",
        }
    }

    pub const fn short(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldInChild => "child",
            Self::Failed => "FAILED",
        }
    }
}

impl Hostile {
    /// Sets the causes of failures, and returns the number of failures without a cause.
    pub fn explain(&mut self, known: &Known) -> usize {
        let mut unexplained = 0;
        for found in self.findings.iter_mut().filter(|found| found.verdict == Verdict::Failed) {
            let at = format!("hostile/{}", found.attack);
            found.cause = known.cause(&found.engine, &at, &found.how.join("; "));
            unexplained += usize::from(found.cause.is_none());
        }
        unexplained
    }

    pub fn findings(&self) -> Vec<record::Finding> {
        let stored = |found: &Finding, strategy: Strategy| record::Finding {
            check: Check::Hostile,
            name: found.attack.clone(),
            engine: found.engine.clone(),
            strategy: Some(strategy),
            counts: BTreeMap::from([(found.verdict.outcome(), 1)]),
            cause: found.cause.clone(),
            evidence: found.how.clone(),
        };
        let all = self.findings.iter();
        all.flat_map(|found| found.strategies.iter().map(|one| stored(found, *one))).collect()
    }

    /// The worst result of an attack on an engine; `None` if it was not made.
    pub fn worst(&self, attack: &str, engine: &str) -> Option<Verdict> {
        self.of(attack, engine).map(|finding| finding.verdict).max()
    }

    pub fn of<'a>(&'a self, attack: &'a str, engine: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |found| found.attack == attack && found.engine == engine)
    }

    /// Number of strategies by verdict: held, held in a child, failed.
    pub fn counts(&self) -> [usize; 3] {
        [Verdict::Held, Verdict::HeldInChild, Verdict::Failed].map(|verdict| {
            let found = self.findings.iter().filter(|finding| finding.verdict == verdict);
            found.map(|finding| finding.strategies.len()).sum()
        })
    }
}
