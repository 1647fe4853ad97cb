//! Does an executor run WebAssembly as its specification says? The specification's own
//! test scripts, driven through the contract.
//!
//! Each module of a script becomes a guest ([`adapt`], [`prepare`]), each command a step
//! ([`script`]), and the steps are taken on one engine after the other ([`drive`]), each
//! of them in a process of its own ([`run`]), because a script may end it.
//!
//! An assertion that is not driven is never counted as one that passed. Modules that have
//! to be refused are refused by the harness, which validates every guest before any
//! engine sees it: they are counted apart.

pub mod adapt;
pub mod drive;
pub mod expect;
pub mod known;
pub mod prepare;
pub mod run;
pub mod script;
mod spectest;
pub mod suite;

use super::Findings;
use drive::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was found on every engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conformance {
    /// The groups of scripts, in the order of the tables.
    pub groups: Vec<String>,
    /// Engine by engine.
    pub engines: Vec<OnEngine>,
}

impl Findings for Conformance {
    const NAME: &'static str = "conformance";
}

/// What was found on one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnEngine {
    /// Its name.
    pub engine: String,
    /// Version of its runtime.
    pub version: String,
    /// Modules that were instantiated.
    pub modules: u64,
    /// Counts of assertions by group; groups without any are left out.
    pub groups: BTreeMap<String, Tally>,
    /// Why assertions were unsupported, and how many.
    pub unsupported: BTreeMap<String, u64>,
    /// Why assertions were not driven, and how many.
    pub not_driven: BTreeMap<String, u64>,
    /// Every failure, by name.
    pub failures: Vec<Failure>,
    /// Why scripts were left out, where some were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// Counts of assertions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// That held.
    pub passed: u64,
    /// That did not; with modules and calls before assertions that did not come about.
    pub failed: u64,
    /// About modules that the harness refused as it has to, before any engine saw them.
    pub refused: u64,
    /// That need a feature which is off, or which the engine does not have.
    pub unsupported: u64,
    /// That were not tried.
    pub not_driven: u64,
}

impl Tally {
    /// Assertions that the engine was held against.
    #[must_use]
    pub fn driven(self) -> u64 {
        self.passed + self.failed
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.refused += other.refused;
        self.unsupported += other.unsupported;
        self.not_driven += other.not_driven;
    }
}

/// Something that is not as a script says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Failure {
    /// Group, script and line: `wasm-v1/fac:12`.
    pub at: String,
    /// What happened instead.
    pub what: String,
    /// Why, where the cause was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl OnEngine {
    /// All groups together.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.groups.values().for_each(|tally| total.add(*tally));
        total
    }

    /// Counts what came of a step.
    fn count(
        &mut self,
        group: &str,
        at: impl FnOnce() -> String,
        assertion: bool,
        verdict: Verdict,
    ) {
        if !assertion && verdict == Verdict::Passed {
            return;
        }
        let tally = self.groups.entry(group.to_owned()).or_default();
        let one = u64::from(assertion);
        match verdict {
            Verdict::Passed => tally.passed += 1,
            Verdict::Refused => tally.refused += 1,
            Verdict::Failed(what) => {
                tally.failed += 1;
                self.failures.push(Failure { at: at(), what, why: None });
            }
            Verdict::Unsupported(reason) if assertion => {
                tally.unsupported += one;
                *self.unsupported.entry(reason).or_default() += one;
            }
            Verdict::NotDriven(reason) if assertion => {
                tally.not_driven += one;
                *self.not_driven.entry(reason).or_default() += one;
            }
            Verdict::Unsupported(_) | Verdict::NotDriven(_) => {}
        }
    }
}
