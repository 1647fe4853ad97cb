//! The tables that are laid out by hand.

use super::{time_or_word, with_interval};
use crate::report::markdown::{Footnotes, Table, code, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::rank::Timing;
use crate::report::{shares, units};
use crate::tables::{Column, Layout, Row};

/// `cores` are the processors of the machine that was measured on.
pub(in crate::report) fn section(matrix: &Matrix, layouts: &[Layout], cores: usize) -> String {
    let mut text = String::new();
    for layout in layouts {
        let table = if layout.functions.is_empty() {
            by_function(matrix, &layout.columns, &layout.rows, cores)
        } else {
            by_executor(matrix, &layout.functions, cores)
        };
        text += &format!("### {}\n\n{}\n\n{table}", escape(&layout.title), layout.text.trim());
    }
    if text.is_empty() { text } else { format!("## Side by side\n\n{text}") }
}

/// A row for each function, ours above what was published.
fn by_function(matrix: &Matrix, columns: &[Column], rows: &[Row], cores: usize) -> String {
    let mut headings = vec!["Benchmark function".to_owned()];
    headings.extend(columns.iter().map(|column| escape(&column.heading)));
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    for row in rows {
        let mut line = vec![heading(row)];
        for (index, column) in columns.iter().enumerate() {
            let ours = cell(matrix, &column.executor, row, cores, &mut notes);
            line.push(match row.published.get(index).filter(|theirs| !theirs.is_empty()) {
                Some(theirs) => format!("{ours}<br>*{}*", escape(theirs)),
                None => ours,
            });
        }
        table.row(&line);
    }
    table.finish() + &notes.finish()
}

/// A row for each executor that was timed for one of the functions.
fn by_executor(matrix: &Matrix, functions: &[Row], cores: usize) -> String {
    let mut headings = vec!["Executor".to_owned()];
    headings.extend(functions.iter().map(heading));
    headings.push("last / first".to_owned());
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    let timing = |executor: &Executor, row: &Row| {
        let fresh = matrix.get(executor, &work(row), row.threads).and_then(Timing::of)?;
        if row.warm { shares::warm(matrix, executor, &work(row)) } else { Some(fresh) }
    };
    for executor in matrix.usable().into_iter().filter(|executor| !matrix.is_twin(executor)) {
        if functions.iter().all(|row| timing(executor, row).is_none()) {
            continue;
        }
        let mut line = vec![code(&executor.name())];
        for row in functions {
            line.push(cell(matrix, &executor.name(), row, cores, &mut notes));
        }
        let ends = functions.first().zip(functions.last());
        let ratio = ends.and_then(|(first, last)| {
            Some(timing(executor, last)?.median / timing(executor, first)?.median)
        });
        line.push(ratio.map_or_else(|| "–".to_owned(), units::times));
        table.row(&line);
    }
    table.finish() + &notes.finish()
}

fn heading(row: &Row) -> String {
    match &row.heading {
        Some(heading) => escape(heading),
        None => escape(&format!("{}_from_{}_on_{}_threads", row.case, row.guest, row.threads)),
    }
}

fn work(row: &Row) -> Work {
    Work { guest: row.guest.clone(), case: row.case.clone() }
}

/// A time, or a word with its reason: no cell stays empty without one.
fn cell(matrix: &Matrix, name: &str, row: &Row, cores: usize, notes: &mut Footnotes) -> String {
    let executor = matrix.executors.iter().find(|executor| executor.name() == name);
    let found = executor.and_then(|executor| matrix.get(executor, &work(row), row.threads));
    if let (Some(cell), Some(executor), true) = (found, executor, row.warm)
        && Timing::of(cell).is_some()
    {
        return match shares::warm(matrix, executor, &work(row)) {
            Some(timing) => with_interval(timing),
            None => format!("–{}", notes.mark("no call on a used instance was timed")),
        };
    }
    if found.is_some() {
        return time_or_word(found, notes, with_interval);
    }
    let reason = if row.threads > cores {
        format!("{} threads on {cores} processors would time the scheduler", row.threads)
    } else if executor.is_none() {
        format!("no record is of {name}: it was not part of the build that was measured")
    } else {
        "this cell was not measured".to_owned()
    };
    format!("–{}", notes.mark(&reason))
}
