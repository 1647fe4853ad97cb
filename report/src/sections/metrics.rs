//! Metrics of executors beside each other: the parts of a call, what comes before it, and
//! what it takes from the kernel.

use super::source;
use crate::markdown::{Table, below, code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::tables::{Panel, Shares};
use crate::units::{self, grouped, median, percent, times};
use indexmap::IndexMap;
use touchstone_record::{COUNTS, Estimate, Metric, Role};

const PARTS: [Metric; 3] = [Metric::Prepare, Metric::Invoke, Metric::Finish];

/// The steps before the first call, which depend on the guest and not on the case.
const BEFORE: [Metric; 3] = [Metric::Compile, Metric::Load, Metric::FirstCall];

/// Counts of the kernel.
const COUNTED: [Metric; 4] =
    [Metric::PageFaults, Metric::SystemCalls, Metric::Signals, Metric::ArtifactBytes];

/// The parts of a call and of what comes before it.
pub(crate) fn phases(matrix: &Matrix<'_>) -> String {
    let works = matrix.main_works(&[Role::EmptyCall, Role::DirtyMemory, Role::Payload]);
    let before = works.first().map(|work| table(matrix, work, "Before the first call: ", &BEFORE));
    let parts = works.iter().map(|work| table(matrix, work, "Each call: ", &PARTS));
    let tables: String = before.into_iter().chain(parts).collect();
    if tables.is_empty() {
        return "## Phases\n\nThe run did not time the parts of a call.\n\n".to_owned();
    }
    format!(
        "## Phases\n\nMedians on one thread. Compile, load and first call (with the making of its \
         instance) are observed once a process. The parts of a call are timed apart: their clock \
         readings add to short ones.\n\n{tables}"
    )
}

/// Kernel counts of calls; empty without counts.
pub(crate) fn kernel(benches: &Matrix<'_>) -> String {
    let Some(book) = benches.records.book(COUNTS) else { return String::new() };
    let matrix = Matrix::by(benches.records, book, Metric::SystemCalls);
    let tables = matrix.works.iter().map(|work| table(&matrix, work, "", &COUNTED));
    let text = format!(
        "## Counts\n\nSystem calls, page faults and signals of one call on a clean instance, on \
         one thread that repeats the call: means, counted from outside. Counted on {}. System \
         calls are those of the calling thread; signals are mostly first writes to a watched page. \
         Executors with the same counts and sizes share a row.",
        source(&book.header)
    );
    below(&text, &tables.collect::<String>()) + &operators(benches)
}

/// Operators that the guests execute; empty without counts.
fn operators(matrix: &Matrix<'_>) -> String {
    let mut table = Table::new("Call", ["operators", "of a second call"]);
    for work in &matrix.works {
        let [first, second] = [false, true].map(|warm| matrix.operators(work, warm).map(grouped));
        if first.is_some() {
            table.row(work.names(), [first, second]);
        }
    }
    let text = "## Operators\n\nWebAssembly operators that the guest executes in one call: on a \
                clean instance, and in a second call on an instance that was not reset. The number \
                is the same on every machine and executor. Operators that only shape the code \
                count nothing; each function that is entered counts one more.";
    below(text, &table.finish())
}

/// A row for the executors that have the same values. Empty if nobody has any.
fn table(matrix: &Matrix<'_>, work: &Work, heading: &str, metrics: &[Metric]) -> String {
    let mut rows: IndexMap<Vec<Option<String>>, Vec<String>> = IndexMap::new();
    for executor in &matrix.executors {
        let cells = metrics.iter().map(|metric| cell(matrix, executor, work, *metric)).collect();
        rows.entry(cells).or_default().push(code(executor));
    }
    let mut table = Table::new("Executor", metrics.iter().map(|metric| metric.name()));
    for (cells, names) in rows {
        table.row_of_some(names.join("<br>"), cells);
    }
    below(&format!("### {heading}{}", work.names()), &table.finish())
}

fn cell(matrix: &Matrix<'_>, executor: &Executor, work: &Work, metric: Metric) -> Option<String> {
    let value = matrix.metric(executor, work, metric)?;
    match metric {
        Metric::ArtifactBytes => (value.median >= 1.0).then(|| units::bytes(value.median as u64)),
        _ if COUNTED.contains(&metric) => {
            Some(format!("{:.2}", value.median).trim_end_matches(".00").to_owned())
        }
        _ => Some(units::median(&value)),
    }
}

const SHARES: [&str; 4] =
    ["instance and call", "first touches and cleaning", "taking the input", "the guest's work"];

/// The parts of a call on a clean instance, computed from other calls: the call and a no-op, each
/// on a clean and on a used instance, and a call that only takes the input.
pub(crate) fn shares(matrix: &Matrix<'_>, shares: &Shares) -> String {
    let mut text = format!("## {}\n\n{}\n\n", markdown(&shares.title), shares.text.trim());
    for panel in &shares.panels {
        let headings = ["clean instance", "used instance", "clean / used"];
        let mut table = Table::new("Executor", headings.into_iter().chain(SHARES));
        for executor in &shares.executors {
            if let Some(cells) = shares_of(matrix, panel, executor) {
                table.row(code(executor), cells);
            }
        }
        text += &below(&format!("### {}", markdown(&panel.heading)), &table.finish());
    }
    text
}

/// The parts of an executor's call. `None` where one of the times was not taken.
fn shares_of(matrix: &Matrix<'_>, panel: &Panel, executor: &Executor) -> Option<Vec<String>> {
    let work = |case: &str| Work { guest: panel.guest.clone(), case: case.to_owned() };
    let (call, noop) = (work(&panel.case), work(&panel.noop));
    let metric = |work, metric| matrix.metric(executor, work, metric);
    let all = [
        matrix.time(executor, &call, 1)?,
        metric(&call, Metric::WarmCall)?,
        matrix.time(executor, &noop, 1)?,
        metric(&noop, Metric::WarmCall)?,
        metric(&call, Metric::WarmTake)?,
    ];
    let marked = all.iter().any(|time| time.marked);
    let [fresh, warm, noop, warm_noop, take] = all.map(|time| time.median);
    let parts = split(fresh, warm, (noop, warm_noop), take);
    let value = |median| Estimate { marked, ..Estimate::exact(median) };
    let [clean, used] = [fresh, warm].map(|time| median(&value(time)));
    let mut cells = vec![clean, used, times(&value(fresh / warm))];
    // Of their sum: a part that noise made negative is shown as zero.
    let whole: f64 = parts.iter().sum();
    cells.extend(parts.map(|ns| format!("{} ({})", median(&value(ns)), percent(ns / whole))));
    Some(cells)
}

/// The parts of a call that takes `fresh` on a clean instance and `warm` on a used one, ns.
/// `noop` is what a call that does nothing takes on either, `take` one that only takes the
/// input, on a used one. A part that came out below zero, which noise can do, is zero.
fn split(fresh: f64, warm: f64, noop: (f64, f64), take: f64) -> [f64; 4] {
    let parts = [
        noop.0,
        // What a clean instance makes the work cost beside what it costs a call that does
        // nothing: pages that are touched for the first time, memory that grows, and making
        // both clean again.
        (fresh - noop.0) - (warm - noop.1),
        take - noop.1,
        warm - take,
    ];
    parts.map(|part| part.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole() {
        let parts = split(20_000.0, 400.0, (4_000.0, 50.0), 150.0);
        assert_eq!(parts, [4_000.0, 15_650.0, 100.0, 250.0]);
        assert_eq!(parts.iter().sum::<f64>(), 20_000.0);
        // Noise: nothing is less than nothing.
        assert_eq!(split(4_000.0, 400.0, (4_000.0, 50.0), 150.0)[1], 0.0);
    }
}
