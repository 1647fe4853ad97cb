//! Who is faster, whether the numbers allow one to say so, and the fastest for each need.

use super::matrix::{Executor, Matrix, Work};
use crate::pages::{Need, Pages};
use std::collections::BTreeMap;
use touchstone_executor::Owner;
use touchstone_record::compare::{self, MARGIN};
use touchstone_record::estimate::median_of;
use touchstone_record::{Book, Contender, Estimate, Purpose, preference};

/// How far executors differ from themselves in each case: noisy slow calls say nothing about
/// quick ones.
#[derive(Debug, Default)]
pub(super) struct Noise {
    /// Of each case, by name, how far each executor's interval reaches from 1, as a share. The
    /// executor that differs most is the last; none is empty.
    pub cases: BTreeMap<String, Vec<(f64, Contender)>>,
}

impl Noise {
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
        let of = |rows: &Vec<(f64, Contender)>| rows.iter().map(|row| row.0).collect::<Vec<f64>>();
        let all = || self.cases.values().flat_map(of).collect();
        median_of(&self.cases.get(case).map_or_else(all, of))
    }
}

/// `true` if the two times tie within their intervals or the noise floor, a share. Estimates
/// without an interval do not tie.
pub(super) fn ties(faster: Estimate, slower: Estimate, floor: Option<f64>) -> bool {
    let (Some((_, faster_high)), Some((slower_low, _))) = (faster.interval, slower.interval) else {
        return false;
    };
    let difference = slower.median / faster.median - 1.0;
    slower_low <= faster_high || floor.is_some_and(|least| difference < least)
}

/// The executors that pass `wanted` with their times of a work on one thread, the fastest first.
/// Precompiled variants are left out, because they change the load and not the call, and so are
/// executors whose calls leak state.
pub(super) fn ranking<'a>(
    matrix: &'a Matrix<'_>,
    work: &Work,
    wanted: impl Fn(&Executor) -> bool,
) -> Vec<(&'a Executor, Estimate)> {
    let own = matrix.executors.iter().filter(|executor| {
        wanted(executor)
            && !executor.strategy.is_precompiled()
            && matrix.records.checks.leaks(executor).is_empty()
    });
    let mut timed: Vec<(&Executor, Estimate)> =
        own.filter_map(|executor| Some((executor, matrix.time(executor, work, 1)?))).collect();
    // Stable: equal medians stay in the order of the tables.
    timed.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    timed
}

pub(super) fn fastest<'a>(
    matrix: &'a Matrix<'_>,
    work: &Work,
    wanted: impl Fn(&Executor) -> bool,
) -> Option<(&'a Executor, Estimate)> {
    ranking(matrix, work, wanted).into_iter().next()
}

pub(super) struct Pick<'a> {
    pub need: &'a Need,
    pub executor: Executor,
    /// Its time on one thread, ns.
    pub time: Estimate,
    /// Number of other candidates that tie with the fastest.
    pub ties: usize,
}

/// The picks, in the order of the needs; needs without a candidate are left out. Of candidates that
/// tie with the fastest, the one whose strategy is preferred, and of those on several engines the
/// first by name: chance does not decide.
pub(super) fn picks<'a>(matrix: &Matrix<'_>, pages: &'a Pages) -> Vec<Pick<'a>> {
    let pick = |need: &'a Need| {
        let ranking = ranking(matrix, &need.call, |executor| is_wanted(matrix, need, executor));
        let (fastest, others) = ranking.split_first()?;
        let floor = matrix.records.noise.floor(&need.call.case);
        let tied: Vec<_> =
            others.iter().filter(|(_, other)| ties(fastest.1, *other, floor)).collect();
        let all = tied.iter().copied().chain([fastest]);
        let (executor, time) =
            all.min_by_key(|(own, _)| (preference(own.strategy), &own.engine))?;
        Some(Pick { need, executor: (*executor).clone(), time: *time, ties: tied.len() })
    };
    pages.needs.iter().filter_map(pick).collect()
}

/// `true` if an executor is a candidate. One that isolates nothing never is.
fn is_wanted(matrix: &Matrix<'_>, need: &Need, executor: &Executor) -> bool {
    let runs_so = |wanted| matrix.execution(&executor.engine) == Some(wanted);
    let is_of = |owner| matrix.is_native(executor) == (owner == Owner::Runtime);
    !matrix.is_baseline(&executor.engine)
        && need.execution.is_none_or(runs_so)
        && need.owner.is_none_or(is_of)
        && (need.strategies.is_empty() || need.strategies.contains(&executor.strategy))
        && (need.engines.is_empty() || need.engines.contains(&executor.engine))
}
