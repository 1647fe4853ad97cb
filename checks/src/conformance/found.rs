//! What the specification's test scripts found.

use std::collections::BTreeMap;
use touchstone::record::{Check, Finding, Outcome};

/// What was found on every engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conformance {
    /// The groups of scripts, in the order of the tables.
    pub groups: Vec<String>,
    /// Engine by engine.
    pub engines: Vec<OnEngine>,
}

/// What was found on one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnEngine {
    /// Its name.
    pub engine: String,
    /// Version of its runtime.
    pub version: String,
    /// Modules that were instantiated.
    pub modules: u64,
    /// Counts of assertions by group; groups without any are left out.
    pub groups: BTreeMap<String, Tally>,
    /// Assertions that were unsupported, by group and reason.
    pub unsupported: BTreeMap<(String, String), u64>,
    /// Assertions that were not driven, by group and reason.
    pub not_driven: BTreeMap<(String, String), u64>,
    /// Every failure, by name.
    pub failures: Vec<Failure>,
    /// Why scripts were left out, where some were.
    pub limit: Option<String>,
}

/// Counts of assertions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Assertions that the engine was compared with.
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// Group, script and line: `wasm-v1/fac:12`.
    pub at: String,
    /// What happened instead.
    pub what: String,
    /// Why, where the cause was found.
    pub why: Option<String>,
}

impl Conformance {
    /// Everything as it is stored. What did not hold has a line for each cause, with where it
    /// happened as evidence.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.engines.iter().flat_map(|one| one.findings(&self.groups)).collect()
    }
}

impl OnEngine {
    fn findings(&self, groups: &[String]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |group: &str, outcome, count, cause: Option<&str>, evidence| {
            if count > 0 {
                findings.push(Finding {
                    check: Check::Conformance,
                    name: group.to_owned(),
                    engine: self.engine.clone(),
                    strategy: None,
                    counts: BTreeMap::from([(outcome, count)]),
                    cause: cause.map(str::to_owned),
                    evidence,
                });
            }
        };
        for group in groups {
            let Some(tally) = self.groups.get(group) else { continue };
            let limit = self.limit.iter().cloned().collect();
            add(group, Outcome::Held, tally.passed, None, limit);
            let mut causes: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
            let ours = |failure: &&Failure| failure.at.split('/').next() == Some(group);
            for Failure { at, what, why } in self.failures.iter().filter(ours) {
                causes.entry(why.as_deref()).or_default().push(format!("{at}: {what}"));
            }
            for (cause, evidence) in causes {
                add(group, Outcome::Failed, evidence.len() as u64, cause, evidence);
            }
            for (outcome, reasons) in
                [(Outcome::Refused, &self.unsupported), (Outcome::NotDriven, &self.not_driven)]
            {
                for ((of, reason), count) in reasons {
                    if of == group {
                        add(group, outcome, *count, Some(reason), Vec::new());
                    }
                }
            }
            let before =
                "the module has to be refused, and the harness refuses it before any engine";
            add(group, Outcome::NotDriven, tally.refused, Some(before), Vec::new());
        }
        findings
    }

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
