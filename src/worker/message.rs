//! The messages between a run and its workers.

use crate::plan::Plan;
use crate::record::{Ended, Provenance};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the parent says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    /// All that the worker needs to know; said first.
    Start(Box<Start>),
    /// The last record is in the file.
    Kept,
}

/// What a worker needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// Stands in every record.
    pub provenance: Provenance,
    /// How long to sample.
    pub plan: Plan,
    /// Names of the cells and pairs to do.
    pub todo: Vec<String>,
    /// Where in the run the worker begins.
    pub place: Place,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Cells and pairs that were run.
    pub done: usize,
    /// Those of the whole run.
    pub total: usize,
    /// How long it took so far.
    pub elapsed: Duration,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromWorker {
    /// This cell or pair begins.
    Begin(String),
    /// A record, as the line that it becomes in the file: reading and writing it again could
    /// change its numbers.
    Record(String),
    /// This cell or pair ended.
    End(Ended, String),
    /// The worker cannot go on, for a reason that is not a cell's.
    Broken(String),
    /// All is done.
    Done,
}
