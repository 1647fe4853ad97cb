//! Times on one and on several threads, of every executor on the guests of the overview.

use super::refused;
use crate::markdown::{Footnotes, Table, code, markdown};
use crate::matrix::{Cell, Executor, Matrix, Work};
use crate::units::{count, joined, time_with_interval, times};
use std::collections::BTreeSet;
use touchstone_record::Status;

pub(crate) fn section(matrix: &Matrix<'_>) -> String {
    // A run on one thread has all its times here.
    let has_several = |work: &Work| matrix.most_threads(work) > Some(1);
    let is_any = matrix.works.iter().any(has_several);
    let works = matrix.works.iter().filter(|work| !is_any || has_several(work));
    let tables: String = works.map(|work| table(matrix, work)).collect();
    let heading = "## Times on one and on several threads\n\n";
    if tables.is_empty() {
        return format!("{heading}Nothing was timed.\n\n");
    }
    let skipped = matrix.book.refusals.iter().filter(|refusal| refusal.status == Status::Skipped);
    let skipped: BTreeSet<usize> = skipped.filter_map(|refusal| refusal.threads).collect();
    let skipped = joined(skipped.iter().map(ToString::to_string), " and ");
    let skipped = match &*skipped {
        "" => String::new(),
        numbers => format!(
            " Rows on {numbers} threads were skipped: more threads than processors would time the \
             scheduler."
        ),
    };
    format!(
        "{heading}Time of one call on a clean instance: median [95 % interval]. On N threads it is \
         the time of one thread while N−1 others do the same. Throughput is that of all threads \
         over that of one (N × is perfect): the median of the processes' ratios, because a process \
         has its own physical pages. Every thread is pinned to a processor of its \
         own.{skipped}\n\n{tables}"
    )
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
        if !threads.iter().any(is_shown) {
            continue;
        }
        let mut cells = Vec::new();
        for n in &threads {
            cells.push(match matrix.cell(executor, work, *n) {
                Cell::Timed(time) => Some(time_with_interval(&time)),
                Cell::Refused(refusal) => Some(refused(refusal, &mut notes)),
                Cell::Absent => None,
            });
            let scaling = (*n > 1).then(|| matrix.scaling(executor, work, *n));
            cells.extend(scaling.map(|scaling| scaling.as_ref().map(times)));
        }
        table.row(heading(matrix, executor), cells);
    }
    format!("### {}\n\n{}{}", work.names(), table.finish(), notes.finish())
}

/// An executor, with the state that its calls leak.
fn heading(matrix: &Matrix<'_>, executor: &Executor) -> String {
    match matrix.records.checks.leaks(executor) {
        leaks if leaks.is_empty() => code(executor),
        leaks => format!("{}<br>**leaks {}**", code(executor), markdown(&leaks)),
    }
}
