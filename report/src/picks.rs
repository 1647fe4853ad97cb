//! The fastest executor for each need.

use super::matrix::{Executor, Matrix};
use super::rank::{ranking, ties};
use crate::pages::{Need, Pages};
use touchstone_executor::Owner;
use touchstone_record::Estimate;

/// The pick for a need.
#[derive(Debug)]
pub(super) struct Pick<'a> {
    pub need: &'a Need,
    /// The fastest candidate.
    pub executor: Executor,
    /// Its time on one thread, ns.
    pub time: Estimate,
    /// Number of other candidates that tie with it.
    pub ties: usize,
}

/// The picks, in the order of the needs; needs without a candidate are left out.
pub(super) fn all<'a>(matrix: &Matrix<'_>, pages: &'a Pages) -> Vec<Pick<'a>> {
    let pick = |need: &'a Need| {
        let ranking = ranking(matrix, &need.call, |executor| is_wanted(matrix, need, executor));
        let ((executor, time), others) = ranking.split_first()?;
        let floor = matrix.records.noise.floor(&need.call.case);
        let ties = others.iter().filter(|(_, other)| ties(*time, *other, floor)).count();
        Some(Pick { need, executor: (*executor).clone(), time: *time, ties })
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
