//! What a call on a clean instance is made of, computed from four calls: the call and one
//! that does nothing, each on a clean and on a used instance, and one that only takes the
//! input.

use super::matrix::{Executor, Matrix, Work};
use crate::record::Metric;
use crate::tables::{Panel, Shares};

/// Parts of a call, in the order in which they are stacked.
pub(super) const PARTS: [&str; 4] =
    ["instance and call", "first touches and cleaning", "taking the input", "the guest's work"];

/// The parts of one call, ns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Split {
    /// The call on a clean instance.
    pub fresh: f64,
    /// The call on a used one.
    pub warm: f64,
    /// What it is made of, as [`PARTS`] names it. A part that came out below zero,
    /// which noise can do, is zero.
    pub parts: [f64; 4],
    /// Whether one of the times behind it is marked.
    pub marked: bool,
}

impl Split {
    /// `noop` is what a call that does nothing takes on a clean instance and on a used
    /// one, `take` one that only takes the input, on a used one.
    fn of(fresh: f64, warm: f64, noop: (f64, f64), take: f64) -> Self {
        let parts = [
            noop.0,
            // What a clean instance makes the work cost beside what it costs a call
            // that does nothing: pages that are touched for the first time, memory
            // that grows, and making both clean again.
            (fresh - noop.0) - (warm - noop.1),
            take - noop.1,
            warm - take,
        ];
        Self { fresh, warm, parts: parts.map(|part| part.max(0.0)), marked: false }
    }
}

/// An executor with its parts.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub executor: &'a Executor,
    pub split: Split,
}

/// The executors of the layout for which all that is needed was timed.
pub(super) fn rows<'a>(matrix: &Matrix<'_>, shares: &'a Shares, panel: &Panel) -> Vec<Row<'a>> {
    let work = |case: &str| Work { guest: panel.guest.clone(), case: case.to_owned() };
    let (call, noop) = (work(&panel.case), work(&panel.noop));
    let split = |executor: &Executor| {
        let metric = |work, metric| matrix.metric(executor, work, metric);
        let times = [
            matrix.time(executor, &call, 1)?,
            metric(&call, Metric::WarmCall)?,
            matrix.time(executor, &noop, 1)?,
            metric(&noop, Metric::WarmCall)?,
            metric(&call, Metric::WarmTake)?,
        ];
        let [fresh, warm, noop, warm_noop, take] = times.map(|time| time.median);
        let marked = times.iter().any(|time| time.marked);
        Some(Split { marked, ..Split::of(fresh, warm, (noop, warm_noop), take) })
    };
    let row = |executor: &'a Executor| Some(Row { executor, split: split(executor)? });
    shares.executors.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole() {
        let split = Split::of(20_000.0, 400.0, (4_000.0, 50.0), 150.0);
        assert_eq!(split.parts, [4_000.0, 15_650.0, 100.0, 250.0]);
        assert_eq!(split.parts.iter().sum::<f64>(), split.fresh);
        // Noise: nothing is less than nothing.
        assert_eq!(Split::of(4_000.0, 400.0, (4_000.0, 50.0), 150.0).parts[1], 0.0);
    }
}
