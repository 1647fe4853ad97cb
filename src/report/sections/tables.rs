//! The tables that are laid out by hand.

use super::{NOTHING, OPERATORS, operators, time_or_word};
use crate::record::{Estimate, Metric};
use crate::report::counts::Counts;
use crate::report::markdown::{Footnotes, Table, code, escape};
use crate::report::matrix::{Cell, Executor, Matrix, Work, quotient};
use crate::report::units;
use crate::tables::{Layout, Row};

pub(in crate::report) fn section(
    matrix: &Matrix<'_>,
    counts: Counts<'_>,
    layouts: &[Layout],
) -> String {
    let mut text = String::new();
    for layout in layouts {
        let table = if layout.functions.is_empty() {
            by_function(matrix, counts, layout)
        } else {
            by_executor(matrix, counts, layout)
        };
        text += &format!("### {}\n\n{}\n\n{table}", escape(&layout.title), layout.text.trim());
    }
    if text.is_empty() { text } else { format!("## Side by side\n\n{text}") }
}

/// A row for each function, ours above what was published.
fn by_function(matrix: &Matrix<'_>, counts: Counts<'_>, layout: &Layout) -> String {
    let Layout { columns, rows, aside, operators: counted, multiples, .. } = layout;
    let mut headings = vec!["Benchmark function".to_owned()];
    headings.extend(counted.then(|| OPERATORS.to_owned()));
    headings.extend(aside.as_deref().map(escape));
    headings.extend(columns.iter().map(|column| escape(&column.heading)));
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    for row in rows {
        let mut line = vec![heading(row)];
        line.extend(counted.then(|| operators(counts.operators(matrix, &work(row), row.warm))));
        line.extend(aside.is_some().then(|| theirs(row.aside.as_deref())));
        for (index, column) in columns.iter().enumerate() {
            let mut ours = cell(matrix, &column.executor, row, &mut notes);
            let first = columns.first().filter(|_| *multiples && index > 0);
            let time = |executor| time(matrix, executor, row);
            let multiple = first
                .and_then(|first| Some(quotient(time(&column.executor)?, time(&first.executor)?)));
            if let Some(multiple) = multiple {
                ours = format!("**{}**<br>{ours}", units::times(&multiple));
            }
            line.push(match row.published.get(index).filter(|theirs| !theirs.is_empty()) {
                Some(theirs) => format!("{ours}<br>*{}*", escape(theirs)),
                None => ours,
            });
        }
        table.row(&line);
    }
    table.finish() + &notes.finish()
}

/// What others published, or a dash.
fn theirs(published: Option<&str>) -> String {
    published.map_or_else(|| NOTHING.to_owned(), |text| format!("*{}*", escape(text)))
}

/// A row for each executor that was timed for one of the functions, below the counts
/// and what was published.
fn by_executor(matrix: &Matrix<'_>, counts: Counts<'_>, layout: &Layout) -> String {
    let Layout { functions, aside, operators: counted, relative, .. } = layout;
    let mut headings = vec!["Executor".to_owned()];
    headings.extend(functions.iter().map(heading));
    headings.extend((!relative).then(|| "last / first".to_owned()));
    let mut table = Table::new(&headings);
    let mut notes = Footnotes::default();
    if let Some(name) = aside {
        let mut line = vec![format!("*{}*", escape(name))];
        line.extend(functions.iter().map(|row| theirs(row.aside.as_deref())));
        table.row(&line);
    }
    if *counted {
        let mut line = vec![OPERATORS.to_owned()];
        let count = |row: &Row| operators(counts.operators(matrix, &work(row), row.warm));
        line.extend(functions.iter().map(count));
        table.row(&line);
    }
    let ratio = |executor: &Executor, row: Option<&Row>, first: Option<&Row>| {
        Some(quotient(time(matrix, executor, row?)?, time(matrix, executor, first?)?))
    };
    for executor in matrix.executors.iter().filter(|e| !e.strategy.is_precompiled()) {
        if functions.iter().all(|row| time(matrix, executor, row).is_none()) {
            continue;
        }
        let mut line = vec![code(&executor.to_string())];
        for (index, row) in functions.iter().enumerate() {
            let ours = cell(matrix, executor, row, &mut notes);
            line.push(match ratio(executor, Some(row), functions.first()) {
                Some(ratio) if *relative && index > 0 => {
                    let difference = format!("{:+.0} %", (ratio.median - 1.0) * 100.0);
                    format!("{}<br>{ours}", units::marked(difference, ratio.marked))
                }
                _ => ours,
            });
        }
        if !relative {
            let ends = ratio(executor, functions.last(), functions.first());
            line.push(ends.as_ref().map_or_else(|| NOTHING.to_owned(), units::times));
        }
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
        refused @ Cell::Refused(_) => return time_or_word(refused, notes),
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
