//! Stored findings about correctness and isolation.

use crate::trust::Found;
use crate::trust::hostile::Hostile;
use anyhow::Result;
use std::path::Path;

/// What was found, part by part; `None` where a part was not run.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// Hostile guests.
    pub hostile: Option<Found<Hostile>>,
}

impl Trust {
    /// Reads a folder that may be missing.
    ///
    /// # Errors
    ///
    /// When a file is there and cannot be read.
    pub(super) fn load(folder: &Path) -> Result<Self> {
        Ok(Self { hostile: Found::load(folder)? })
    }
}
