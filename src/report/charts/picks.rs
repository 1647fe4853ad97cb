//! What goes into each of the dot plots.

use super::dots::{Block, Dots, Row};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::order::PRECOMPILED;
use crate::report::rank::Timing;
use crate::report::units::count;
use std::cmp::Ordering;

/// Executors that make a new instance for each call.
pub(in crate::report) fn makes_new(executor: &Executor) -> bool {
    executor.strategy == "interpreted" || executor.strategy.starts_with("recreate_instance")
}

/// Executors that reset one instance.
pub(in crate::report) fn reuses(executor: &Executor) -> bool {
    executor.strategy.starts_with("instance_reuse")
}

/// The strategies that a pool competes with, and the pools.
pub(super) fn reuses_or_pools(executor: &Executor) -> bool {
    let strategy = executor.strategy.as_str();
    strategy == "instance_reuse"
        || (strategy.starts_with("pooling") && !strategy.ends_with(PRECOMPILED))
}

/// The executors of a family, by time, for the well-known cases on every
/// guest, on one thread and on the most.
pub(super) fn family(matrix: &Matrix, name: &str, wanted: fn(&Executor) -> bool) -> Dots {
    overview(matrix, format!("{name}: time of one call (log scale)"), wanted, true)
}

/// Every backend that pools, its strategies under each other.
pub(super) fn pools(matrix: &Matrix) -> Dots {
    let pooling: Vec<&str> = matrix
        .timed()
        .filter(|cell| cell.key.strategy.starts_with("pooling"))
        .map(|cell| cell.key.backend.as_str())
        .collect();
    let title = "Reuse against pooling: time of one call (log scale)".to_owned();
    let wanted = |executor: &Executor| {
        reuses_or_pools(executor) && pooling.contains(&executor.backend.as_str())
    };
    overview(matrix, title, wanted, false)
}

/// Every executor on the main guest and one thread, without precompiled twins.
pub(super) fn latency(matrix: &Matrix) -> Dots {
    let guest = matrix.main_guest();
    let works: Vec<&Work> = matrix
        .overview()
        .into_iter()
        .filter(|work| Some(work.guest.as_str()) == guest)
        .take(2)
        .collect();
    let fresh = |executor: &Executor| !matrix.is_twin(executor);
    let blocks: Vec<Block> = block(matrix, &works, fresh, true, None).into_iter().collect();
    let mut subtitle =
        "Median and 95 % interval; further left is faster; fastest on top.".to_owned();
    if matrix.executors.iter().any(|executor| matrix.is_twin(executor)) {
        subtitle.push_str(" Precompiled twins are left out.");
    }
    Dots {
        title: "Time of one call on a clean instance, 1 thread (log scale)".to_owned(),
        subtitle,
        legend: legend(matrix, &blocks),
        kinds: None,
        blocks,
        values: true,
    }
}

fn overview(
    matrix: &Matrix,
    title: String,
    wanted: impl Fn(&Executor) -> bool,
    by_time: bool,
) -> Dots {
    let works = matrix.overview();
    let most = works.iter().filter_map(|work| matrix.most_threads(work)).max();
    let most = most.filter(|most| *most > 1);
    let blocks: Vec<Block> = matrix
        .guests()
        .into_iter()
        .filter_map(|guest| {
            let works: Vec<&Work> =
                works.iter().filter(|work| work.guest == guest).copied().take(2).collect();
            block(matrix, &works, &wanted, by_time, most)
        })
        .collect();
    let order = if by_time { "fastest on top" } else { "backend by backend" };
    Dots {
        title,
        subtitle: format!("Median; further left is faster; {order}; – is a cell without a time."),
        legend: legend(matrix, &blocks),
        kinds: most
            .map(|most| ["1 thread".to_owned(), format!("{} at once", count(most, "thread"))]),
        blocks,
        values: false,
    }
}

/// The rows of one guest. `None` if nothing was timed.
fn block(
    matrix: &Matrix,
    works: &[&Work],
    wanted: impl Fn(&Executor) -> bool,
    by_time: bool,
    most: Option<usize>,
) -> Option<Block> {
    let backends = matrix.backends();
    let mut rows: Vec<(&Executor, Row)> = matrix
        .executors
        .iter()
        .filter(|executor| wanted(executor))
        .map(|executor| {
            let dots = works
                .iter()
                .map(|work| {
                    let hollow = most.and_then(|most| matrix.time(executor, work, most));
                    [matrix.time(executor, work, 1), hollow]
                })
                .collect();
            let category =
                backends.iter().position(|name| *name == executor.backend).unwrap_or_default();
            (executor, Row { label: executor.name(), category, separated: false, dots })
        })
        .filter(|(_, row)| row.dots.iter().flatten().any(Option::is_some))
        .collect();
    if by_time {
        rows.sort_by(|a, b| by_first_time(&a.1, &b.1));
    } else {
        for index in 1..rows.len() {
            rows[index].1.separated = rows[index].0.backend != rows[index - 1].0.backend;
        }
    }
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let heading = works.first()?.guest.clone();
    let panels = works.iter().map(|work| work.case.clone()).collect();
    (!rows.is_empty()).then_some(Block { heading, panels, rows })
}

/// By the first time there is in a row; rows keep their order otherwise.
fn by_first_time(a: &Row, b: &Row) -> Ordering {
    let times = |row: &Row| -> Vec<f64> {
        row.dots
            .iter()
            .map(|dots| dots[0].or(dots[1]).map_or(f64::INFINITY, |timing: Timing| timing.median))
            .collect()
    };
    let (a, b) = (times(a), times(b));
    a.iter().zip(&b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// The backends that occur in some blocks.
fn legend(matrix: &Matrix, blocks: &[Block]) -> Vec<(usize, String)> {
    let occurs =
        |category: usize| blocks.iter().flat_map(|b| &b.rows).any(|row| row.category == category);
    let all = matrix.backends().into_iter().map(|backend| matrix.label(backend)).enumerate();
    all.filter(|(category, _)| occurs(*category)).collect()
}
