//! Stored findings about correctness and isolation.

use super::matrix::Executor;
use crate::record::findings::Found;
use crate::record::findings::conformance::Conformance;
use crate::record::findings::hostile::Hostile;
use crate::record::findings::isolation::Isolation;
use crate::record::findings::survival::Survival;
use anyhow::Result;
use std::path::Path;

/// What was found, part by part; `None` where a part was not run.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// The specification's test scripts.
    pub conformance: Option<Found<Conformance>>,
    /// Whether calls see anything of the ones before.
    pub isolation: Option<Found<Isolation>>,
    /// Hostile guests.
    pub hostile: Option<Found<Hostile>>,
    /// What becomes of finished cells.
    pub survival: Option<Found<Survival>>,
}

impl Trust {
    /// Reads a folder that may be missing.
    ///
    /// # Errors
    ///
    /// When a file is there and cannot be read.
    pub(super) fn load(folder: &Path) -> Result<Self> {
        Ok(Self {
            conformance: Found::load(folder)?,
            isolation: Found::load(folder)?,
            hostile: Found::load(folder)?,
            survival: Found::load(folder)?,
        })
    }

    /// The kinds of state that an executor's calls leak; none where nothing was found.
    pub(super) fn leaks(&self, executor: &Executor) -> Vec<&str> {
        let isolation = self.isolation.as_ref().map(|found| &found.findings);
        let row = isolation.and_then(|found| found.row(&executor.backend, &executor.strategy));
        row.map_or_else(Vec::new, |row| row.leaks().map(|(kind, _)| kind).collect())
    }

    /// What stands behind an executor's name; empty where nothing leaks.
    pub(super) fn label(&self, executor: &Executor) -> String {
        match self.leaks(executor) {
            leaks if leaks.is_empty() => String::new(),
            leaks => format!(" † leaks: {}", leaks.join(", ")),
        }
    }
}
