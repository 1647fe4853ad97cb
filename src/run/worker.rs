//! Worker processes: their tasks with the outcomes, the messages, and the worker's side.

use super::Performer;
use crate::case::{Case, Guests};
use crate::lab::Refused;
use crate::measure::probe;
use crate::plan::Budget;
use crate::record::{CellKey, Executor, Match, Metric, Prevailing, Refusal, Samples, Setup};
use crate::supervise::Parent;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use touchstone_executor::Strategy;
use touchstone_executor::adapter::MeasuredEngine;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Task {
    Cell(CellKey),
    Compare(Match),
}

/// The cell of a task, or of the subject of a comparison.
struct Parts<'a> {
    case: &'a str,
    guest: &'a str,
    engine: &'a str,
    strategy: Strategy,
    threads: usize,
}

impl Task {
    fn parts(&self) -> Parts<'_> {
        match self {
            Self::Cell(CellKey { case, guest, engine, strategy, threads }) => {
                Parts { case, guest, engine, strategy: *strategy, threads: *threads }
            }
            Self::Compare(Match { case, guest, subject, .. }) => {
                let (Executor { engine, strategy }, threads) = (&subject.executor, subject.threads);
                Parts { case, guest, engine, strategy: *strategy, threads }
            }
        }
    }

    /// The engine in whose process the task is performed.
    pub fn engine(&self) -> &str {
        self.parts().engine
    }

    /// The module that it loads. Tasks of one module follow each other.
    pub fn module(&self) -> (&str, Strategy, &str) {
        let Parts { engine, strategy, guest, .. } = self.parts();
        (engine, strategy, guest)
    }

    pub fn case(&self) -> &str {
        self.parts().case
    }

    /// Its refusal. A failure concerns one cell; other reasons hold more widely.
    pub fn refused(&self, refused: Refused, scope: Scope) -> Refusal {
        let scope = if refused.status.is_failure() { Scope::Cell } else { scope };
        let Parts { case, guest, engine, strategy, threads } = self.parts();
        Refusal {
            engine: engine.to_owned(),
            strategy: Some(strategy),
            guest: Some(guest.to_owned()),
            case: (scope != Scope::Module).then(|| case.to_owned()),
            threads: (scope == Scope::Cell).then_some(threads),
            status: refused.status,
            reason: refused.reason,
        }
    }
}

pub(super) fn most_threads(tasks: &[Task]) -> usize {
    tasks.iter().map(|task| task.parts().threads).max().unwrap_or(1)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every case on the guest.
    Module,
    /// The case, on any number of threads.
    Case,
    Cell,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Done {
    Measured {
        setup: Box<Setup>,
        metrics: BTreeMap<Metric, Samples>,
    },
    Compared {
        /// ns per call of subject and baseline by round.
        rounds: Vec<(f64, f64)>,
        /// Indices of the rounds with interference.
        noisy: Vec<usize>,
    },
    Refused {
        refusal: Box<Refusal>,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToWorker {
    pub budget: Budget,
    /// Number of the process within the run.
    pub process: u32,
    /// By which it judges its samples.
    pub state: Prevailing,
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
    let ToWorker { budget, process, state, artifacts, tasks } = told;
    probe::calibrated(state);
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
