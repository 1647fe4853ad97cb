//! Who is faster, and whether the numbers allow one to say so.

use super::matrix::{Executor, Matrix, Work};
use crate::compare::{self, MARGIN};
use crate::record::{Book, Estimate, Match, Purpose};
use std::collections::BTreeMap;
use touchstone_executor::Strategy;

/// What two times say about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The slower one is slower.
    Apart,
    /// No difference above the noise floor.
    Tied,
    /// An interval is missing: nothing can be said.
    Unknown,
}

/// Compares `slower` with `faster` (by median). `floor` is the noise floor, a share.
pub(super) fn order(faster: Estimate, slower: Estimate, floor: Option<f64>) -> Order {
    let (Some((_, faster_high)), Some((slower_low, _))) = (faster.interval, slower.interval) else {
        return Order::Unknown;
    };
    let difference = slower.median / faster.median - 1.0;
    if slower_low <= faster_high || floor.is_some_and(|least| difference < least) {
        Order::Tied
    } else {
        Order::Apart
    }
}

/// Whether two times cannot be told from each other, whichever is the faster.
pub(super) fn tied(a: Estimate, b: Estimate, floor: Option<f64>) -> bool {
    let (faster, slower) = if a.median <= b.median { (a, b) } else { (b, a) };
    order(faster, slower, floor) == Order::Tied
}

/// How far executors differ from themselves in one case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SelfDifference {
    /// Median over the executors, a share: the noise floor.
    pub typical: f64,
    /// That of the executor that differs most.
    pub worst: f64,
    /// That executor.
    pub worst_executor: String,
    /// How many executors were compared with themselves.
    pub executors: usize,
}

/// The noise floor of each case, from the executors that were compared with themselves:
/// noisy slow calls say nothing about quick ones.
#[derive(Debug, Default)]
pub(super) struct Noise {
    cases: BTreeMap<String, SelfDifference>,
    /// Median over all, for the cases that have none.
    all: Option<f64>,
}

impl Noise {
    /// Reads the comparisons of executors with themselves. One differs from itself as far as
    /// its interval reaches from 1.
    pub(super) fn of(book: &Book) -> Self {
        let mut cases: BTreeMap<String, Vec<(f64, &Match)>> = BTreeMap::new();
        for (of, processes) in &book.comparisons {
            if of.purpose != Purpose::Null {
                continue;
            }
            let judged = compare::judge(&processes.iter().collect::<Vec<_>>(), MARGIN);
            if let Some((low, high)) = judged.and_then(|judged| judged.interval) {
                let reach = (low - 1.0).abs().max((high - 1.0).abs());
                cases.entry(of.case.clone()).or_default().push((reach, of));
            }
        }
        let all = median(cases.values().flatten().map(|row| row.0).collect());
        let cases = cases.into_iter().filter_map(|(case, rows)| Some((case, differing(&rows)?)));
        Self { cases: cases.collect(), all }
    }

    /// The noise floor of a case, as a share. `None` where no executor was compared with
    /// itself.
    pub(super) fn floor(&self, case: &str) -> Option<f64> {
        self.cases.get(case).map(|own| own.typical).or(self.all)
    }

    /// How far the executor that differs most from itself does so in a case, as a share.
    pub(super) fn worst(&self, case: &str) -> Option<f64> {
        let all = || self.cases.values().map(|own| own.worst).max_by(f64::total_cmp);
        self.cases.get(case).map(|own| own.worst).or_else(all)
    }

    /// What is known of each case, by name.
    pub(super) fn cases(&self) -> impl Iterator<Item = (&str, &SelfDifference)> {
        self.cases.iter().map(|(case, own)| (case.as_str(), own))
    }
}

fn differing(rows: &[(f64, &Match)]) -> Option<SelfDifference> {
    let typical = median(rows.iter().map(|row| row.0).collect())?;
    let (worst, of) = rows.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let worst_executor = of.subject.to_string();
    Some(SelfDifference { typical, worst: *worst, worst_executor, executors: rows.len() })
}

/// The middle of some numbers; the mean of the two middle ones if they are even.
pub(super) fn median(values: Vec<f64>) -> Option<f64> {
    crate::record::estimate::of_values(&values).map(|estimate| estimate.median)
}

/// The head of a ranking, by strategy: who has the lowest median, and what cannot be told
/// from it.
#[derive(Debug)]
pub(super) struct Leaders<'a> {
    /// Lowest median.
    pub best: (&'a Executor, Estimate),
    /// Other engines that tie under the same strategy.
    pub same: Vec<&'a Executor>,
    /// Other strategies that tie on any engine, by their lowest median.
    pub others: Vec<Strategy>,
    /// Executors that cannot be ranked for want of an interval.
    pub unknown: usize,
}

impl Leaders<'_> {
    /// Whether a strategy is among the fastest.
    pub(super) fn has(&self, strategy: Strategy) -> bool {
        self.best.0.strategy == strategy || self.others.contains(&strategy)
    }
}

/// Ranks the timed executors that pass `wanted` on a work. `None` if there are none. A
/// precompiled variant is left out where its strategy was timed with code made in the
/// process.
pub(super) fn leaders<'a>(
    matrix: &'a Matrix<'_>,
    work: &Work,
    threads: usize,
    noise: &Noise,
    wanted: impl Fn(&Executor) -> bool,
) -> Option<Leaders<'a>> {
    let is_variant = |executor: &Executor| {
        let base = Executor { strategy: executor.strategy.base(), ..executor.clone() };
        executor.strategy.is_precompiled() && matrix.time(&base, work, threads).is_some()
    };
    let mut timed: Vec<(&Executor, Estimate)> = matrix
        .executors
        .iter()
        .filter(|executor| wanted(executor) && !is_variant(executor))
        .filter_map(|executor| Some((executor, matrix.time(executor, work, threads)?)))
        .collect();
    // Stable: equal medians stay in the order of the tables.
    timed.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let mut timed = timed.into_iter();
    let best = timed.next()?;
    let mut leaders = Leaders { best, same: Vec::new(), others: Vec::new(), unknown: 0 };
    for (executor, time) in timed {
        match order(best.1, time, noise.floor(&work.case)) {
            Order::Tied if executor.strategy == best.0.strategy => leaders.same.push(executor),
            Order::Tied if leaders.others.contains(&executor.strategy) => {}
            Order::Tied => leaders.others.push(executor.strategy),
            Order::Unknown => leaders.unknown += 1,
            Order::Apart => {}
        }
    }
    Some(leaders)
}
