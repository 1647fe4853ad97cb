//! What remains of a call where the runtime costs nothing: the baseline.

use super::needs::columns;
use super::words;
use crate::record::Estimate;
use crate::report::markdown::code;
use crate::report::matrix::{Executor, Matrix, Work, quotient};
use crate::report::rank::{Noise, tied};
use crate::report::units::{median, times};

/// The lowest time of a baseline beside that of what there is to choose from. `None`
/// without a baseline.
pub(super) fn floor(all: &Matrix<'_>, candidates: &Matrix<'_>, noise: &Noise) -> Option<String> {
    let columns = columns(candidates, candidates.main_guest()?);
    let parts: Vec<String> = columns
        .iter()
        .filter(|column| column.threads == 1)
        .filter_map(|column| {
            let (native, least) = lowest(all, column.work, |e| all.is_baseline(&e.engine))?;
            let (_, best) = lowest(candidates, column.work, |_| true)?;
            let beside = if tied(least, best, noise.floor(&column.work.case)) {
                "the fastest executor ties with it".to_owned()
            } else {
                format!("the fastest executor {} as long", times(&quotient(best, least)))
            };
            Some(format!(
                "{} takes {} ({}), {beside}",
                words::call(candidates, column.work),
                median(&least),
                code(&native.to_string()),
            ))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "**Baseline**: with the guest's code compiled into the host, without a runtime, {}. \
             Nobody can choose the baseline: it runs no modules and isolates nothing.",
            parts.join("; ")
        )
    })
}

/// The lowest median on one thread.
fn lowest<'a>(
    matrix: &'a Matrix<'_>,
    work: &Work,
    wanted: impl Fn(&Executor) -> bool,
) -> Option<(&'a Executor, Estimate)> {
    matrix
        .executors
        .iter()
        .filter(|executor| wanted(executor))
        .filter_map(|executor| Some((executor, matrix.time(executor, work, 1)?)))
        .min_by(|a, b| a.1.median.total_cmp(&b.1.median))
}
