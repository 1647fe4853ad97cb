//! What remains of a call where the runtime costs nothing: the baseline.

use super::needs::columns;
use super::words;
use crate::report::markdown::code;
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::rank::{Believable, Timing, tied};
use crate::report::units::{time, times};

/// The lowest time of a baseline beside that of what there is to choose from.
/// `None` without a baseline.
pub(super) fn floor(all: &Matrix, candidates: &Matrix, believable: &Believable) -> Option<String> {
    let columns = columns(candidates, candidates.main_guest()?);
    let parts: Vec<String> = columns
        .iter()
        .filter(|column| column.threads == 1)
        .filter_map(|column| {
            let of_baseline = |executor: &&Executor| all.is_baseline(&executor.backend);
            let (native, least) = lowest(all, column.work, of_baseline)?;
            let (_, best) = lowest(candidates, column.work, |_| true)?;
            let beside = if tied(least, best, believable.least(&column.work.case)) {
                "the fastest executor cannot be told from it".to_owned()
            } else {
                format!("the fastest executor {} as long", times(best.median / least.median))
            };
            Some(format!(
                "{} takes {} ({}), {beside}",
                words::call(&column.work.case),
                time(least.median),
                code(&native.name()),
            ))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "**Floor**: with the guest's code compiled into the host, and no runtime, {}. It is a \
             baseline, not an executor: it runs no modules and isolates nothing.",
            parts.join("; ")
        )
    })
}

/// The lowest median on one thread.
fn lowest<'a>(
    matrix: &'a Matrix,
    work: &Work,
    wanted: impl Fn(&&Executor) -> bool,
) -> Option<(&'a Executor, Timing)> {
    matrix
        .executors
        .iter()
        .filter(wanted)
        .filter_map(|executor| Some((executor, matrix.time(executor, work, 1)?)))
        .min_by(|a, b| a.1.median.total_cmp(&b.1.median))
}
