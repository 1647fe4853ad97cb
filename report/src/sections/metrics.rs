//! Metrics of executors beside each other: the parts of a call, what comes before it, and
//! what it takes from the kernel.

use super::source;
use crate::markdown::{Table, below, code};
use crate::matrix::{Executor, Matrix, Work};
use crate::units::{self, grouped};
use indexmap::IndexMap;
use touchstone_record::{COUNTS, Metric, Role};

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
        table.row_of_some(names.join("<br>"), &cells);
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
