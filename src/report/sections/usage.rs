//! What calls take from the kernel, in counts.

use crate::record::CellRecord;
use crate::report::counts::Counts;
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units;

/// Nothing where nothing was counted.
pub(in crate::report) fn section(matrix: &Matrix, counts: &Counts) -> String {
    let Some(costs) = counts.costs() else { return String::new() };
    let works: Vec<&Work> = matrix
        .works
        .iter()
        .filter(|work| matrix.executors.iter().any(|executor| has(matrix, counts, executor, work)))
        .collect();
    if works.is_empty() {
        return String::new();
    }
    let tables: String = works.iter().map(|work| table(matrix, counts, work)).collect();
    format!(
        "## Counts\n\nWhat each call on a clean instance takes from the kernel, on one thread that \
         makes the same call again and again: means per call, counted from outside on Linux {} \
         ({}). A system call is one of the thread that calls; a signal is a first write to a \
         watched page, mostly. Executors with the same counts and sizes share a row.\n\n{tables}",
        escape(&costs.machine.kernel),
        escape(&costs.machine.cpu),
    )
}

fn cell<'a>(matrix: &'a Matrix, executor: &Executor, work: &Work) -> Option<&'a CellRecord> {
    matrix.get(executor, work, 1)
}

fn has(matrix: &Matrix, counts: &Counts, executor: &Executor, work: &Work) -> bool {
    cell(matrix, executor, work).and_then(|cell| counts.usage(cell)).is_some()
}

fn table(matrix: &Matrix, counts: &Counts, work: &Work) -> String {
    let headings = ["Executors", "page faults", "system calls", "signals", "artifact"];
    let mut table = Table::new(&headings);
    let mut rows: Vec<([String; 4], Vec<String>)> = Vec::new();
    for executor in &matrix.executors {
        let Some(usage) = cell(matrix, executor, work).and_then(|cell| counts.usage(cell)) else {
            continue;
        };
        let row = [
            mean(usage.page_faults),
            mean(usage.system_calls),
            mean(usage.signals),
            match usage.artifact_bytes {
                0 => "–".to_owned(),
                bytes => units::bytes(bytes),
            },
        ];
        let name = code(&executor.name());
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, names)) => names.push(name),
            None => rows.push((row, vec![name])),
        }
    }
    for (row, names) in rows {
        let [faults, calls, signals, artifact] = row;
        table.row(&[names.join("<br>"), faults, calls, signals, artifact]);
    }
    format!("### {} on {}\n\n{}", code(&work.case), code(&work.guest), table.finish())
}

fn mean(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}
