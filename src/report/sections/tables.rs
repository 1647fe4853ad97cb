//! The tables that are laid out by hand.

use super::{OPERATORS, function, refused};
use crate::record::{Estimate, Metric};
use crate::report::markdown::{Footnotes, NOTHING, Table, code, escape};
use crate::report::matrix::{Cell, Executor, Matrix, Work};
use crate::report::units::{self, grouped};
use crate::tables::{Layout, Row};

pub(in crate::report) fn section(matrix: &Matrix<'_>, layouts: &[Layout]) -> String {
    let mut text = String::new();
    for layout in layouts {
        let mut notes = Footnotes::default();
        let table = match layout.functions.as_slice() {
            [] => by_function(matrix, layout, &mut notes),
            [first, .., last] => by_executor(matrix, layout, [first, last], &mut notes),
            [_] => String::new(),
        };
        let (title, lead) = (escape(&layout.title), layout.text.trim());
        text += &format!("### {title}\n\n{lead}\n\n{table}{}", notes.finish());
    }
    if text.is_empty() { text } else { format!("## Side by side\n\n{text}") }
}

/// A row for each function, ours above what was published.
fn by_function(matrix: &Matrix<'_>, layout: &Layout, notes: &mut Footnotes) -> String {
    let Layout { columns, rows, aside, operators: counted, multiples, .. } = layout;
    let before = [counted.then(|| OPERATORS.to_owned()), aside.as_deref().map(escape)];
    let headings = columns.iter().map(|column| escape(&column.heading));
    let mut table = Table::new("Benchmark function", before.into_iter().flatten().chain(headings));
    for row in rows {
        let before = [
            counted.then(|| operators(matrix, row)),
            aside.is_some().then(|| row.aside.as_deref().map(theirs)),
        ];
        let published = row.published.iter().map(Some).chain(std::iter::repeat(None));
        let cells =
            columns.iter().zip(published).enumerate().map(|(index, (column, published))| {
                let mut text = cell(matrix, &column.executor, row, notes);
                let first = columns.first().filter(|_| *multiples && index > 0);
                let time = |executor| time(matrix, executor, row);
                let multiple = first
                    .and_then(|first| Some(time(&column.executor)?.over(time(&first.executor)?)));
                if let Some(multiple) = multiple {
                    text = format!("**{}**<br>{text}", units::times(&multiple));
                }
                if let Some(published) = published.filter(|text| !text.is_empty()) {
                    text = format!("{text}<br>{}", theirs(published));
                }
                Some(text)
            });
        table.row(heading(row), before.into_iter().flatten().chain(cells));
    }
    table.finish()
}

/// What others published.
fn theirs(published: &str) -> String {
    format!("*{}*", escape(published))
}

/// The operators that a function executes, if they were counted.
fn operators(matrix: &Matrix<'_>, row: &Row) -> Option<String> {
    matrix.operators(&work(row), row.warm).map(grouped)
}

/// A row for each executor that was timed for one of the functions, below the counts
/// and what was published.
fn by_executor(
    matrix: &Matrix<'_>,
    layout: &Layout,
    [first, last]: [&Row; 2],
    notes: &mut Footnotes,
) -> String {
    let Layout { functions, aside, operators: counted, relative, .. } = layout;
    let end = (!relative).then(|| "last / first".to_owned());
    let mut table = Table::new("Executor", functions.iter().map(heading).chain(end));
    // The last column of rows without a ratio is empty.
    let end = || (!relative).then(|| Some(String::new()));
    if let Some(name) = aside {
        let published = functions.iter().map(|row| row.aside.as_deref().map(theirs));
        table.row(theirs(name), published.chain(end()));
    }
    if *counted {
        let counts = functions.iter().map(|row| operators(matrix, row));
        table.row(OPERATORS, counts.chain(end()));
    }
    for executor in matrix.executors.iter().filter(|e| !e.strategy.is_precompiled()) {
        let time = |row: &Row| time(matrix, executor, row);
        if functions.iter().all(|row| time(row).is_none()) {
            continue;
        }
        let ratio = |row: &Row| Some(time(row)?.over(time(first)?));
        let cells = functions.iter().enumerate().map(|(index, row)| {
            let ours = cell(matrix, executor, row, notes);
            Some(match ratio(row).filter(|_| *relative && index > 0) {
                Some(ratio) => {
                    let difference = format!("{:+.0} %", (ratio.median - 1.0) * 100.0);
                    format!("{}<br>{ours}", units::marked(difference, ratio.marked))
                }
                None => ours,
            })
        });
        let end = (!relative).then(|| ratio(last).as_ref().map(units::times));
        table.row(code(executor), cells.chain(end));
    }
    table.finish()
}

fn heading(row: &Row) -> String {
    match &row.heading {
        Some(heading) => escape(heading),
        None => escape(&function(&row.case, &row.guest, row.threads)),
    }
}

fn work(row: &Row) -> Work {
    Work { guest: row.guest.clone(), case: row.case.clone() }
}

/// The time of a call, if it was timed.
fn time(matrix: &Matrix<'_>, executor: &Executor, row: &Row) -> Option<Estimate> {
    let fresh = matrix.time(executor, &work(row), row.threads)?;
    if row.warm { matrix.metric(executor, &work(row), Metric::WarmCall) } else { Some(fresh) }
}

/// A time, or a word with its reason: no cell stays empty without one.
fn cell(matrix: &Matrix<'_>, executor: &Executor, row: &Row, notes: &mut Footnotes) -> String {
    let cores = matrix.book.header.machine.cores;
    let reason = match matrix.cell(executor, &work(row), row.threads) {
        Cell::Timed(_) => match time(matrix, executor, row) {
            Some(time) => return units::time_with_interval(&time),
            None => "no call on a used instance was timed".to_owned(),
        },
        Cell::Refused(refusal) => return refused(refusal, notes),
        Cell::Absent if row.threads > cores => {
            format!("{} threads on {cores} processors would time the scheduler", row.threads)
        }
        Cell::Absent if !matrix.book.header.engines.contains_key(&executor.engine) => {
            format!("{} was not part of the build that was measured", executor.engine)
        }
        Cell::Absent => "this cell was not measured".to_owned(),
    };
    format!("{NOTHING}{}", notes.mark(&reason))
}
