//! Worker processes: the messages, and the worker's side.

use super::task::most_threads;
use super::{Done, Performer, Task};
use crate::case::{Case, Guests};
use crate::measure::probe;
use crate::plan::Budget;
use crate::supervise::Parent;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToWorker {
    pub budget: Budget,
    /// Number of the process within the run.
    pub process: u32,
    /// Time of the interference probe on a clean core, ns.
    pub probe_ns: u64,
    /// The private folder in which processes share artifacts.
    pub artifacts: PathBuf,
    pub tasks: Vec<Task>,
}

/// A message from a worker. Tasks have their index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    Begins(usize),
    /// Everything is loaded, and the first call follows.
    Calls(usize),
    Ended(usize, Box<Done>),
}

/// Serves as a worker: performs the tasks of the parent, and returns when all are done.
pub fn serve(
    mut parent: Parent<ToWorker, FromWorker>,
    cases: &[Case],
    engines: &[Arc<dyn MeasuredEngine>],
    guests: Guests,
) -> Result<()> {
    let Some(told) = parent.hear()? else { return Ok(()) };
    let ToWorker { budget, process, probe_ns, artifacts, tasks } = told;
    probe::calibrated(probe_ns);
    let threads = most_threads(&tasks);
    let mut performer =
        Performer::new(cases, engines, guests, budget, process, &artifacts, threads)?;
    for (place, task) in tasks.iter().enumerate() {
        parent.say(&FromWorker::Begins(place))?;
        let mut gone = None;
        let done = performer.perform(task, &mut || {
            gone = parent.say(&FromWorker::Calls(place)).err();
        });
        if let Some(gone) = gone {
            return Err(gone);
        }
        parent.say(&FromWorker::Ended(place, Box::new(done)))?;
    }
    Ok(())
}
