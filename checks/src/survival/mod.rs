//! Survival of finished cells when a run is interrupted, runs out of disk, races another run, or
//! loses a backend. Real runs and record files, on an engine without a runtime, in processes that
//! are killed.

mod check;
mod found;
mod job;
mod place;
mod scenarios;

pub use job::Job;

use anyhow::Result;
use nix::sys::signal::Signal;
use place::Place;
use std::num::NonZeroUsize;
use std::process::Command;

pub use found::{Scenario, Survival};

/// Default rounds of each kind of kill.
pub const ROUNDS: NonZeroUsize = NonZeroUsize::new(40).unwrap();
/// Default seed of the random moments.
pub const SEED: u64 = 1;

pub struct Plan<'a> {
    pub rounds: usize,
    pub seed: u64,
    /// Makes the command of a child, which must call [`Job::parse`] with this text and then
    /// [`Job::execute`], and exit with 2 after an error and 1 after failed cells.
    pub command: &'a dyn Fn(&str) -> Result<Command>,
    /// Gets the name of the next scenario.
    pub progress: &'a dyn Fn(&str),
}

/// Makes incidents happen and checks the records.
type Happen = fn(&mut Place<'_>) -> Result<Scenario>;

const LOOKS: [(&str, Happen); 13] = [
    ("SIGKILL", |place| scenarios::signalled(place, Signal::SIGKILL, false)),
    ("SIGTERM", |place| scenarios::signalled(place, Signal::SIGTERM, false)),
    ("SIGINT", |place| scenarios::signalled(place, Signal::SIGINT, false)),
    ("SIGKILL, with workers", |place| scenarios::signalled(place, Signal::SIGKILL, true)),
    ("SIGTERM, with workers", |place| scenarios::signalled(place, Signal::SIGTERM, true)),
    ("a record cut off", scenarios::cut),
    ("a full disk", scenarios::full_disk),
    ("a folder that cannot be written", scenarios::no_folder),
    ("two runs on one file", scenarios::two_runs),
    ("a clock that goes back", scenarios::clock),
    ("a backend that crashes, in a worker", scenarios::crash),
    ("a backend that hangs, in a worker", scenarios::hang),
    ("a backend that crashes in every cell, in workers", scenarios::always_crashes),
];

pub fn names() -> Vec<String> {
    LOOKS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

pub fn check(plan: &Plan<'_>, wanted: impl Fn(&str) -> bool) -> Result<Survival> {
    let mut place = Place::new(plan)?;
    let mut scenarios = Vec::new();
    for (name, happen) in LOOKS.iter().filter(|(name, _)| wanted(name)) {
        (plan.progress)(name);
        scenarios.push(Scenario { name: (*name).to_owned(), ..happen(&mut place)? });
    }
    Ok(Survival { seed: plan.seed, scenarios })
}
