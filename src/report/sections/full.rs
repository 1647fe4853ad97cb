//! The strategy matrix: a row for each executor, the median in every cell.

use super::{column, time_or_word};
use crate::report::markdown::{Footnotes, Table, code};
use crate::report::matrix::{Matrix, Work};
use crate::report::rank::Timing;
use crate::report::trust::Trust;
use crate::report::units::{self, count};

pub(in crate::report) fn section(matrix: &Matrix, trust: &Trust) -> String {
    if matrix.timed().next().is_none() {
        return "## Full matrix\n\nNo cell on record was timed.\n\n".to_owned();
    }
    let tables: String =
        matrix.guests().into_iter().map(|guest| table(matrix, trust, guest)).collect();
    format!("## Full matrix\n\nThe medians alone, all backends under each other.\n\n{tables}")
}

/// The executors that have a time for a call on the guest.
fn table(matrix: &Matrix, trust: &Trust, guest: &str) -> String {
    let works: Vec<&Work> =
        matrix.timed_works().into_iter().filter(|work| work.guest == guest).collect();
    let columns: Vec<(&Work, usize)> = works
        .iter()
        .flat_map(|work| matrix.threads(work).into_iter().map(|threads| (*work, threads)))
        .collect();
    if columns.is_empty() {
        return String::new();
    }
    let mut headings = vec!["Executor".to_owned()];
    headings.extend(columns.iter().map(|(work, threads)| column(work, &count(*threads, "thread"))));
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    for executor in matrix.usable() {
        let cells: Vec<_> =
            columns.iter().map(|(work, threads)| matrix.get(executor, work, *threads)).collect();
        // What can do nothing on this guest is listed with its reason further down.
        if !cells.iter().flatten().any(|cell| Timing::of(cell).is_some()) {
            continue;
        }
        let mut row = vec![format!("{}{}", code(&executor.name()), trust.label(executor))];
        for cell in cells {
            row.push(time_or_word(cell, &mut notes, |timing| units::time(timing.median)));
        }
        table.row(&row);
    }
    format!("### On {}\n\n{}{}", code(guest), table.finish(), notes.finish())
}
