//! Results of the specification's test scripts.

use std::collections::BTreeMap;
use touchstone::record::{Check, Finding, Outcome};

/// Results on all engines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conformance {
    /// Groups of scripts, in the order of the tables.
    pub groups: Vec<String>,
    pub engines: Vec<OnEngine>,
}

/// Results on one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnEngine {
    pub engine: String,
    /// Number of instantiated modules.
    pub modules: u64,
    /// Counts of assertions by group; groups without assertions are left out.
    pub groups: BTreeMap<String, Tally>,
    /// Assertions that need a feature that is off or missing, by group and reason.
    pub unsupported: BTreeMap<(String, String), u64>,
    /// Undriven assertions by group and reason.
    pub not_driven: BTreeMap<(String, String), u64>,
    /// All failures, by place.
    pub failures: Vec<Failure>,
    /// The reason if scripts were left out.
    pub limit: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    /// Assertions that failed, and failed modules and calls before assertions.
    pub failed: u64,
    /// Assertions about modules that the harness refused before any engine.
    pub refused: u64,
}

impl Tally {
    /// Number of assertions that an engine was compared with.
    pub fn driven(self) -> u64 {
        self.passed + self.failed
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.refused += other.refused;
    }
}

/// A difference from the script.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// Group, script and line: `wasm-v1/fac:12`.
    pub at: String,
    /// The observed result.
    pub what: String,
    /// The cause, if known.
    pub why: Option<String>,
}

impl Conformance {
    /// The records of these results. Failures have one record per cause, with their places as
    /// evidence.
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

    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.groups.values().for_each(|tally| total.add(*tally));
        total
    }
}

/// Failures with the engines that have them.
pub fn failures(engines: &[OnEngine]) -> BTreeMap<&Failure, Vec<&str>> {
    let mut all: BTreeMap<&Failure, Vec<&str>> = BTreeMap::new();
    for one in engines {
        for failure in &one.failures {
            all.entry(failure).or_default().push(&one.engine);
        }
    }
    all
}
