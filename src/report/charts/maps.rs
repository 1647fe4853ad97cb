//! What goes into each of the coloured tables.

use super::map::{Cell, Group, Map, Row};
use crate::record::{Estimate, Metric};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::rank::{Noise, tied};
use crate::report::units::count;
use std::fmt::Write;

/// With more columns than these, only one thread and the most are shown, or the text would
/// be too small on a page.
const MOST_COLUMNS: usize = 12;

/// A row for each executor, a column for each case, guest and number of threads. The
/// fastest is that of the column.
pub(super) fn executors(matrix: &Matrix<'_>, title: &str, noise: &Noise) -> Map {
    let all: usize = matrix.works.iter().map(|work| matrix.threads(work).len()).sum();
    let is_whole = all <= MOST_COLUMNS;
    let groups: Vec<(&Work, Vec<usize>)> = matrix
        .works
        .iter()
        .map(|work| {
            let most = matrix.most_threads(work);
            let mut threads = matrix.threads(work);
            threads.retain(|threads| is_whole || *threads == 1 || Some(*threads) == most);
            (work, threads)
        })
        .collect();
    let columns: Vec<(&Work, usize, f64)> = groups
        .iter()
        .flat_map(|(work, threads)| threads.iter().map(move |threads| (*work, *threads)))
        .map(|(work, threads)| {
            let times = matrix.executors.iter().filter_map(|e| matrix.time(e, work, threads));
            (work, threads, times.map(|time| time.median).fold(f64::INFINITY, f64::min))
        })
        .collect();
    let (shown, folded) = shown(matrix, noise);
    let row = |executor: &&Executor| {
        let cell = |(work, threads, best): &(&Work, usize, f64)| {
            let time = matrix.time(executor, work, *threads)?;
            Some(Cell { time, factor: time.median / best })
        };
        Row { label: executor.to_string(), cells: columns.iter().map(cell).collect() }
    };
    let rows = shown.chunk_by(|a, b| a.engine == b.engine);
    let rows = rows.map(|own| unnamed(own.iter().map(row).collect())).collect();

    let mut subtitle =
        "Colour: times slower than the fastest of the column, logarithmic scale.".to_owned();
    if groups.iter().map(|(_, threads)| threads.len()).sum::<usize>() < all {
        subtitle.push_str(" Fewest and most threads only.");
    }
    if folded > 0 {
        let variants = count(folded, "precompiled variant");
        let _ = write!(subtitle, " {variants} within noise of the base strategy not shown.");
    }
    let columns = groups
        .into_iter()
        .map(|(work, threads)| Group {
            heading: format!("{} on {}", work.case, work.guest),
            members: threads.into_iter().map(|threads| count(threads, "thread")).collect(),
        })
        .collect();
    Map { title: title.to_owned(), subtitle, columns, rows }
}

/// The executors with a row, and how many precompiled variants have none because in no cell
/// they differ from the same strategy with code made in the process by more than noise.
fn shown<'a>(matrix: &'a Matrix<'_>, noise: &Noise) -> (Vec<&'a Executor>, usize) {
    let cells: Vec<(&Work, usize)> = matrix
        .works
        .iter()
        .flat_map(|work| matrix.threads(work).into_iter().map(move |threads| (work, threads)))
        .collect();
    let ties = |executor: &&Executor| {
        let base = Executor { strategy: executor.strategy.base(), ..(*executor).clone() };
        cells.iter().all(|(work, threads)| {
            match (matrix.time(executor, work, *threads), matrix.time(&base, work, *threads)) {
                (Some(a), Some(b)) => tied(a, b, noise.worst(&work.case)),
                (None, None) => true,
                _ => false,
            }
        })
    };
    let (folded, shown): (Vec<&Executor>, Vec<&Executor>) = matrix
        .executors
        .iter()
        .partition(|executor| executor.strategy.is_precompiled() && ties(executor));
    (shown, folded.len())
}

/// Suites that each engine runs under one strategy: a row for each call, a column for each
/// engine. The fastest is that of the row, without the baseline.
pub(super) fn engines(matrix: &Matrix<'_>) -> Map {
    let mut engines = matrix.engines();
    // The baseline stands first, beside the names.
    engines.sort_by_key(|engine| !matrix.is_baseline(engine));
    let row = |work: &Work| {
        let times: Vec<Option<Estimate>> =
            engines.iter().map(|engine| used(matrix, engine, work)).collect();
        let others = engines.iter().zip(&times).filter(|(engine, _)| !matrix.is_baseline(engine));
        let best = others.filter_map(|(_, time)| Some((*time)?.median)).min_by(f64::total_cmp);
        let cell = |time: &Option<Estimate>| {
            let time = (*time)?;
            Some(Cell { time, factor: time.median / best.unwrap_or(time.median) })
        };
        Row { label: label(matrix, work), cells: times.iter().map(cell).collect() }
    };
    let guests = matrix.works.chunk_by(|a, b| a.guest == b.guest);
    let rows = guests
        .map(|works| Group {
            heading: works.first().map_or_else(String::new, |work| work.guest.clone()),
            members: works.iter().map(row).collect(),
        })
        .collect();
    let columns = vec![unnamed(engines.iter().map(|engine| matrix.label(engine)).collect())];
    Map {
        title: "The guest's work: a call on a used instance, engine by engine".to_owned(),
        subtitle: "Colour: times slower than the fastest of the row but the baseline, logarithmic \
                   scale."
            .to_owned(),
        columns,
        rows,
    }
}

/// Time of a call by an engine, ns: on a used instance where that was timed.
fn used(matrix: &Matrix<'_>, engine: &str, work: &Work) -> Option<Estimate> {
    let mut own = matrix.executors.iter().filter(|executor| executor.engine == engine);
    own.find_map(|executor| {
        let clean = matrix.time(executor, work, 1)?;
        Some(matrix.metric(executor, work, Metric::WarmCall).unwrap_or(clean))
    })
}

/// What stands beside a row: the case's title on its guest without the guest, or its name.
fn label(matrix: &Matrix<'_>, work: &Work) -> String {
    let title = matrix.facts(work).and_then(|facts| facts.title.as_deref());
    match title.and_then(|title| title.split_once('/')) {
        Some((_, scenario)) => scenario.to_owned(),
        None => work.case.clone(),
    }
}

fn unnamed<T>(members: Vec<T>) -> Group<T> {
    Group { heading: String::new(), members }
}
