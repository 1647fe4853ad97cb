//! Results of the survival check.

use touchstone::record::{Check, Finding, Outcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survival {
    /// Seed of the random moments.
    pub seed: u64,
    /// Incidents in order.
    pub scenarios: Vec<Scenario>,
}

/// A kind of incident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scenario {
    pub name: String,
    pub rounds: usize,
    /// Cells that were reported finished, by the runs and the resumed runs.
    pub finished: usize,
    /// Finished cells without a record.
    pub lost: usize,
    /// Incomplete lines, all skipped by readers.
    pub half_lines: usize,
    /// The message of the run, if it says more than that it was stopped.
    pub said: String,
    /// Violations, a sentence each.
    pub problems: Vec<String>,
}

impl Scenario {
    /// The record. Problems do not know their round, so each fails one round.
    fn finding(&self) -> Finding {
        let failed = (self.problems.len() + self.lost).min(self.rounds);
        let counts = [(Outcome::Held, self.rounds - failed), (Outcome::Failed, failed)];
        let said = (!self.said.is_empty()).then(|| self.said.clone());
        Finding {
            check: Check::Survival,
            name: self.name.clone(),
            engine: String::new(),
            strategy: None,
            counts: counts.into_iter().map(|(outcome, count)| (outcome, count as u64)).collect(),
            cause: None,
            evidence: said.into_iter().chain(self.problems.iter().cloned()).collect(),
        }
    }

    pub(super) fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }

    /// `true` if nothing was lost and nothing else went wrong.
    pub fn held(&self) -> bool {
        self.lost == 0 && self.problems.is_empty()
    }
}

impl Survival {
    pub fn findings(&self) -> Vec<Finding> {
        self.scenarios.iter().map(Scenario::finding).collect()
    }

    pub fn held(&self) -> bool {
        self.scenarios.iter().all(Scenario::held)
    }
}
