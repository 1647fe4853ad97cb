//! Times on one and on several threads, of every executor on the guests of the overview.

use super::time_or_word;
use crate::markdown::{Footnotes, Table};
use crate::matrix::{Cell, Executor, Matrix, Work};
use crate::units::{count, times};
use std::collections::BTreeSet;
use std::fmt::Write;
use touchstone_record::Status;
use touchstone_record::escape::{code, markdown};

pub(crate) fn section(matrix: &Matrix<'_>) -> String {
    // A run on one thread has all its times here.
    let has_several = |work: &Work| matrix.threads(work).last() > Some(&1);
    let is_any = matrix.works.iter().any(has_several);
    let is_shown = |work: &&Work| !is_any || has_several(work);
    let tables: String =
        matrix.works.iter().filter(is_shown).map(|work| table(matrix, work)).collect();
    let mut text = String::from("## Times on one and on several threads\n\n");
    if tables.is_empty() {
        return text + "Nothing was timed.\n\n";
    }
    text.push_str(
        "Time of one call on a clean instance: median [95 % interval]. On N threads it is the time \
         of one thread while N−1 others do the same. Throughput is that of all threads over that of \
         one (N × is perfect): the median of the processes' ratios, because a process has its own \
         physical pages. Every thread is pinned to a processor of its own.",
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
    format!("{text}\n\n{tables}")
}

fn table(matrix: &Matrix<'_>, work: &Work) -> String {
    let threads = matrix.threads(work);
    let headings = threads.iter().flat_map(|n| {
        let scaling = (*n > 1).then(|| format!("throughput of {n}"));
        std::iter::once(count(*n, "thread")).chain(scaling)
    });
    let mut table = Table::new("Executor", headings);
    let mut notes = Footnotes::default();
    for executor in &matrix.executors {
        let is_shown = |n: &usize| match matrix.cell(executor, work, *n) {
            Cell::Timed(_) => true,
            Cell::Refused(refusal) => refusal.status.is_failure(),
            Cell::Absent => false,
        };
        if threads.iter().any(is_shown) {
            let cells =
                threads.iter().flat_map(|n| cells(matrix, executor, (work, *n), &mut notes));
            let cells: Vec<_> = cells.collect();
            table.row(heading(matrix, executor), cells);
        }
    }
    format!(
        "### {} on {}\n\n{}{}",
        code(&work.case),
        code(&work.guest),
        table.finish(),
        notes.finish()
    )
}

/// The time on a number of threads and, on several, the throughput.
fn cells(
    matrix: &Matrix<'_>,
    executor: &Executor,
    (work, threads): (&Work, usize),
    notes: &mut Footnotes,
) -> impl Iterator<Item = Option<String>> + use<> {
    let time = time_or_word(matrix.cell(executor, work, threads), notes);
    let scaling = matrix.scaling(executor, work, threads).map(|scaling| times(&scaling));
    std::iter::once(time).chain((threads > 1).then_some(scaling))
}

/// An executor, with the state that its calls leak.
fn heading(matrix: &Matrix<'_>, executor: &Executor) -> String {
    match matrix.records.checks.leaks(executor) {
        leaks if leaks.is_empty() => code(executor),
        leaks => format!("{}<br>**leaks {}**", code(executor), markdown(&leaks.join(", "))),
    }
}
