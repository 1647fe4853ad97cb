//! What becomes of finished cells when a run is broken off, has no room, has company, or
//! loses a backend: the real run and the real record file, over an engine without a
//! runtime, in processes that are killed.

mod check;
mod job;
mod kills;
mod place;
mod scenarios;

pub use job::Job;

use super::Findings;
use anyhow::Result;
use place::Place;
use serde::{Deserialize, Serialize};
use std::process::Command;

/// Rounds of each kind of kill, unless told otherwise.
pub const ROUNDS: usize = 100;
/// Where the random moments start, unless told otherwise.
pub const SEED: u64 = 1;

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
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Whether nothing was lost and nothing else went wrong.
    #[must_use]
    pub fn held(&self) -> bool {
        self.lost == 0 && self.problems.is_empty()
    }

    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }
}

impl Survival {
    /// Whether every scenario held.
    #[must_use]
    pub fn held(&self) -> bool {
        self.scenarios.iter().all(Scenario::held)
    }
}

/// How to check.
pub struct Plan<'a> {
    /// Rounds of each kind of kill.
    pub rounds: usize,
    /// Where the random moments start.
    pub seed: u64,
    /// Gives the command that starts a process for a job, which has to come to
    /// [`Job::parse`] with this text and to [`Job::execute`] then, and to end with 2
    /// where that is an error and with 1 where cells failed.
    pub command: &'a dyn Fn(&str) -> Result<Command>,
    /// Told what is done next.
    pub progress: &'a dyn Fn(&str),
}

/// A way to look at something that happens to runs.
type Look = fn(&mut Place<'_>) -> Result<Scenario>;

const LOOKS: [(&str, Look); 13] = [
    ("SIGKILL", kills::kill),
    ("SIGTERM", kills::terminate),
    ("SIGINT", kills::interrupt),
    ("SIGKILL, with workers", kills::kill_with_workers),
    ("SIGTERM, with workers", kills::terminate_with_workers),
    ("a record cut off", scenarios::cut),
    ("a full disk", scenarios::full_disk),
    ("a folder that cannot be written", scenarios::no_folder),
    ("two runs on one file", scenarios::two_runs),
    ("a clock that goes back", scenarios::clock),
    ("a backend that crashes, in a worker", scenarios::crash),
    ("a backend that hangs, in a worker", scenarios::hang),
    ("a backend that never starts, in a worker", scenarios::never_starts),
];

/// The names of what is looked at.
#[must_use]
pub fn names() -> Vec<String> {
    LOOKS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Looks at what the filter means.
///
/// # Errors
///
/// When something cannot be made to happen here: no process, no folder.
pub fn check(plan: &Plan<'_>, wanted: impl Fn(&str) -> bool) -> Result<Survival> {
    let mut place = Place::new(plan)?;
    let mut scenarios = Vec::new();
    for (name, look) in LOOKS.iter().filter(|(name, _)| wanted(name)) {
        (plan.progress)(name);
        scenarios.push(Scenario { name: (*name).to_owned(), ..look(&mut place)? });
    }
    Ok(Survival { seed: plan.seed, scenarios })
}
