//! The parts of a call and of what comes before it.

use crate::record::Phases;
use crate::report::markdown::{Table, code};
use crate::report::matrix::{Matrix, Work};
use crate::report::order;
use crate::report::units::{self, time};
use std::fmt::Write;

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let mut text = String::from("## Phases\n\n");
    let tables: Vec<String> = [order::EMPTY, order::DIRTY]
        .into_iter()
        .filter_map(|case| table(matrix, matrix.main_work(case)?))
        .collect();
    if tables.is_empty() {
        text.push_str("There are no records with the parts of a call.\n\n");
        return text;
    }
    text.push_str(
        "One thread. Compile, load and first call are single observations; prepare, invoke and \
         finish are medians; faults are the mean number of minor page faults per call. The parts \
         are timed apart, so their clock readings add to short ones.\n\n",
    );
    text.push_str(&tables.concat());
    text
}

fn table(matrix: &Matrix, work: &Work) -> Option<String> {
    let mut table = Table::new(&[
        "Executor",
        "compile",
        "load",
        "first call",
        "prepare",
        "invoke",
        "finish",
        "faults",
        "artifact",
    ]);
    let mut any = false;
    for executor in &matrix.executors {
        let phases = matrix.get(executor, work, 1).and_then(|cell| cell.phases.as_ref());
        if let Some(phases) = phases {
            any = true;
            table.row(&row(&executor.name(), phases));
        }
    }
    let mut text = format!("### {} on {}\n\n", code(&work.case), code(&work.guest));
    let _ = write!(text, "{}", table.finish());
    any.then_some(text)
}

fn row(name: &str, phases: &Phases) -> [String; 9] {
    // Times of this size are exact in a double.
    let ns = |ns: u64| time(ns as f64);
    [
        code(name),
        ns(phases.compile_ns),
        ns(phases.load_ns),
        ns(phases.first_call_ns),
        ns(phases.prepare_ns),
        ns(phases.invoke_ns),
        ns(phases.finish_ns),
        format!("{:.1}", phases.page_faults_per_call),
        units::bytes(phases.artifact_bytes),
    ]
}
