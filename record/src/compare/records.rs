//! Two stored runs, cell by cell.

use super::{Judged, Verdict};
use crate::{Book, CellKey, Metric};

/// Compares the call times of all cells that two runs have in common. The interval of the
/// ratio is the widest that both intervals allow. The runs were not made in turns, so a
/// difference may come from the machine.
pub fn of_records(subject: &Book, baseline: &Book, margin: f64) -> Vec<(CellKey, Judged)> {
    let common = |cell: &CellKey| {
        let ours = subject.estimate(cell, Metric::Call)?;
        let theirs = baseline.estimate(cell, Metric::Call)?;
        let ratio = ours.over(theirs);
        let judged = Judged {
            ratio,
            verdict: Verdict::of(ratio.interval, margin),
            subject: ours,
            baseline: theirs,
        };
        Some((cell.clone(), judged))
    };
    subject.cells.keys().filter_map(common).collect()
}
