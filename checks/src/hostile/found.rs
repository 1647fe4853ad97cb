//! What hostile guests did.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use touchstone::record::{self, Check, Outcome};
use touchstone_executor::Strategy;

/// What hostile guests did to the engines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hostile {
    /// The attacks, in the order of the table.
    pub attacks: Vec<AttackSaid>,
    /// The engines, in the order of the table.
    pub engines: Vec<EngineSaid>,
    /// What was found, attack by attack and engine by engine.
    pub findings: Vec<Finding>,
}

/// An attack, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackSaid {
    /// Its name.
    pub name: String,
    /// What the guest does.
    pub about: String,
    /// Seconds that it may take with all its rounds.
    pub limit_s: u64,
}

/// An engine that was attacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSaid {
    /// Its name.
    pub id: String,
    /// Version of its runtime.
    pub version: String,
    /// Why no call on it can be stopped; `None` where one can.
    pub no_deadline: Option<String>,
}

/// How an attack on an engine ended, on strategies on which it ended in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The attack.
    pub attack: String,
    /// The engine.
    pub engine: String,
    /// The strategies.
    pub strategies: Vec<Strategy>,
    /// Whether it was held.
    pub verdict: Verdict,
    /// What stopped it, or what failed.
    pub how: Vec<String>,
}

/// Whether an attack was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// By the engine or its adapter, within the process of the host.
    Held,
    /// Only by ending the process that it ran in.
    HeldInChild,
    /// It was not.
    Failed,
}

impl Verdict {
    /// As it is stored.
    const fn outcome(self) -> Outcome {
        match self {
            Self::Held => Outcome::Held,
            Self::HeldInChild => Outcome::HeldByEnding,
            Self::Failed => Outcome::Failed,
        }
    }

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldInChild => "held, in a child",
            Self::Failed => "FAILED",
        }
    }

    /// In a word, for tables.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldInChild => "child",
            Self::Failed => "FAILED",
        }
    }
}

impl Hostile {
    /// Everything as it is stored.
    #[must_use]
    pub fn findings(&self) -> Vec<record::Finding> {
        let stored = |found: &Finding, strategy: Strategy| record::Finding {
            check: Check::Hostile,
            name: found.attack.clone(),
            engine: found.engine.clone(),
            strategy: Some(strategy),
            counts: BTreeMap::from([(found.verdict.outcome(), 1)]),
            cause: None,
            evidence: found.how.clone(),
        };
        let all = self.findings.iter();
        all.flat_map(|found| found.strategies.iter().map(|one| stored(found, *one))).collect()
    }

    /// The worst that an attack did to an engine; `None` where it was not made.
    #[must_use]
    pub fn worst(&self, attack: &str, engine: &str) -> Option<Verdict> {
        self.of(attack, engine).map(|finding| finding.verdict).max()
    }

    /// All that was found of an attack on an engine.
    pub fn of<'a>(&'a self, attack: &'a str, engine: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |found| found.attack == attack && found.engine == engine)
    }

    /// How many findings of each verdict there are: held, held in a child, failed. Each
    /// strategy counts.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        [Verdict::Held, Verdict::HeldInChild, Verdict::Failed].map(|verdict| {
            let found = self.findings.iter().filter(|finding| finding.verdict == verdict);
            found.map(|finding| finding.strategies.len()).sum()
        })
    }
}
