//! Whether finished cells survive when a run is interrupted, runs out of disk, races another
//! run, or loses a backend: the real run and the real record file, over an engine without a
//! runtime, in processes that are killed.

mod check;
mod found;
mod job;
mod kills;
mod place;
mod scenarios;

pub use job::Job;

use anyhow::Result;
use place::Place;
use std::process::Command;

pub use found::{Scenario, Survival};

/// Rounds of each kind of kill, unless told otherwise.
pub const ROUNDS: usize = 100;
/// Where the random moments start, unless told otherwise.
pub const SEED: u64 = 1;

/// How to check.
pub struct Plan<'a> {
    /// Rounds of each kind of kill.
    pub rounds: usize,
    /// Where the random moments start.
    pub seed: u64,
    /// Gives the command that starts a child for a job, which has to come to
    /// [`Job::parse`] with this text and to [`Job::execute`] then, and to end with 2
    /// where that is an error and with 1 where cells failed.
    pub command: &'a dyn Fn(&str) -> Result<Command>,
    /// Told what is done next.
    pub progress: &'a dyn Fn(&str),
}

/// Makes something happen to runs and looks at what they leave behind.
type Happen = fn(&mut Place<'_>) -> Result<Scenario>;

const LOOKS: [(&str, Happen); 13] = [
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
    ("a backend that crashes in every cell, in workers", scenarios::always_crashes),
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
    for (name, happen) in LOOKS.iter().filter(|(name, _)| wanted(name)) {
        (plan.progress)(name);
        scenarios.push(Scenario { name: (*name).to_owned(), ..happen(&mut place)? });
    }
    Ok(Survival { seed: plan.seed, scenarios })
}
