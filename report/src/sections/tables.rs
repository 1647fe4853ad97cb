//! The tables that are laid out by hand, and the ratios of published values that differ from ours,
//! each with its cause from the table's data.

use super::{OPERATORS, function, refused};
use crate::Content;
use crate::markdown::{Footnotes, NOTHING, Table, below, code, in_cell, markdown};
use crate::matrix::{Cell, Executor, Matrix, Work};
use crate::tables::{Cause, Layout, Row, number};
use crate::units::{self, factor, grouped, joined};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use touchstone_executor::Execution;
use touchstone_record::{CellKey, Estimate, Metric};

/// A table with what it shows, its footnotes, and where it differs from what was published.
/// `whole` is `false` where the intervals of its cells stand in the tables of threads on the same
/// page.
pub(crate) fn section(content: &Content<'_>, layout: &Layout, whole: bool) -> String {
    let (matrix, mut notes) = (content.matrix, Footnotes::default());
    let table = table(matrix, layout, |executor, row| {
        if whole {
            return cell(matrix, executor, row, &mut notes);
        }
        let time = time(matrix, executor, row).or_else(|| crowded(matrix, executor, row));
        time.map_or_else(|| NOTHING.to_owned(), |time| units::median(&time))
    });
    let (title, lead) = (markdown(&layout.title), layout.text.trim());
    let medians = if whole { "" } else { "Medians; the intervals are in the tables above.\n\n" };
    let differing = differences(matrix, layout);
    format!("## {title}\n\n{lead}\n\n{medians}{table}{}{differing}", notes.finish())
}

fn is_published(row: &Row) -> bool {
    row.published.iter().any(|text| !text.is_empty())
}

/// `true` if the tables of threads have every cell of a published table.
pub(crate) fn is_among_threads(content: &Content<'_>, layout: &Layout) -> bool {
    let has_threads = |row: &Row| content.matrix.most_threads(&Work::from(row)) > Some(1);
    layout.rows.iter().all(|row| !row.warm && is_published(row) && has_threads(row))
}

/// Tables that were published elsewhere, a row each.
pub(crate) fn documents(content: &Content<'_>) -> String {
    let headings = ["Published values, repeated", "Ratios that differ", "Unexplained", "Details"];
    let mut all = Table::new("Table", headings);
    for layout in &content.tables.layouts {
        let Some(numbers) = counts(content.matrix, layout) else { continue };
        let link = content.link(|page| page.tables.contains(&layout.name));
        let cells = numbers.map(|number| number.to_string()).into_iter().chain([link]);
        all.row(markdown(&layout.title), cells);
    }
    let text = "## Published tables, then and now\n\nThe linked pages have the published values in \
                italics below ours. Ratios within a table can be compared. Times cannot, because \
                machines, versions and guests differ. A ratio differs if the order of two rows or \
                columns is reversed, or if a ratio that should be the same is 1.5 times another.";
    below(text, &all.finish())
}

/// A row for each function, ours above what was published. Functions that are newer than the run
/// are left out.
fn table(
    matrix: &Matrix<'_>,
    layout: &Layout,
    mut print: impl FnMut(&Executor, &Row) -> String,
) -> String {
    let Layout { columns, rows, aside, operators: counted, relative, multiples, .. } = layout;
    let before = [counted.then(|| OPERATORS.to_owned()), aside.as_deref().map(markdown)];
    let headings = columns.iter().map(|column| markdown(&column.heading));
    let mut table = Table::new("Benchmark function", before.into_iter().flatten().chain(headings));
    let is_newer =
        |row: &Row| row.published.is_empty() && matrix.book.work(&row.case, &row.guest).is_none();
    for (down, row) in rows.iter().enumerate().filter(|(_, row)| !is_newer(row)) {
        let before = [
            counted.then(|| matrix.operators(&Work::from(row), row.warm).map(grouped)),
            aside.is_some().then(|| row.aside.as_deref().map(theirs)),
        ];
        let cells = columns.iter().enumerate().map(|(across, column)| {
            let mut text = print(&column.executor, row);
            let base = match (*relative && down > 0, *multiples && across > 0) {
                (true, _) => time(matrix, &column.executor, &rows[0]),
                (_, true) => time(matrix, &columns[0].executor, row),
                _ => None,
            };
            if let Some((own, base)) = time(matrix, &column.executor, row).zip(base) {
                text = format!("**{}**<br>{text}", units::times(&own.over(base)));
            }
            let published = row.published.get(across).filter(|text| !text.is_empty());
            Some(published.iter().fold(text, |text, own| format!("{text}<br>{}", theirs(own))))
        });
        let heading = match row.threads > matrix.book.header.machine.cores {
            true => format!("{}{}", heading(row), label(matrix, row)),
            false => heading(row),
        };
        table.row(heading, before.into_iter().flatten().chain(cells));
    }
    table.finish()
}

/// Published values, one a line.
fn theirs(published: &str) -> String {
    joined(published.lines().map(|line| format!("*{}*", in_cell(line))), "<br>")
}

fn heading(row: &Row) -> String {
    match &row.heading {
        Some(heading) => markdown(heading),
        None => markdown(&function(&row.case, &row.guest, row.threads)),
    }
}

fn time(matrix: &Matrix<'_>, executor: &Executor, row: &Row) -> Option<Estimate> {
    let fresh = matrix.time(executor, &Work::from(row), row.threads)?;
    if row.warm { matrix.metric(executor, &Work::from(row), Metric::WarmCall) } else { Some(fresh) }
}

/// The time of a call on more threads than processors.
fn crowded(matrix: &Matrix<'_>, executor: &Executor, row: &Row) -> Option<Estimate> {
    let cell = executor.cell(&row.case, &row.guest, row.threads);
    matrix.crowded_time(&cell).filter(|_| !row.warm)
}

/// The sharing and the machine of such times, below the heading of their row.
fn label(matrix: &Matrix<'_>, row: &Row) -> String {
    let book = matrix.crowded_book();
    let is_here = |cell: &CellKey| {
        (&cell.case, &cell.guest, cell.threads) == (&row.case, &row.guest, row.threads)
    };
    if !book.cells.keys().any(|cell| is_here(cell) && book.is_crowded(cell)) {
        return String::new();
    }
    let machine = &book.header.machine;
    let sharing = super::threads::sharing(row.threads, machine);
    format!("<br>{sharing} in turns, {}", markdown(&machine.short_cpu()))
}

/// A time, or a word with its reason: no cell stays empty without one.
fn cell(matrix: &Matrix<'_>, executor: &Executor, row: &Row, notes: &mut Footnotes) -> String {
    let cores = matrix.book.header.machine.cores;
    if let Some(time) = crowded(matrix, executor, row) {
        return units::time_with_interval(&time);
    }
    let reason = match matrix.cell(executor, &Work::from(row), row.threads) {
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

/// Two values are in an order when their ratio is at least this.
const APART: f64 = 1.1;

/// Ratios that should agree differ when one is this many times the other.
const FAR: f64 = 1.5;

/// A published value with ours: its function, its column, and its line in the cell.
struct Value<'a> {
    of: &'a Row,
    at: (&'a str, usize),
    theirs: f64,
    ours: Estimate,
}

/// Ratios that differ: by cause, then by the two that are compared.
type Found = BTreeMap<usize, IndexMap<[String; 2], Vec<String>>>;

/// The ratios of a table that differ from the published ones: the order is reversed, or, on
/// another number of threads and against the base of differences, a ratio is far from theirs.
fn found<'a>(layout: &'a Layout, values: &[Value<'a>]) -> Found {
    let is_base = |row: &Row| layout.relative && row.case == layout.rows[0].case;
    // By cause, then by the two that are compared.
    let mut found = Found::new();
    for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
        let differs =
            [a.of.case != b.of.case, a.of.guest != b.of.guest, a.of.threads != b.of.threads];
        let (pair, place) = match differs.iter().filter(|differs| **differs).count() {
            0 if a.at.1 == b.at.1 => ([a.at.0.to_owned(), b.at.0.to_owned()], heading(a.of)),
            1 if a.at == b.at => ([heading(a.of), heading(b.of)], a.at.0.to_owned()),
            _ => continue,
        };
        let (theirs, ours) = (a.theirs / b.theirs, a.ours.over(b.ours));
        let is_reversed = theirs >= APART && ours.median * APART <= 1.0 && ours.ends().1 < 1.0;
        let is_far = (theirs / ours.median).max(ours.median / theirs) >= FAR
            && (is_base(a.of) || is_base(b.of) || differs[2]);
        if theirs <= 1.0 || ours.marked || !(is_reversed || is_far) {
            continue;
        }
        let fits = |Cause { slower, faster, at, .. }: &Cause| {
            let names = [(slower, &pair[0]), (faster, &pair[1]), (at, &place)];
            names.iter().all(|(names, name)| names.is_empty() || names.contains(name))
        };
        let cause = layout.causes.iter().position(fits).unwrap_or(usize::MAX);
        let ratios = format!("{} → {} ({place})", factor(theirs), factor(ours.median));
        found.entry(cause).or_default().entry(pair).or_default().push(ratios);
    }
    found
}

/// How many values of a table were published and are here, how many ratios differ, and how many of
/// those have no cause; `None` without published values.
fn counts(matrix: &Matrix<'_>, layout: &Layout) -> Option<[usize; 3]> {
    let values = values(matrix, layout);
    let found = found(layout, &values);
    let count =
        |pairs: &IndexMap<[String; 2], Vec<String>>| pairs.values().map(Vec::len).sum::<usize>();
    let unexplained = found.get(&usize::MAX).map_or(0, count);
    let differing = found.values().map(count).sum();
    (!values.is_empty()).then_some([values.len(), differing, unexplained])
}

/// The differences of a table in words; empty without any.
fn differences(matrix: &Matrix<'_>, layout: &Layout) -> String {
    let found = found(layout, &values(matrix, layout));
    let line = |(cause, pairs): (usize, IndexMap<[String; 2], Vec<String>>)| {
        let cause = layout.causes.get(cause).map_or("unexplained.", |cause| cause.text.trim());
        let pairs = pairs.iter().map(|(pair, all)| {
            format!("{}: {}", pair.each_ref().map(code).join(" / "), all.join(", "))
        });
        format!("* {}. **Cause:** {}\n", joined(pairs, "; "), cause.replace('\n', " "))
    };
    let lines: String = found.into_iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("Differences, published → here:\n\n{lines}\n") }
}

/// The published values that have one of ours. Those aside belong to the operators of a row or,
/// where a table is relative, to the times of engines that compile.
fn values<'a>(matrix: &Matrix<'_>, layout: &'a Layout) -> Vec<Value<'a>> {
    let aside = |row: &'a Row| row.aside.as_deref().unwrap_or_default();
    // What differences are relative to has none.
    let base = layout.rows.iter().any(|row| aside(row).contains('%')).then_some(1.0);
    let mut values = Vec::new();
    for of in &layout.rows {
        let mut add = |at, theirs: Option<f64>, ours: Option<Estimate>| {
            values.extend(theirs.zip(ours).map(|(theirs, ours)| Value { of, at, theirs, ours }));
        };
        let theirs = aside(of).lines().next().and_then(number).or(base);
        for (index, column) in layout.columns.iter().enumerate() {
            let ours = time(matrix, &column.executor, of);
            let published = of.published.get(index).map_or("", String::as_str);
            for (line, text) in published.lines().enumerate() {
                add((&*column.heading, line), number(text), ours);
            }
            let execution = matrix.execution(&column.executor.engine);
            if layout.relative && execution == Some(Execution::Compiled) {
                add((&*column.heading, 0), theirs, ours);
            }
        }
        let count = matrix.operators(&Work::from(of), of.warm).filter(|_| !layout.relative);
        add((OPERATORS, 0), theirs, count.map(|n| Estimate::exact(n as f64)));
    }
    values
}
