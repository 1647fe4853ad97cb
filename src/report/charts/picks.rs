//! What goes into each of the dot plots.

use super::dots::{Block, Dots, Row, Scale};
use super::{pools, reuses};
use crate::record::Estimate;
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units::count;
use std::cmp::Ordering;
use touchstone_executor::MemoryFrom;

/// Works of a guest that fit beside each other.
const PANELS: usize = 2;

/// The two estimates of an executor on a work: the dot and the stroke.
type Pair = [Option<Estimate>; 2];

/// The executors of a family by time, for the overview on each guest, on one thread and on
/// the most.
pub(super) fn family(matrix: &Matrix<'_>, name: &str, wanted: impl Fn(&Executor) -> bool) -> Dots {
    times(matrix, &format!("{name}: time of one call"), wanted, true)
}

/// Every engine that pools: its pools and the reset of one instance that they compete with.
pub(super) fn pooling(matrix: &Matrix<'_>) -> Dots {
    let pooling: Vec<&str> = matrix
        .executors
        .iter()
        .filter(|executor| pools(executor))
        .map(|executor| executor.engine.as_str())
        .collect();
    let wanted = |executor: &Executor| {
        let plain = reuses(executor) && executor.strategy.memory == MemoryFrom::Segments;
        pooling.contains(&executor.engine.as_str())
            && !executor.strategy.is_precompiled()
            && (plain || pools(executor))
    };
    times(matrix, "Reuse against pooling: time of one call", wanted, false)
}

/// Every executor on the main guest and one thread, without precompiled variants.
pub(super) fn latency(matrix: &Matrix<'_>) -> Dots {
    let works = of_guest(matrix, matrix.main_guest());
    let pair = |executor: &Executor, work: &Work| [matrix.time(executor, work, 1), None];
    let wanted = |executor: &Executor| !executor.strategy.is_precompiled();
    let blocks: Vec<Block> = block(matrix, &works, wanted, pair, true).into_iter().collect();
    let mut subtitle = "Median and 95 % interval; logarithmic axis; fastest on top.".to_owned();
    if matrix.executors.iter().any(|executor| executor.strategy.is_precompiled()) {
        subtitle.push_str(" Precompiled variants are left out.");
    }
    Dots {
        title: "Time of one call on a clean instance, 1 thread".to_owned(),
        subtitle,
        legend: legend(matrix, &blocks),
        kinds: None,
        blocks,
        scale: Scale::Time,
        values: true,
    }
}

/// What more threads bring: of each engine the executor with the highest throughput, and
/// the executor that scales worst. `None` where there is one thread only.
pub(super) fn threads(matrix: &Matrix<'_>) -> Option<Dots> {
    let most = most_threads(matrix)?;
    let pair = |executor: &Executor, work: &Work| {
        let between = matrix.threads(work).into_iter().find(|n| *n > 1 && *n < most);
        [Some(most), between].map(|n| matrix.scaling(executor, work, n?))
    };
    let blocks: Vec<Block> = matrix
        .guests()
        .into_iter()
        .filter_map(|guest| {
            let works = of_guest(matrix, Some(guest));
            let named = named(matrix, &works, most);
            block(matrix, &works, |executor| named.contains(&executor), pair, false)
        })
        .collect();
    let between = matrix.overview().into_iter().flat_map(|work| matrix.threads(work));
    let between = between.filter(|n| *n > 1 && *n < most).min();
    let kind = |n| format!("{n} threads");
    Some(Dots {
        title: format!("Throughput of {most} threads over that of 1 thread"),
        subtitle: format!(
            "Each engine's executor with the highest throughput, and the worst scaling; \
             logarithmic axis; dashed: {most} ×."
        ),
        legend: legend(matrix, &blocks),
        kinds: between.map(|between| [kind(most), kind(between)]),
        blocks,
        scale: Scale::Ratio(most as f64),
        values: true,
    })
}

/// The executors that the chart of threads names, for the works of a guest.
fn named<'a>(matrix: &'a Matrix<'_>, works: &[&Work], most: usize) -> Vec<&'a Executor> {
    let candidates = || matrix.executors.iter().filter(|e| !e.strategy.is_precompiled());
    let mut named: Vec<&Executor> = Vec::new();
    for work in works {
        let of = |executor: &'a Executor| {
            let rate = matrix.throughput(executor, work, most)?.median;
            Some((executor, rate, matrix.scaling(executor, work, most)?.median))
        };
        let all: Vec<(&Executor, f64, f64)> = candidates().filter_map(of).collect();
        // The first of equals, as in the tables.
        let best = |own: &[(&'a Executor, f64, f64)]| {
            own.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })
        };
        named.extend(all.chunk_by(|a, b| a.0.engine == b.0.engine).filter_map(best).map(|a| a.0));
        let worst = all.iter().reduce(|a, b| if b.2 < a.2 { b } else { a });
        named.extend(worst.map(|worst| worst.0));
    }
    named
}

/// Times on one thread (dots) and on the most (strokes), guest by guest.
fn times(
    matrix: &Matrix<'_>,
    title: &str,
    wanted: impl Fn(&Executor) -> bool,
    by_value: bool,
) -> Dots {
    let most = most_threads(matrix);
    let pair = |executor: &Executor, work: &Work| {
        let time = |threads| matrix.time(executor, work, threads);
        [time(1), most.and_then(time)]
    };
    let blocks: Vec<Block> = matrix
        .guests()
        .into_iter()
        .filter_map(|guest| block(matrix, &of_guest(matrix, Some(guest)), &wanted, pair, by_value))
        .collect();
    let order = if by_value { "fastest on top" } else { "engine by engine" };
    Dots {
        title: title.to_owned(),
        subtitle: format!("Median; logarithmic axis; {order}; –: not timed."),
        legend: legend(matrix, &blocks),
        kinds: most.map(|most| ["1 thread".to_owned(), count(most, "thread")]),
        blocks,
        scale: Scale::Time,
        values: false,
    }
}

/// The most threads of the overview, if there are several.
fn most_threads(matrix: &Matrix<'_>) -> Option<usize> {
    let most = matrix.overview().into_iter().filter_map(|work| matrix.most_threads(work)).max();
    most.filter(|most| *most > 1)
}

/// The works of the overview on a guest.
fn of_guest<'a>(matrix: &'a Matrix<'_>, guest: Option<&str>) -> Vec<&'a Work> {
    let own = |work: &&Work| Some(work.guest.as_str()) == guest;
    matrix.overview().into_iter().filter(own).take(PANELS).collect()
}

/// The rows of one guest, by their values or engine by engine. `None` if there are none.
fn block(
    matrix: &Matrix<'_>,
    works: &[&Work],
    wanted: impl Fn(&Executor) -> bool,
    pair: impl Fn(&Executor, &Work) -> Pair,
    by_value: bool,
) -> Option<Block> {
    let engines = matrix.engines();
    let mut rows: Vec<(&Executor, Row)> = matrix
        .executors
        .iter()
        .filter(|executor| wanted(executor))
        .map(|executor| {
            let dots = works.iter().map(|work| pair(executor, work)).collect();
            let category = engines.iter().position(|name| *name == executor.engine);
            let category = category.unwrap_or_default();
            (executor, Row { label: executor.to_string(), category, separated: false, dots })
        })
        .filter(|(_, row)| row.dots.iter().flatten().any(Option::is_some))
        .collect();
    if by_value {
        rows.sort_by(|a, b| by_first_value(&a.1, &b.1));
    } else {
        for index in 1..rows.len() {
            rows[index].1.separated = rows[index].0.engine != rows[index - 1].0.engine;
        }
    }
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let heading = works.first()?.guest.clone();
    let panels = works.iter().map(|work| work.case.clone()).collect();
    (!rows.is_empty()).then_some(Block { heading, panels, rows })
}

/// By the first value there is in a row; rows keep their order otherwise.
fn by_first_value(a: &Row, b: &Row) -> Ordering {
    let values = |row: &Row| -> Vec<f64> {
        let first = |pair: &Pair| pair[0].or(pair[1]).map_or(f64::INFINITY, |e| e.median);
        row.dots.iter().map(first).collect()
    };
    let (a, b) = (values(a), values(b));
    a.iter().zip(&b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// The engines that occur in some blocks.
fn legend(matrix: &Matrix<'_>, blocks: &[Block]) -> Vec<(usize, String)> {
    let occurs =
        |category: usize| blocks.iter().flat_map(|b| &b.rows).any(|row| row.category == category);
    let all = matrix.engines().into_iter().map(|engine| matrix.label(engine)).enumerate();
    all.filter(|(category, _)| occurs(*category)).collect()
}
