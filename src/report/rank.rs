//! Who is faster, and whether the numbers allow one to say so.

use super::matrix::{Executor, Matrix, Work};
use crate::compare::{self, MARGIN};
use crate::record::{Book, Contender, Estimate, Purpose};
use std::collections::BTreeMap;
use touchstone_executor::Strategy;

/// How far executors differ from themselves in each case: noisy slow calls say nothing about
/// quick ones.
#[derive(Debug, Default)]
pub(super) struct Noise {
    /// Of each case, by name, how far each executor's interval reaches from 1, as a share. The
    /// executor that differs most is the last; none is empty.
    pub cases: BTreeMap<String, Vec<(f64, Contender)>>,
}

impl Noise {
    /// Reads the comparisons of executors with themselves.
    pub(super) fn of(book: &Book) -> Self {
        let mut noise = Self::default();
        for (of, processes) in &book.comparisons {
            if of.purpose != Purpose::Null {
                continue;
            }
            let judged = compare::judge(processes, MARGIN);
            if let Some((low, high)) = judged.and_then(|judged| judged.ratio.interval) {
                let reach = (low - 1.0).abs().max((high - 1.0).abs());
                let own = noise.cases.entry(of.case.clone()).or_default();
                own.push((reach, of.subject.clone()));
            }
        }
        for own in noise.cases.values_mut() {
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        noise
    }

    /// The noise floor of a case, as a share: the median over its executors, or over all where
    /// it has none. `None` where no executor was compared with itself.
    pub(super) fn floor(&self, case: &str) -> Option<f64> {
        let rows = match self.cases.get(case) {
            Some(own) => own.iter().collect(),
            None => self.cases.values().flatten().collect::<Vec<_>>(),
        };
        median(rows.into_iter().map(|(reach, _)| *reach).collect())
    }
}

/// The middle of some numbers; the mean of the two middle ones if they are even.
pub(super) fn median(values: Vec<f64>) -> Option<f64> {
    crate::record::estimate::of_values(&values).map(|estimate| estimate.median)
}

/// Whether `slower` cannot be told from `faster`; `floor` is the noise floor, a share.
/// `None` where an interval is missing: nothing can be said.
fn ties(faster: Estimate, slower: Estimate, floor: Option<f64>) -> Option<bool> {
    let ((_, faster_high), (slower_low, _)) = (faster.interval?, slower.interval?);
    let difference = slower.median / faster.median - 1.0;
    Some(slower_low <= faster_high || floor.is_some_and(|least| difference < least))
}

/// The head of a ranking, by strategy: who has the lowest median, and what cannot be told
/// from it.
#[derive(Debug)]
pub(super) struct Leaders<'a> {
    /// Lowest median.
    pub best: (&'a Executor, Estimate),
    /// How many other engines tie under the same strategy.
    pub same: usize,
    /// Other strategies that tie on any engine, by their lowest median.
    pub others: Vec<Strategy>,
    /// Executors that cannot be ranked for want of an interval.
    pub unknown: usize,
}

/// Ranks the timed executors that pass `wanted` on a work. `None` if there are none. A
/// precompiled variant is left out where its strategy was timed with code made in the
/// process.
pub(super) fn leaders<'a>(
    matrix: &'a Matrix<'_>,
    work: &Work,
    threads: usize,
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
    let mut leaders = Leaders { best, same: 0, others: Vec::new(), unknown: 0 };
    for (executor, time) in timed {
        match ties(best.1, time, matrix.records.noise.floor(&work.case)) {
            Some(false) => {}
            None => leaders.unknown += 1,
            Some(true) if executor.strategy == best.0.strategy => leaders.same += 1,
            Some(true) if leaders.others.contains(&executor.strategy) => {}
            Some(true) => leaders.others.push(executor.strategy),
        }
    }
    Some(leaders)
}
