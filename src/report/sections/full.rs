//! The full matrix: a row for each executor, latency in every cell, and
//! throughput on the most threads.

use super::{column, time_or_word};
use crate::record::Status;
use crate::report::markdown::{Footnotes, Table, code};
use crate::report::matrix::Matrix;
use crate::report::units::{self, count};

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    if matrix.cells().is_empty() {
        return "## Full matrix\n\nThere are no records of any cell.\n\n".to_owned();
    }
    let mut headings = vec!["Executor".to_owned()];
    for work in &matrix.works {
        for threads in matrix.threads(work) {
            headings.push(column(work, &count(threads, "thread")));
        }
    }
    for work in &matrix.works {
        if let Some(most) = matrix.most_threads(work) {
            headings.push(column(work, &format!("calls of {} per second", count(most, "thread"))));
        }
    }
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    for executor in &matrix.executors {
        let mut row = vec![code(&executor.name())];
        for work in &matrix.works {
            for threads in matrix.threads(work) {
                let cell = matrix.get(executor, work, threads);
                row.push(time_or_word(cell, &mut notes, |timing| units::time(timing.median)));
            }
        }
        for work in &matrix.works {
            if let Some(most) = matrix.most_threads(work) {
                let cell = matrix.get(executor, work, most);
                let rate = cell
                    .filter(|cell| cell.status == Status::Ok)
                    .and_then(|cell| cell.throughput_per_s);
                row.push(rate.map_or("–".to_owned(), units::rate));
            }
        }
        table.row(&row);
    }
    format!(
        "## Full matrix\n\nMedians; then the throughput of all threads together, on the most \
         threads.\n\n{}{}",
        table.finish(),
        notes.finish()
    )
}
