//! The big table: a row for each case, guest and number of threads, a column
//! for each executor, one table for each backend.

use super::{OPERATORS, operators, time_or_word, with_interval};
use crate::record::Status;
use crate::report::counts::Counts;
use crate::report::markdown::{Footnotes, Table, code, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::order;
use std::collections::BTreeSet;
use std::fmt::Write;

/// `skipped` are the numbers of threads that the run itself left out.
pub(in crate::report) fn section(
    matrix: &Matrix,
    counts: &Counts,
    skipped: &BTreeSet<usize>,
) -> String {
    let mut text = String::from("## Results\n\n");
    if matrix.cells().is_empty() {
        text.push_str("There are no records of any cell.\n\n");
        return text;
    }
    text.push_str(
        "Time of one call on a clean instance: median [95 % interval]; on N threads, the time of \
         one thread while N−1 others do the same. – is a cell without a record; executors that \
         their backend cannot do have no column and stand below, with the reason.",
    );
    if matrix.guests().contains(&order::LARGE_GUEST) {
        let _ = write!(
            text,
            " {} stands where other reports of this shape have a Kusama runtime.",
            code(order::LARGE_GUEST)
        );
    }
    let numbers: Vec<String> = skipped.iter().map(ToString::to_string).collect();
    if let Some((last, others)) = numbers.split_last() {
        let others = others.join(", ");
        let and = if others.is_empty() { "" } else { " and " };
        let _ = write!(
            text,
            " Rows of {others}{and}{last} threads were skipped when this was measured: more threads \
             than processors would time the scheduler."
        );
    }
    if counts.costs().is_some() {
        text.push_str(
            " Operators are those that the guest executes in one call, the same number on every \
             machine and executor: one for each operator, none for those that only shape the code, \
             one more for each function that is entered.",
        );
    }
    text.push_str("\n\n");
    for backend in matrix.backends() {
        text.push_str(&table(matrix, counts, backend));
    }
    text
}

fn table(matrix: &Matrix, counts: &Counts, backend: &str) -> String {
    let executors: Vec<&Executor> =
        matrix.usable().into_iter().filter(|executor| executor.backend == backend).collect();
    if executors.is_empty() {
        return format!("### {}\n\nThis backend can do nothing of this.\n\n", code(backend));
    }
    let note = if matrix.is_baseline(backend) {
        "A baseline, not an executor to choose: the guests' own code, compiled into the host.\n\n"
    } else {
        ""
    };
    let guests = matrix.guests().into_iter();
    let tables: String = guests.map(|guest| on_guest(matrix, counts, &executors, guest)).collect();
    format!("### {}\n\n{note}{tables}", code(backend))
}

/// The executors that have a record of a call on the guest.
fn on_guest(matrix: &Matrix, counts: &Counts, executors: &[&Executor], guest: &str) -> String {
    let works: Vec<&Work> = matrix.works.iter().filter(|work| work.guest == guest).collect();
    let has = |executor: &Executor| {
        let mut cells = works.iter().flat_map(|work| {
            matrix.threads(work).into_iter().map(|threads| matrix.get(executor, work, threads))
        });
        cells.any(|cell| cell.is_some_and(|cell| cell.status != Status::Unsupported))
    };
    let executors: Vec<&Executor> =
        executors.iter().copied().filter(|executor| has(executor)).collect();
    if executors.is_empty() {
        return String::new();
    }
    let mut headings = vec!["Benchmark function".to_owned()];
    let counted = counts.costs().is_some();
    headings.extend(counted.then(|| OPERATORS.to_owned()));
    headings.extend(executors.iter().map(|executor| escape(&executor.name())));
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    for work in works {
        for threads in matrix.threads(work) {
            let cells: Vec<_> =
                executors.iter().map(|executor| matrix.get(executor, work, threads)).collect();
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let (case, guest) = (escape(&work.case), escape(&work.guest));
            let mut row = vec![format!("{case}_from_{guest}_on_{threads}_threads")];
            row.extend(counted.then(|| operators(counts.operators(matrix, work, false))));
            row.extend(cells.into_iter().map(|cell| time_or_word(cell, &mut notes, with_interval)));
            table.row(&row);
        }
    }
    format!("{}{}", table.finish(), notes.finish())
}
