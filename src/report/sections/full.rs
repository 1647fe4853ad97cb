//! The strategy matrix: a row for each executor, the median in every cell.

use super::{column, time_or_word};
use crate::report::markdown::{Footnotes, Table, code};
use crate::report::matrix::Matrix;
use crate::report::units::{self, count};

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    if matrix.timed().next().is_none() {
        return "## Full matrix\n\nNo cell on record was timed.\n\n".to_owned();
    }
    let mut headings = vec!["Executor".to_owned()];
    for work in &matrix.works {
        for threads in matrix.threads(work) {
            headings.push(column(work, &count(threads, "thread")));
        }
    }
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    for executor in matrix.usable() {
        let mut row = vec![code(&executor.name())];
        for work in &matrix.works {
            for threads in matrix.threads(work) {
                let cell = matrix.get(executor, work, threads);
                row.push(time_or_word(cell, &mut notes, |timing| units::time(timing.median)));
            }
        }
        table.row(&row);
    }
    format!(
        "## Full matrix\n\nThe medians alone, all backends under each other.\n\n{}{}",
        table.finish(),
        notes.finish()
    )
}
