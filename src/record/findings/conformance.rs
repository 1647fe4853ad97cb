//! What the specification's test scripts found.

use super::Findings;
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
}

/// Failures of all engines by name, for tables: what is the same on several engines stands
/// there once.
#[must_use]
pub fn failures(engines: &[OnEngine]) -> BTreeMap<&Failure, Vec<&str>> {
    let mut all: BTreeMap<&Failure, Vec<&str>> = BTreeMap::new();
    for one in engines {
        for failure in &one.failures {
            all.entry(failure).or_default().push(&one.engine);
        }
    }
    all
}
