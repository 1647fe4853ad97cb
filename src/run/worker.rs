//! Worker processes: what parent and worker say to each other, and the worker's side.

use super::{Done, Performer, Task};
use crate::case::Case;
use crate::lab::Guests;
use crate::measure::probe;
use crate::plan::Budget;
use crate::supervise::Parent;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use touchstone_executor::Engine;

/// What a worker is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToWorker {
    /// How to sample.
    pub budget: Budget,
    /// Number of the process within the run.
    pub process: u32,
    /// What the interference probe takes on a clean core, ns.
    pub probe_ns: u64,
    /// Where artifacts are shared with later processes of the run.
    pub artifacts: Option<PathBuf>,
    /// What is to be done, in this order.
    pub tasks: Vec<Task>,
}

/// What a worker says. Tasks are named by their place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// A task begins.
    Begins(usize),
    /// Everything is loaded, and the guest is about to be called.
    Calls(usize),
    /// A task ended.
    Ended(usize, Box<Done>),
}

/// Serves as a worker: does what the parent says, and comes back when all of it is done.
///
/// # Errors
///
/// When the parent is gone.
pub fn serve(
    mut parent: Parent<ToWorker, FromWorker>,
    cases: &[Case],
    engines: &[Arc<dyn Engine>],
    guests: Guests,
) -> Result<()> {
    let Some(told) = parent.hear()? else { return Ok(()) };
    let ToWorker { budget, process, probe_ns, artifacts, tasks } = told;
    probe::calibrated(probe_ns);
    let mut performer =
        Performer::new(cases, engines, guests, budget, process, artifacts.as_deref())?;
    for (place, task) in tasks.iter().enumerate() {
        parent.say(&FromWorker::Begins(place))?;
        let mut gone = None;
        let done = performer.perform(task, &mut || {
            gone = parent.say(&FromWorker::Calls(place)).err();
        });
        if let Some(gone) = gone {
            return Err(gone.into());
        }
        parent.say(&FromWorker::Ended(place, Box::new(done)))?;
    }
    Ok(())
}
