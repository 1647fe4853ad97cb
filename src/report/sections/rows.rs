//! The results: a row for each case, guest and number of threads, a column for each
//! executor, one table for each engine and guest.

use super::{OPERATORS, function, time_or_word};
use crate::record::Status;
use crate::report::markdown::{Footnotes, Table, code, escape};
use crate::report::matrix::{Cell, Executor, Matrix, Work};
use crate::report::units::grouped;
use std::collections::BTreeSet;
use std::fmt::Write;

pub(in crate::report) fn section(matrix: &Matrix<'_>) -> String {
    let mut text = String::from("## Results\n\n");
    if matrix.works.is_empty() {
        text.push_str("No cell of the run has a time.\n\n");
        return text;
    }
    text.push_str(
        "Time of one call on a clean instance: median [95 % interval]; on N threads, the time of \
         one thread while N−1 others do the same. – was not part of the run. Strategies that an \
         engine cannot do on a guest have no column and are listed with the reason below.",
    );
    let skipped = matrix.book.refusals.iter().filter(|refusal| refusal.status == Status::Skipped);
    let skipped: BTreeSet<usize> = skipped.filter_map(|refusal| refusal.threads).collect();
    if !skipped.is_empty() {
        let numbers: Vec<String> = skipped.iter().map(ToString::to_string).collect();
        let _ = write!(
            text,
            " Rows on {} threads were skipped: more threads than processors would time the \
             scheduler.",
            numbers.join(" and ")
        );
    }
    if matrix.records.counts.is_some() {
        text.push_str(
            " Operators are those that the guest executes in one call, the same number on every \
             machine and executor: one for each operator, none for those that only shape the code, \
             one more for each function that is entered.",
        );
    }
    text.push_str("\n\n");
    for engine in matrix.engines() {
        let note = if matrix.is_baseline(engine) {
            "The baseline: the guests' own code, compiled for the host.\n\n"
        } else {
            ""
        };
        let _ = write!(text, "### {}\n\n{note}", code(engine));
        for guest in matrix.guests() {
            text.push_str(&table(matrix, engine, guest));
        }
    }
    text
}

/// The executors of an engine on a guest: those with a time, or with which something went
/// wrong.
fn table(matrix: &Matrix<'_>, engine: &str, guest: &str) -> String {
    let is_shown = |of: &Executor, work: &Work, n| match matrix.cell(of, work, n) {
        Cell::Timed(_) => true,
        Cell::Refused(refusal) => refusal.status.is_failure(),
        Cell::Absent => false,
    };
    let all: Vec<&Executor> = matrix.executors.iter().filter(|e| e.engine == engine).collect();
    let works = matrix.works.iter().filter(|work| work.guest == guest);
    let rows: Vec<(&Work, usize)> = works
        .flat_map(|work| matrix.threads(work).into_iter().map(move |threads| (work, threads)))
        .filter(|(work, threads)| all.iter().any(|of| is_shown(of, work, *threads)))
        .collect();
    let has = |of: &&Executor| rows.iter().any(|(work, threads)| is_shown(of, work, *threads));
    let executors: Vec<&Executor> = all.iter().copied().filter(has).collect();
    if executors.is_empty() {
        return String::new();
    }
    let is_counted = matrix.records.counts.is_some();
    let counted = is_counted.then(|| OPERATORS.to_owned()).into_iter();
    let names = executors.iter().map(|executor| heading(matrix, executor));
    let mut table = Table::new("Benchmark function", counted.chain(names));
    let mut notes = Footnotes::default();
    for (work, threads) in rows {
        let counted = is_counted.then(|| matrix.operators(work, false).map(grouped)).into_iter();
        let cells = executors.iter().map(|executor| matrix.cell(executor, work, threads));
        let cells = cells.map(|cell| time_or_word(cell, &mut notes));
        let name = escape(&function(&work.case, &work.guest, threads));
        table.row(name, counted.chain(cells));
    }
    table.finish() + &notes.finish()
}

/// An executor, with the state that its calls leak.
fn heading(matrix: &Matrix<'_>, executor: &Executor) -> String {
    let name = escape(&executor.to_string());
    match matrix.records.checks.leaks(executor) {
        leaks if leaks.is_empty() => name,
        leaks => format!("{name}<br>**leaks {}**", escape(&leaks.join(", "))),
    }
}
