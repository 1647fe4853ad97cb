//! The tables that are laid out by hand.

use super::{OPERATORS, operators, time_or_word, with_interval};
use crate::report::counts::Counts;
use crate::report::markdown::{Footnotes, Table, code, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::rank::Timing;
use crate::report::{shares, units};
use crate::tables::{Layout, Row};

/// `cores` are the processors of the machine that was measured on.
pub(in crate::report) fn section(
    matrix: &Matrix,
    counts: &Counts,
    layouts: &[Layout],
    cores: usize,
) -> String {
    let mut text = String::new();
    for layout in layouts {
        let table = if layout.functions.is_empty() {
            by_function(matrix, counts, layout, cores)
        } else {
            by_executor(matrix, counts, layout, cores)
        };
        text += &format!("### {}\n\n{}\n\n{table}", escape(&layout.title), layout.text.trim());
    }
    if text.is_empty() { text } else { format!("## Side by side\n\n{text}") }
}

/// A row for each function, ours above what was published.
fn by_function(matrix: &Matrix, counts: &Counts, layout: &Layout, cores: usize) -> String {
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
            let mut ours = cell(matrix, &column.executor, row, cores, &mut notes);
            let first = columns.first().filter(|_| *multiples && index > 0);
            let time = |name: &str| median(matrix, find(matrix, name)?, row);
            let multiple =
                first.and_then(|first| Some(time(&column.executor)? / time(&first.executor)?));
            if let Some(multiple) = multiple {
                ours = format!("**{}**<br>{ours}", units::times(multiple));
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
    published.map_or_else(|| "–".to_owned(), |text| format!("*{}*", escape(text)))
}

/// A row for each executor that was timed for one of the functions, below the counts
/// and what was published.
fn by_executor(matrix: &Matrix, counts: &Counts, layout: &Layout, cores: usize) -> String {
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
    let timing = |executor: &Executor, row: &Row| median(matrix, executor, row);
    let ratio = |executor: &Executor, row: Option<&Row>, first: Option<&Row>| {
        Some(timing(executor, row?)? / timing(executor, first?)?)
    };
    for executor in matrix.usable().into_iter().filter(|executor| !matrix.is_twin(executor)) {
        if functions.iter().all(|row| timing(executor, row).is_none()) {
            continue;
        }
        let mut line = vec![code(&executor.name())];
        for (index, row) in functions.iter().enumerate() {
            let ours = cell(matrix, &executor.name(), row, cores, &mut notes);
            line.push(match ratio(executor, Some(row), functions.first()) {
                Some(ratio) if *relative && index > 0 => {
                    format!("{:+.0} %<br>{ours}", (ratio - 1.0) * 100.0)
                }
                _ => ours,
            });
        }
        if !relative {
            let ends = ratio(executor, functions.last(), functions.first());
            line.push(ends.map_or_else(|| "–".to_owned(), units::times));
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

fn find<'a>(matrix: &'a Matrix, name: &str) -> Option<&'a Executor> {
    matrix.executors.iter().find(|executor| executor.name() == name)
}

fn work(row: &Row) -> Work {
    Work { guest: row.guest.clone(), case: row.case.clone() }
}

/// The median time of a call, if it was timed.
fn median(matrix: &Matrix, executor: &Executor, row: &Row) -> Option<f64> {
    let fresh = matrix.time(executor, &work(row), row.threads)?;
    let timing = if row.warm { shares::warm(matrix, executor, &work(row))? } else { fresh };
    Some(timing.median)
}

/// A time, or a word with its reason: no cell stays empty without one.
fn cell(matrix: &Matrix, name: &str, row: &Row, cores: usize, notes: &mut Footnotes) -> String {
    let executor = find(matrix, name);
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
