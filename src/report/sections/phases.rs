//! The parts of a call and of what comes before it.

use crate::record::Phases;
use crate::report::markdown::{Table, code};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::order;
use crate::report::units::{self, time};

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let works: Vec<&Work> = [order::EMPTY, order::DIRTY]
        .into_iter()
        .filter_map(|case| matrix.main_work(case))
        .filter(|work| matrix.executors.iter().any(|e| phases(matrix, e, work).is_some()))
        .collect();
    let Some(first) = works.first() else {
        return "## Phases\n\nThere are no records with the parts of a call.\n\n".to_owned();
    };
    let tables: String = works.iter().map(|work| of_a_call(matrix, work)).collect();
    format!(
        "## Phases\n\nOne thread. Compile, load and first call (with the making of its instance) \
         are single observations; prepare, invoke and finish are medians; faults are the mean number \
         of minor page faults per call. The parts are timed apart, so their clock readings add to \
         short ones.\n\n{}{tables}",
        before_a_call(matrix, first)
    )
}

fn phases<'a>(matrix: &'a Matrix, executor: &Executor, work: &Work) -> Option<&'a Phases> {
    matrix.get(executor, work, 1)?.phases.as_ref()
}

/// A table with a row for each executor whose phases are known.
fn table<const N: usize>(
    matrix: &Matrix,
    work: &Work,
    headings: [&str; N],
    row: fn(&Phases) -> [String; N],
) -> String {
    let mut all = vec!["Executor"];
    all.extend(headings);
    let mut table = Table::new(&all);
    for executor in &matrix.executors {
        if let Some(phases) = phases(matrix, executor, work) {
            let mut cells = vec![code(&executor.name())];
            cells.extend(row(phases));
            table.row(&cells);
        }
    }
    table.finish()
}

/// What comes before the first call; it depends on the guest, not on the case.
fn before_a_call(matrix: &Matrix, work: &Work) -> String {
    let body = table(matrix, work, ["compile", "load", "first call", "artifact"], |phases| {
        [
            ns(phases.compile_ns),
            ns(phases.load_ns),
            ns(phases.first_call_ns),
            units::bytes(phases.artifact_bytes),
        ]
    });
    format!("### Before the first call of {} on {}\n\n{body}", code(&work.case), code(&work.guest))
}

fn of_a_call(matrix: &Matrix, work: &Work) -> String {
    let body = table(matrix, work, ["prepare", "invoke", "finish", "faults"], |phases| {
        [
            ns(phases.prepare_ns),
            ns(phases.invoke_ns),
            ns(phases.finish_ns),
            format!("{:.1}", phases.page_faults_per_call),
        ]
    });
    format!("### Each call of {} on {}\n\n{body}", code(&work.case), code(&work.guest))
}

fn ns(ns: u64) -> String {
    // Times of this size are exact in a double.
    time(ns as f64)
}
