//! What calls take from the kernel, in counts.

use super::NOTHING;
use crate::record::Metric;
use crate::report::counts::Counts;
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units;

const METRICS: [Metric; 4] =
    [Metric::PageFaults, Metric::SystemCalls, Metric::Signals, Metric::ArtifactBytes];

/// Nothing where nothing was counted.
pub(in crate::report) fn section(counts: Counts<'_>) -> String {
    let Some(matrix) = counts.calls().filter(|matrix| !matrix.works.is_empty()) else {
        return String::new();
    };
    let tables: String = matrix.works.iter().map(|work| table(&matrix, work)).collect();
    let header = &matrix.book.header;
    format!(
        "## Counts\n\nWhat each call on a clean instance takes from the kernel, on one thread that \
         repeats the same call: means per call, counted from outside on Linux {} ({}), commit {}. \
         System calls are those of the calling thread; signals are mostly first writes to a \
         watched page. Executors with the same counts and sizes share a row.\n\n{tables}",
        escape(&header.machine.kernel),
        escape(&header.machine.cpu),
        code(&header.tools.commit),
    )
}

fn table(matrix: &Matrix<'_>, work: &Work) -> String {
    let mut headings = vec!["Executors".to_owned()];
    headings.extend(METRICS.iter().map(ToString::to_string));
    let mut table = Table::new(&headings);
    let mut rows: Vec<([String; 4], Vec<String>)> = Vec::new();
    for executor in &matrix.executors {
        if matrix.metric(executor, work, Metric::SystemCalls).is_none() {
            continue;
        }
        let row = METRICS.map(|metric| cell(matrix, executor, work, metric));
        let name = code(&executor.to_string());
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, names)) => names.push(name),
            None => rows.push((row, vec![name])),
        }
    }
    for (row, names) in rows {
        let mut cells = vec![names.join("<br>")];
        cells.extend(row);
        table.row(&cells);
    }
    format!("### {} on {}\n\n{}", code(&work.case), code(&work.guest), table.finish())
}

fn cell(matrix: &Matrix<'_>, executor: &Executor, work: &Work, metric: Metric) -> String {
    let value = matrix.metric(executor, work, metric).map(|estimate| estimate.median);
    match (metric, value) {
        (Metric::ArtifactBytes, Some(bytes)) if bytes >= 1.0 => units::bytes(bytes as u64),
        (Metric::ArtifactBytes, _) | (_, None) => NOTHING.to_owned(),
        (_, Some(mean)) if mean.fract() == 0.0 => format!("{mean:.0}"),
        (_, Some(mean)) => format!("{mean:.2}"),
    }
}
