//! Who is faster, and whether the numbers allow one to say so.

use super::matrix::{Executor, Matrix, Work};
use crate::record::{CellRecord, PairRecord, Status};

/// Name of the pair group that times a thing against itself.
pub(super) const NULL_GROUP: &str = "null";

/// A median with its 95 % interval, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timing {
    /// Median of one call.
    pub median: f64,
    /// The interval, if both ends are known. A missing end makes it unknown,
    /// never narrow.
    pub interval: Option<(f64, f64)>,
}

impl Timing {
    /// The time of a cell that was timed and has a positive median.
    pub(super) fn of(cell: &CellRecord) -> Option<Self> {
        if cell.status != Status::Ok {
            return None;
        }
        let median = cell.median_ns.filter(|ns| ns.is_finite() && *ns > 0.0)?;
        let end = |ns: Option<f64>| ns.filter(|ns| ns.is_finite());
        Some(Self { median, interval: end(cell.low_ns).zip(end(cell.high_ns)) })
    }
}

/// What two times say about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The slower one is slower.
    Apart,
    /// No difference that may be believed.
    Tied,
    /// An interval is missing: nothing can be said.
    Unknown,
}

/// Judges `slower` against `faster` (by median). `believable` is the smallest
/// difference that the null rows let one believe, as a share.
pub(super) fn judge(faster: Timing, slower: Timing, believable: Option<f64>) -> Verdict {
    let (Some((_, faster_high)), Some((slower_low, _))) = (faster.interval, slower.interval) else {
        return Verdict::Unknown;
    };
    let difference = slower.median / faster.median - 1.0;
    if slower_low <= faster_high || believable.is_some_and(|least| difference < least) {
        Verdict::Tied
    } else {
        Verdict::Apart
    }
}

/// The smallest difference that the null rows let one believe, as a share:
/// how far the interval of a thing against itself reaches from one. `None`
/// without null rows.
pub(super) fn smallest_believable(pairs: &[PairRecord]) -> Option<f64> {
    pairs
        .iter()
        .filter(|pair| pair.group == NULL_GROUP)
        .map(|pair| (pair.ratio_low - 1.0).abs().max((pair.ratio_high - 1.0).abs()))
        .filter(|share| share.is_finite())
        .max_by(f64::total_cmp)
}

/// The head of a ranking.
#[derive(Debug)]
pub(super) struct Podium {
    /// Lowest median.
    pub best: (Executor, Timing),
    /// Those that cannot be told from it, by median.
    pub tied: Vec<(Executor, Timing)>,
    /// Those that cannot be judged for want of an interval, by median.
    pub unknown: Vec<(Executor, Timing)>,
    /// The fastest that is slower for certain and not just a leader's code from
    /// another place.
    pub runner_up: Option<(Executor, Timing)>,
}

/// Ranks the timed executors that pass `wanted` on a work. `None` if there are none.
pub(super) fn podium(
    matrix: &Matrix,
    work: &Work,
    threads: usize,
    believable: Option<f64>,
    wanted: impl Fn(&Executor) -> bool,
) -> Option<Podium> {
    let mut timed: Vec<(Executor, Timing)> = matrix
        .executors
        .iter()
        .filter(|executor| wanted(executor))
        .filter_map(|executor| Some((executor.clone(), matrix.time(executor, work, threads)?)))
        .collect();
    // Stable: equal medians stay in the order of the tables.
    timed.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let mut timed = timed.into_iter();
    let best = timed.next()?;
    let (mut tied, mut unknown, mut runner_up) = (Vec::new(), Vec::new(), None);
    for (executor, timing) in timed {
        match judge(best.1, timing, believable) {
            Verdict::Tied => tied.push((executor, timing)),
            Verdict::Unknown => unknown.push((executor, timing)),
            // A leader's own twin is not the next in any interesting sense.
            Verdict::Apart if !leads_as(&best.0, &tied, executor.base()) => {
                runner_up.get_or_insert((executor, timing));
            }
            Verdict::Apart => {}
        }
    }
    Some(Podium { best, tied, unknown, runner_up })
}

/// Whether one of the leaders is `base`, wherever its code comes from.
fn leads_as(best: &Executor, tied: &[(Executor, Timing)], base: Executor) -> bool {
    best.base() == base || tied.iter().any(|(executor, _)| executor.base() == base)
}
