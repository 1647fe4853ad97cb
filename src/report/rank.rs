//! Who is faster, and whether the numbers allow one to say so.

use super::matrix::{Executor, Matrix, Work};
use super::order;
use crate::record::{CellRecord, PairRecord, Status};
use std::collections::BTreeMap;

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

/// Whether two times cannot be told from each other, whichever is the faster.
pub(super) fn tied(a: Timing, b: Timing, believable: Option<f64>) -> bool {
    let (faster, slower) = if a.median <= b.median { (a, b) } else { (b, a) };
    judge(faster, slower, believable) == Verdict::Tied
}

/// How far the same thing strays from itself, by the null rows of one case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stray {
    /// Median over the null rows, a share: the smallest difference to believe.
    pub typical: f64,
    /// The row that strays furthest.
    pub worst: f64,
    /// What was timed in that row.
    pub worst_subject: String,
    /// How many null rows there are.
    pub rows: usize,
}

/// The smallest differences that the null rows let one believe, case by case:
/// a noisy row of slow calls says nothing about the rows of quick ones.
#[derive(Debug, Default)]
pub(super) struct Believable {
    cases: BTreeMap<String, Stray>,
    /// Median over all null rows, for the cases that have none.
    all: Option<f64>,
}

impl Believable {
    /// Reads the null rows. A row strays as far as its interval reaches from one.
    pub(super) fn of(pairs: &[PairRecord]) -> Self {
        let mut cases: BTreeMap<String, Vec<(f64, &PairRecord)>> = BTreeMap::new();
        for pair in pairs.iter().filter(|pair| pair.group == NULL_GROUP) {
            let reach = (pair.ratio_low - 1.0).abs().max((pair.ratio_high - 1.0).abs());
            if reach.is_finite() {
                cases.entry(pair.case.clone()).or_default().push((reach, pair));
            }
        }
        let all = median(cases.values().flatten().map(|row| row.0).collect());
        let cases = cases.into_iter().filter_map(|(case, rows)| Some((case, stray(&rows)?)));
        Self { cases: cases.collect(), all }
    }

    /// The smallest difference to believe for a case, as a share. `None`
    /// without null rows.
    pub(super) fn least(&self, case: &str) -> Option<f64> {
        self.cases.get(case).map(|stray| stray.typical).or(self.all)
    }

    /// How far the worst null row of a case strays, as a share. `None` without
    /// null rows.
    pub(super) fn worst(&self, case: &str) -> Option<f64> {
        let all = || self.cases.values().map(|stray| stray.worst).max_by(f64::total_cmp);
        self.cases.get(case).map(|stray| stray.worst).or_else(all)
    }

    /// What the null rows of each case say, in the order of the tables.
    pub(super) fn cases(&self) -> Vec<(&str, &Stray)> {
        let mut cases: Vec<(&str, &Stray)> =
            self.cases.iter().map(|(case, stray)| (case.as_str(), stray)).collect();
        cases.sort_by(|a, b| order::cases(a.0, b.0));
        cases
    }
}

fn stray(rows: &[(f64, &PairRecord)]) -> Option<Stray> {
    let typical = median(rows.iter().map(|row| row.0).collect())?;
    let (worst, pair) = rows.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let worst_subject = pair.subject.clone();
    Some(Stray { typical, worst: *worst, worst_subject, rows: rows.len() })
}

/// The middle of some numbers; the mean of the two middle ones if they are even.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(middle.checked_sub(1)?).map(|lower| f64::midpoint(*lower, upper))
}

/// The head of a ranking, by strategy: who has the lowest median, and what
/// cannot be told from it.
#[derive(Debug)]
pub(super) struct Leaders<'a> {
    /// Lowest median.
    pub best: (&'a Executor, Timing),
    /// Other backends whose same strategy ties.
    pub same: Vec<&'a Executor>,
    /// Other strategies that tie on any backend, by their lowest median.
    pub others: Vec<&'a str>,
    /// Executors that cannot be judged for want of an interval.
    pub unknown: usize,
}

impl Leaders<'_> {
    /// Whether a strategy is among the fastest.
    pub(super) fn has(&self, strategy: &str) -> bool {
        self.best.0.strategy == strategy || self.others.contains(&strategy)
    }
}

/// Ranks the timed executors that pass `wanted` on a work. `None` if there are
/// none. A precompiled twin stands behind its strategy: it is left out where
/// that was timed itself.
pub(super) fn leaders<'a>(
    matrix: &'a Matrix,
    work: &Work,
    threads: usize,
    believable: &Believable,
    wanted: impl Fn(&Executor) -> bool,
) -> Option<Leaders<'a>> {
    let mut timed: Vec<(&Executor, Timing)> = matrix
        .executors
        .iter()
        .filter(|executor| wanted(executor))
        .filter(|executor| {
            let base = executor.base();
            base == **executor || matrix.time(&base, work, threads).is_none()
        })
        .filter_map(|executor| Some((executor, matrix.time(executor, work, threads)?)))
        .collect();
    // Stable: equal medians stay in the order of the tables.
    timed.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let mut timed = timed.into_iter();
    let best = timed.next()?;
    let mut leaders = Leaders { best, same: Vec::new(), others: Vec::new(), unknown: 0 };
    for (executor, timing) in timed {
        match judge(best.1, timing, believable.least(&work.case)) {
            Verdict::Tied if executor.strategy == best.0.strategy => leaders.same.push(executor),
            Verdict::Tied if leaders.others.contains(&executor.strategy.as_str()) => {}
            Verdict::Tied => leaders.others.push(&executor.strategy),
            Verdict::Unknown => leaders.unknown += 1,
            Verdict::Apart => {}
        }
    }
    Some(leaders)
}
