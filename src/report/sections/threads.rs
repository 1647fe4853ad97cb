//! What more threads bring: throughput relative to one.

use crate::report::markdown::{Table, code, details, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units::{count, rate, times};

pub(in crate::report) fn section(matrix: &Matrix<'_>) -> String {
    let tables: String =
        matrix.guests().into_iter().filter_map(|guest| table(matrix, guest)).collect();
    if tables.is_empty() {
        return "## Thread scaling\n\nNothing was timed on more than one thread.\n\n".to_owned();
    }
    format!(
        "## Thread scaling\n\nCalls a second of all threads together, and their ratio to those of \
         one thread (N × on N threads is perfect). Every thread is pinned to a processor of its \
         own. The ratio is the median of the processes' ratios, because a process has its own \
         physical pages.\n\n{tables}"
    )
}

/// One guest: its cases beside each other.
fn table(matrix: &Matrix<'_>, guest: &str) -> Option<String> {
    let works = matrix.works.iter().filter(|work| work.guest == guest);
    let columns: Vec<(&Work, usize)> = works
        .map(|work| (work, matrix.threads(work)))
        .filter(|(_, threads)| threads.last() > Some(&1))
        .flat_map(|(work, threads)| threads.into_iter().map(move |threads| (work, threads)))
        .collect();
    let heading =
        |(work, n): &(&Work, usize)| format!("{}<br>{}", code(&work.case), count(*n, "thread"));
    let mut table = Table::new("Executor", columns.iter().map(heading));
    let mut rows = 0;
    for executor in &matrix.executors {
        if columns.iter().all(|(work, n)| *n == 1 || matrix.time(executor, work, *n).is_none()) {
            continue;
        }
        rows += 1;
        let cells = columns.iter().map(|(work, n)| throughput(matrix, executor, work, *n));
        table.row(code(executor), cells);
    }
    let title = format!("<code>{}</code>, {}", escape(guest), count(rows, "executor"));
    (rows > 0).then(|| details(&title, &table.finish()))
}

/// Calls a second and, on several threads, their ratio to those of one.
fn throughput(
    matrix: &Matrix<'_>,
    executor: &Executor,
    work: &Work,
    threads: usize,
) -> Option<String> {
    let all = rate(&matrix.throughput(executor, work, threads)?);
    let scaling = matrix.scaling(executor, work, threads).filter(|_| threads > 1);
    Some(scaling.map_or(all.clone(), |scaling| format!("{all} ({})", times(&scaling))))
}
