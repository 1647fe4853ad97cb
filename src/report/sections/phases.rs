//! The parts of a call and of what comes before it.

use super::NOTHING;
use crate::record::{Metric, Role};
use crate::report::markdown::{Table, code};
use crate::report::matrix::{Matrix, Work};
use crate::report::units::median;

/// Parts of a call.
const PARTS: [Metric; 3] = [Metric::Prepare, Metric::Invoke, Metric::Finish];

/// What comes before the first call; it depends on the guest, not on the case.
const BEFORE: [Metric; 3] = [Metric::Compile, Metric::Load, Metric::FirstCall];

pub(in crate::report) fn section(matrix: &Matrix<'_>) -> String {
    let works: Vec<&Work> = [Role::EmptyCall, Role::DirtyMemory, Role::Payload]
        .into_iter()
        .filter_map(|role| matrix.main_work(role))
        .collect();
    let before = works.first().map(|work| table(matrix, work, "Before the first call", &BEFORE));
    let parts = works.iter().map(|work| table(matrix, work, "Each call", &PARTS));
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

/// A row for each executor that has one of the metrics.
fn table(matrix: &Matrix<'_>, work: &Work, heading: &str, metrics: &[Metric]) -> String {
    let mut headings = vec!["Executor".to_owned()];
    headings.extend(metrics.iter().map(ToString::to_string));
    let mut table = Table::new(&headings);
    let mut is_empty = true;
    for executor in &matrix.executors {
        let values: Vec<_> =
            metrics.iter().map(|metric| matrix.metric(executor, work, *metric)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        is_empty = false;
        let mut row = vec![code(&executor.to_string())];
        let print = |value: &Option<_>| value.as_ref().map_or(NOTHING.to_owned(), median);
        row.extend(values.iter().map(print));
        table.row(&row);
    }
    if is_empty {
        return String::new();
    }
    let (case, guest) = (code(&work.case), code(&work.guest));
    format!("### {heading}: {case} on {guest}\n\n{}", table.finish())
}
