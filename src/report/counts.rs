//! Stored counts beside the records: only those of the same guests and runtimes.

use super::matrix::{Matrix, Work};
use crate::cost::{Costs, Usage};
use crate::record::CellRecord;
use anyhow::Result;
use std::path::Path;

/// The counts, where there are any.
#[derive(Debug, Default)]
pub(super) struct Counts(Option<Costs>);

impl Counts {
    /// Reads a file that may be missing.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub(super) fn load(path: &Path) -> Result<Self> {
        if path.exists() {
            Costs::load(path).map(|costs| Self(Some(costs)))
        } else {
            Ok(Self(None))
        }
    }

    /// All of them.
    pub(super) fn costs(&self) -> Option<&Costs> {
        self.0.as_ref()
    }

    /// Operators that the guest executes in one call, the first on a clean instance or a
    /// later one.
    pub(super) fn operators(&self, matrix: &Matrix, work: &Work, warm: bool) -> Option<u64> {
        let name = format!("{}_from_{}", work.case, work.guest);
        let counted = self.0.as_ref()?.operators.get(&name)?;
        let of_guest = |cell: &&CellRecord| cell.key.guest == work.guest;
        let cell = matrix.cells().iter().find(of_guest)?;
        let count = if warm { counted.warm } else { Some(counted.operators) };
        count.filter(|_| cell.guest_sha256 == counted.guest_sha256)
    }

    /// What a call of the cell takes from the kernel.
    pub(super) fn usage(&self, cell: &CellRecord) -> Option<&Usage> {
        let usage = self.0.as_ref()?.usage.get(&cell.key.id())?;
        (usage.guest_sha256 == cell.guest_sha256 && usage.runtime_version == cell.runtime_version)
            .then_some(usage)
    }
}
