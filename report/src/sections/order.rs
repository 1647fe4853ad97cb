//! Ratios of published values that differ from ours, each with its cause from the table's data.

use super::OPERATORS;
use super::tables::{heading, time};
use crate::markdown::code;
use crate::matrix::{Matrix, Work};
use crate::tables::{Cause, Layout, Row, number};
use crate::units::{factor, joined};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use touchstone_executor::Execution;
use touchstone_record::Estimate;

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

/// How many values of a table were published and are here, and how many ratios differ.
pub(super) struct Counts {
    pub(super) published: usize,
    pub(super) differing: usize,
    pub(super) unexplained: usize,
}

/// The counts of a table; `None` without published values.
pub(super) fn counts(matrix: &Matrix<'_>, layout: &Layout) -> Option<Counts> {
    let values = values(matrix, layout);
    let found = found(layout, &values);
    let count =
        |pairs: &IndexMap<[String; 2], Vec<String>>| pairs.values().map(Vec::len).sum::<usize>();
    let unexplained = found.get(&usize::MAX).map_or(0, count);
    let differing = found.values().map(count).sum();
    let published = values.len();
    (published > 0).then_some(Counts { published, differing, unexplained })
}

/// The differences of a table in words; empty without any.
pub(super) fn section(matrix: &Matrix<'_>, layout: &Layout) -> String {
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
