//! Where one way becomes faster than another as calls write more.

use super::{MARGIN, Verdict};
use crate::record::Estimate;

/// From some number of pages on, the other side is faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Where the ratio is one, in pages: interpolated between two measured numbers on logarithmic
    /// axes.
    pub pages: f64,
    /// The two numbers.
    pub between: (u64, u64),
    /// What the subject is from there on: faster or slower than the baseline.
    pub then: Verdict,
}

/// How the ratio of two ways changes with the number of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossings {
    /// What the subject is at the smallest number of pages where the two differ; `None` if no
    /// difference was found at any.
    pub first: Option<Verdict>,
    /// Where that changes, in ascending order.
    pub changes: Vec<Change>,
}

/// Finds the crossings of a subject and a baseline from their ratio at some numbers of pages.
///
/// A number of pages counts where the interval of the ratio lies beyond the margin, on one side.
/// Between two such numbers with different results lies a crossing; what was measured between
/// them shows no difference and says no more.
#[must_use]
pub fn crossings(ratios: &[(u64, Estimate)]) -> Crossings {
    let mut decided: Vec<(u64, f64, Verdict)> = Vec::new();
    for (pages, ratio) in ratios {
        let verdict = Verdict::of(ratio.interval, MARGIN);
        if matches!(verdict, Verdict::Faster | Verdict::Slower) {
            decided.push((*pages, ratio.median, verdict));
        }
    }
    decided.sort_by_key(|(pages, ..)| *pages);
    let change = |pair: &[(u64, f64, Verdict)]| {
        let [(low, before, verdict), (high, after, then)] = pair else { return None };
        let change = Change {
            pages: where_one((*low as f64, *before), (*high as f64, *after)),
            between: (*low, *high),
            then: *then,
        };
        (verdict != then).then_some(change)
    };
    Crossings {
        first: decided.first().map(|(.., verdict)| *verdict),
        changes: decided.windows(2).filter_map(change).collect(),
    }
}

/// Where a line through two points crosses the ratio one, on logarithmic axes.
fn where_one((low, before): (f64, f64), (high, after): (f64, f64)) -> f64 {
    let share = before.ln() / (before.ln() - after.ln());
    (low.ln() + share * (high.ln() - low.ln())).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios with an interval of so many parts of a hundred on each side.
    fn ratios(all: &[(u64, f64)], spread: f64) -> Vec<(u64, Estimate)> {
        let estimate = |median: f64| Estimate {
            median,
            interval: Some((median * (1.0 - spread), median * (1.0 + spread))),
            marked: false,
        };
        all.iter().map(|(pages, ratio)| (*pages, estimate(*ratio))).collect()
    }

    #[test]
    fn a_crossing_is_interpolated_on_logarithmic_axes() {
        // Twice as slow at 64 pages and half as fast at 1024: one in the middle of both.
        let found = crossings(&ratios(&[(1, 8.0), (64, 2.0), (1024, 0.5)], 0.05));
        assert_eq!((found.first, found.changes.len()), (Some(Verdict::Slower), 1));
        let change = found.changes[0];
        assert!((change.pages - 256.0).abs() < 1e-9, "{}", change.pages);
        assert_eq!((change.between, change.then), ((64, 1024), Verdict::Faster));
        // Nearer to the point whose ratio is nearer to one.
        let found = crossings(&ratios(&[(100, 1.1), (1000, 0.25)], 0.01));
        assert!(found.changes[0].pages < 120.0, "{}", found.changes[0].pages);
    }

    #[test]
    fn where_intervals_overlap_there_is_no_crossing() {
        let found = crossings(&ratios(&[(1, 2.0), (64, 1.5), (1024, 0.9)], 0.2));
        assert_eq!((found.first, found.changes), (Some(Verdict::Slower), vec![]));
        let none = crossings(&ratios(&[(1, 1.1), (64, 1.0), (1024, 0.9)], 0.2));
        assert_eq!((none.first, none.changes), (None, vec![]));
        // Within the margin there is no difference, however sure it is.
        let none = crossings(&ratios(&[(1, 1.01), (64, 0.99)], 0.001));
        assert_eq!((none.first, none.changes), (None, vec![]));
        let without = Estimate { median: 3.0, interval: None, marked: true };
        assert_eq!(crossings(&[(1, without)]).first, None);
        assert_eq!(crossings(&[]).first, None);
    }

    #[test]
    fn what_is_undecided_between_two_numbers_is_passed_over() {
        let mut all = ratios(&[(16, 4.0), (64, 1.05), (256, 0.25)], 0.1);
        all.reverse();
        let found = crossings(&all);
        assert_eq!(found.changes[0].between, (16, 256));
        assert!((found.changes[0].pages - 64.0).abs() < 1e-9);
    }

    #[test]
    fn a_ratio_may_cross_one_more_than_once() {
        let found = crossings(&ratios(&[(1, 0.5), (4, 2.0), (16, 0.5), (64, 0.4)], 0.05));
        let then: Vec<Verdict> = found.changes.iter().map(|change| change.then).collect();
        assert_eq!(
            (found.first, then),
            (Some(Verdict::Faster), vec![Verdict::Slower, Verdict::Faster])
        );
        let between: Vec<(u64, u64)> = found.changes.iter().map(|change| change.between).collect();
        assert_eq!(between, [(1, 4), (4, 16)]);
    }
}
