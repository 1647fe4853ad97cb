//! Where one way becomes faster than another as calls write more.

use touchstone_record::Estimate;
use touchstone_record::compare::{MARGIN, Verdict};

/// From some number of pages on, the other side is faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Where the median ratio is one, in pages: interpolated on logarithmic axes between the last
    /// two neighbouring numbers with medians on different sides.
    pub pages: f64,
    /// The numbers with a difference between which it lies.
    pub between: (u64, u64),
    /// The verdict from there on: faster or slower.
    pub then: Verdict,
}

/// How the ratio of two ways changes with the number of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossings {
    /// The verdict at the smallest number of pages with a difference; `None` without any.
    pub first: Option<Verdict>,
    /// Where that changes, in ascending order.
    pub changes: Vec<Change>,
}

/// Finds the crossings of a subject and a baseline from their ratio at some numbers of pages.
///
/// A number of pages counts where the interval of the ratio lies beyond the margin, on one side.
/// Between two such numbers with different results lies a crossing. What was measured between
/// them shows no difference; its medians only say where the ratio is about one. Ratios without a
/// logarithm are left out.
pub fn crossings(ratios: &[(u64, Estimate)]) -> Crossings {
    let has_logarithm =
        |(pages, own): &(u64, Estimate)| *pages > 0 && own.median > 0.0 && own.median.is_finite();
    let mut ratios: Vec<(u64, Estimate)> = ratios.iter().copied().filter(has_logarithm).collect();
    ratios.sort_by_key(|(pages, _)| *pages);
    let decided: Vec<(usize, Verdict)> = ratios
        .iter()
        .map(|(_, ratio)| Verdict::of(ratio.interval, MARGIN))
        .enumerate()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Faster | Verdict::Slower))
        .collect();
    let change = |pair: &[(usize, Verdict)]| {
        let [(low, verdict), (high, then)] = *pair else { return None };
        (verdict != then).then(|| Change {
            pages: where_one(&ratios[low..=high], then),
            between: (ratios[low].0, ratios[high].0),
            then,
        })
    };
    Crossings {
        first: decided.first().map(|(_, verdict)| *verdict),
        changes: decided.windows(2).filter_map(change).collect(),
    }
}

/// From where on all medians are on the side of the last one: where a line through two neighbours
/// crosses the ratio one, on logarithmic axes.
fn where_one(ratios: &[(u64, Estimate)], then: Verdict) -> f64 {
    let points = ratios.iter().map(|(pages, ratio)| ((*pages as f64).ln(), ratio.median.ln()));
    let points: Vec<(f64, f64)> = points.collect();
    let is_then = |ratio: f64| if then == Verdict::Faster { ratio < 0.0 } else { ratio > 0.0 };
    let last = points.windows(2).rfind(|pair| !is_then(pair[0].1));
    let [(low, before), (high, after)] = *last.unwrap_or(&points) else { return f64::NAN };
    let share = before / (before - after);
    (low + share * (high - low)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios with an interval of so many parts of a hundred on each side.
    fn ratios(all: &[(u64, f64)], spread: f64) -> Vec<(u64, Estimate)> {
        let estimate = |median: f64| Estimate {
            interval: Some((median * (1.0 - spread), median * (1.0 + spread))),
            ..Estimate::exact(median)
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
        let without = Estimate { marked: true, ..Estimate::exact(3.0) };
        assert_eq!(crossings(&[(1, without)]).first, None);
        assert_eq!(crossings(&[]).first, None);
        for other in [0.0, f64::INFINITY, f64::NAN] {
            let all = ratios(&[(0, 2.0), (1, other), (4, 2.0), (16, other), (64, 0.5)], 0.05);
            let found = crossings(&all);
            assert_eq!(found.changes.len(), 1, "{other}");
            assert!((found.changes[0].pages - 16.0).abs() < 1e-9, "{:?}", found.changes);
        }
    }

    #[test]
    fn where_the_interval_decides_nothing_the_medians_say_where_it_crosses() {
        let mut all = ratios(&[(16, 4.0), (64, 1.05), (256, 0.25)], 0.1);
        all.reverse();
        let found = crossings(&all);
        assert_eq!(found.changes[0].between, (16, 256));
        // Just beyond 64, although a line from the first to the last crosses there, too.
        let pages = found.changes[0].pages;
        assert!((64.0..70.0).contains(&pages), "{pages}");
    }

    #[test]
    fn a_crossing_lies_where_the_medians_cross_and_not_between_distant_sizes() {
        // Much faster at first and a bit slower at the end: a line from one end to the other would
        // cross near the end, the medians do between 256 and 1024 pages.
        let mut all = ratios(&[(16, 0.1)], 0.01);
        all.extend(ratios(&[(256, 0.97), (1024, 1.03), (4096, 1.03)], 0.1));
        all.extend(ratios(&[(16_384, 1.05)], 0.01));
        let found = crossings(&all);
        assert_eq!(found.changes[0].between, (16, 16_384));
        let pages = found.changes[0].pages;
        assert!((500.0..530.0).contains(&pages), "{pages}");
        // Where they cross more than once, the last time counts.
        let mut all = ratios(&[(16, 0.1)], 0.01);
        all.extend(ratios(&[(64, 1.03), (256, 0.97), (1024, 1.03)], 0.1));
        all.extend(ratios(&[(4096, 1.05)], 0.01));
        let pages = crossings(&all).changes[0].pages;
        assert!((500.0..530.0).contains(&pages), "{pages}");
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
