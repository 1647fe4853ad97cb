//! Stored counts beside the times: only those of the same guests.

use super::matrix::{Matrix, Work};
use crate::record::{Book, Metric};

/// The counts, where there are any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'a>(pub Option<&'a Book>);

impl Counts<'_> {
    /// Operators that the guest executes in one call, the first on a clean instance or a
    /// later one.
    pub(super) fn operators(self, matrix: &Matrix<'_>, work: &Work, warm: bool) -> Option<u64> {
        let metric = if warm { Metric::WarmOperators } else { Metric::Operators };
        let counted = self.0?.counts.get(&(work.case.clone(), work.guest.clone()))?;
        let is_same = matrix.facts(work)?.guest_sha256 == counted.guest_sha256;
        counted.metrics.get(&metric).copied().filter(|_| is_same)
    }
}
