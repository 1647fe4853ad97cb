//! Tasks of worker processes, and their outcomes.

use crate::lab::Refused;
use crate::record::{CellKey, Match, Metric, Refusal, Samples, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A cell to measure or a comparison to make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Task {
    Cell(CellKey),
    Compare(Match),
}

impl Task {
    /// The engine in whose process the task is performed.
    pub fn engine(&self) -> &str {
        match self {
            Self::Cell(cell) => &cell.engine,
            Self::Compare(of) => &of.subject.executor.engine,
        }
    }

    /// The module that it loads. Tasks of one module follow each other.
    pub fn module(&self) -> (&str, touchstone_executor::Strategy, &str) {
        match self {
            Self::Cell(cell) => (&cell.engine, cell.strategy, &cell.guest),
            Self::Compare(of) => {
                (&of.subject.executor.engine, of.subject.executor.strategy, &of.guest)
            }
        }
    }

    pub fn case(&self) -> &str {
        match self {
            Self::Cell(cell) => &cell.case,
            Self::Compare(of) => &of.case,
        }
    }

    /// Threads that make calls at the same time, of the subject if it is a comparison.
    pub fn threads(&self) -> usize {
        match self {
            Self::Cell(cell) => cell.threads,
            Self::Compare(of) => of.subject.threads,
        }
    }

    /// Its refusal. A failure concerns one cell; other reasons hold more widely.
    pub fn refused(&self, refused: Refused, scope: Scope) -> Refusal {
        let scope = if refused.status.is_failure() { Scope::Cell } else { scope };
        let (engine, strategy, guest) = self.module();
        Refusal {
            engine: engine.to_owned(),
            strategy: Some(strategy),
            guest: Some(guest.to_owned()),
            case: (scope != Scope::Module).then(|| self.case().to_owned()),
            threads: (scope == Scope::Cell).then_some(self.threads()),
            status: refused.status,
            reason: refused.reason,
        }
    }
}

/// Most threads of some tasks; 1 if there are none.
pub(super) fn most_threads(tasks: &[Task]) -> usize {
    tasks.iter().map(Task::threads).max().unwrap_or(1)
}

/// The scope of a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every case on the guest.
    Module,
    /// The case, on any number of threads.
    Case,
    Cell,
}

/// The outcome of a task.
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
    /// Refused or failed.
    Refused {
        refusal: Box<Refusal>,
    },
}
