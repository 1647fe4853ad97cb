//! What of a run survived what happened to it.

use touchstone::record::{Check, Finding, Outcome};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survival {
    /// Where the random moments started.
    pub seed: u64,
    /// What was done to runs, in the order in which it was.
    pub scenarios: Vec<Scenario>,
}

/// One kind of thing that happens to a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scenario {
    /// What happens.
    pub name: String,
    /// How often it was made to happen.
    pub rounds: usize,
    /// Cells that the runs had said were finished when it happened, and those of the runs
    /// that went on afterwards.
    pub finished: usize,
    /// Of these, cells whose record was not there afterwards.
    pub lost: usize,
    /// Lines that were cut off, all of them left out by whoever reads.
    pub half_lines: usize,
    /// What people are told, where it is more than that the run is stopped.
    pub said: String,
    /// What was not as it has to be, a sentence each.
    pub problems: Vec<String>,
}

impl Scenario {
    /// As it is stored. A round is held unless one of the problems is of it, and there is no
    /// telling of which round a problem is.
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

    /// Whether nothing was lost and nothing else went wrong.
    #[must_use]
    pub fn held(&self) -> bool {
        self.lost == 0 && self.problems.is_empty()
    }
}

impl Survival {
    /// Everything as it is stored.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.scenarios.iter().map(Scenario::finding).collect()
    }

    /// Whether every scenario held.
    #[must_use]
    pub fn held(&self) -> bool {
        self.scenarios.iter().all(Scenario::held)
    }
}
