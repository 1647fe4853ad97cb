//! What of a run survived what happened to it.

use super::Findings;
use serde::{Deserialize, Serialize};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survival {
    /// Where the random moments started.
    pub seed: u64,
    /// What was done to runs, in the order in which it was.
    pub scenarios: Vec<Scenario>,
}

impl Findings for Survival {
    const NAME: &'static str = "survival";
}

/// One kind of thing that happens to a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Whether nothing was lost and nothing else went wrong.
    #[must_use]
    pub fn held(&self) -> bool {
        self.lost == 0 && self.problems.is_empty()
    }
}

impl Survival {
    /// Whether every scenario held.
    #[must_use]
    pub fn held(&self) -> bool {
        self.scenarios.iter().all(Scenario::held)
    }
}
