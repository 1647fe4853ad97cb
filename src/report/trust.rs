//! Stored findings about correctness and isolation.

use crate::trust::Found;
use crate::trust::conformance::Conformance;
use anyhow::Result;
use std::path::Path;

/// What was found, part by part; `None` where a part was not run.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// The specification's test scripts.
    pub conformance: Option<Found<Conformance>>,
}

impl Trust {
    /// Reads a folder that may be missing.
    ///
    /// # Errors
    ///
    /// When a file is there and cannot be read.
    pub(super) fn load(folder: &Path) -> Result<Self> {
        Ok(Self { conformance: Found::load(folder)? })
    }
}
