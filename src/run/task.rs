//! Tasks of worker processes, and their outcomes.

use crate::case::Case;
use crate::lab::Refused;
use crate::plan::{Cell, Compare};
use crate::record::{CellKey, Contender, Match, Means, Metric, Refusal, Samples, Setup};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use touchstone_executor::MeasuredEngine;

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

    /// Its refusal. A failure concerns one cell; other reasons hold more widely.
    pub fn refused(&self, refused: Refused, scope: Scope) -> Refusal {
        let scope = if refused.status.is_failure() { Scope::Cell } else { scope };
        let (engine, strategy, guest) = self.module();
        let threads = match self {
            Self::Cell(cell) => cell.threads,
            Self::Compare(of) => of.subject.threads,
        };
        Refusal {
            engine: engine.to_owned(),
            strategy: Some(strategy),
            guest: Some(guest.to_owned()),
            case: (scope != Scope::Module).then(|| self.case().to_owned()),
            threads: (scope == Scope::Cell).then_some(threads),
            status: refused.status,
            reason: refused.reason,
        }
    }
}

/// What a refusal concerns.
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

/// Resolves names to cells.
pub struct Names {
    pub cases: Vec<Arc<Case>>,
    pub engines: Vec<Arc<dyn MeasuredEngine>>,
}

impl Names {
    pub fn new(cases: &[Case], engines: &[Arc<dyn MeasuredEngine>]) -> Self {
        let cases = cases.iter().cloned().map(Arc::new).collect();
        Self { cases, engines: engines.to_vec() }
    }

    /// The cell of a key. Fails if a name is unknown here.
    pub fn cell(&self, key: &CellKey) -> Result<Cell> {
        let case = self.case(&key.case)?;
        let engine = self.engines.iter().find(|engine| engine.id() == key.engine);
        let engine = engine.with_context(|| format!("this build has no engine {}", key.engine))?;
        let guest = case.guests.iter().find(|guest| **guest == key.guest);
        let guest = guest
            .with_context(|| format!("the case {} has no guest {} here", key.case, key.guest))?;
        Ok(Cell::new(case, guest, engine, key.strategy, key.threads))
    }

    fn case(&self, name: &str) -> Result<&Arc<Case>> {
        let case = self.cases.iter().find(|case| case.name == name);
        case.with_context(|| format!("there is no case {name} here"))
    }

    pub(super) fn compare(&self, of: &Match) -> Result<Compare> {
        let side = |side: &Contender| {
            self.cell(&CellKey {
                case: of.case.clone(),
                guest: of.guest.clone(),
                engine: side.executor.engine.clone(),
                strategy: side.executor.strategy,
                threads: side.threads,
            })
        };
        let another = match &of.subject.means {
            Means::After { case, .. } => Some(Arc::clone(self.case(case)?)),
            _ => of.second.as_ref().map(|own| self.case(&own.case).cloned()).transpose()?,
        };
        Ok(Compare {
            of: of.clone(),
            subject: side(&of.subject)?,
            baseline: side(&of.baseline)?,
            another,
        })
    }
}
