//! Published values beside ours, in the form in which they were published: horizontal bars from
//! zero, a group for each function. Each side has its own axis, because the machines differ.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use crate::matrix::{Matrix, Work};
use crate::tables::charts::{Charts, ThenAndNow};
use crate::tables::{self, Layout};
use crate::units;
use anyhow::{Context, Result};
use touchstone_record::escape::{code, markdown};

/// A function with the published and our value of each column.
struct Function<'a> {
    of: &'a tables::Row,
    then: Vec<Option<Value>>,
    now: Vec<Option<Value>>,
}

/// The sentence and the chart; `None` where none of ours was timed.
///
/// # Errors
///
/// When the table or a column of it is missing.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &ThenAndNow,
    tables: &[Layout],
) -> Result<Option<(String, Form)>> {
    let table = tables.iter().find(|table| table.name == chart.table);
    let table = table.with_context(|| {
        format!("the chart {} shows the table {}, which is missing", chart.name, chart.table)
    })?;
    let find = |heading: &String| {
        let place = table.columns.iter().position(|column| column.heading == *heading);
        place.with_context(|| {
            format!(
                "the chart {} shows the column {heading}, which {} lacks",
                chart.name, chart.table
            )
        })
    };
    let columns: Vec<usize> = chart.columns.iter().map(find).collect::<Result<_>>()?;
    Ok(drawn(matrix, charts, chart, table, &columns))
}

fn drawn(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &ThenAndNow,
    table: &Layout,
    columns: &[usize],
) -> Option<(String, Form)> {
    let functions: Vec<Function<'_>> =
        table.rows.iter().filter_map(|row| function(matrix, chart, table, columns, row)).collect();
    let shares = |index: usize| {
        let engine = |column: &usize| &table.columns[*column].executor.engine;
        let own = columns[..index].iter().filter(|other| engine(other) == engine(&columns[index]));
        // Strategies of one engine have its colour in lighter and lighter tones.
        [1.0, 0.6, 0.3][own.count().min(2)]
    };
    let fills: Vec<Fill> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| Fill {
            hue: charts.hue(&table.columns[*column].executor.engine),
            share: shares(index),
        })
        .collect();
    let bars =
        |values: &[Option<Value>]| fills.iter().copied().zip(values.iter().copied()).collect();
    let row = |function: &Function<'_>| Row {
        label: format!(
            "{}, {}",
            chart.cases[&function.of.case],
            units::count(function.of.threads, "thread")
        ),
        panels: vec![bars(&function.then), bars(&function.now)],
    };
    let group = |own: &[Function<'_>]| Group {
        heading: chart.guests.get(&own[0].of.guest).cloned().unwrap_or_default(),
        rows: own.iter().map(row).collect(),
    };
    let groups = functions.chunk_by(|a, b| a.of.guest == b.of.guest).map(group);
    let bars = Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Time of one call on a clean instance".to_owned(),
            legend: fills.iter().copied().zip(chart.columns.iter().cloned()).collect(),
            note: "Compare bars within a panel, not across: machine, versions and guests differ."
                .to_owned(),
        },
        spread: Spread::Linear,
        panels: vec![
            format!("Then: {}", chart.then),
            format!("Now: {}", matrix.book.header.machine.short_cpu()),
        ],
        groups: groups.collect(),
    };
    let finding = finding(chart, &functions)?;
    (bars.rows() > 0).then_some((finding, Form::Bars(bars)))
}

/// A function of the table; `None` where it is not of the chart or none of ours was timed.
fn function<'a>(
    matrix: &Matrix<'_>,
    chart: &ThenAndNow,
    table: &Layout,
    columns: &[usize],
    of: &'a tables::Row,
) -> Option<Function<'a>> {
    if !chart.cases.contains_key(&of.case) || !chart.guests.contains_key(&of.guest) {
        return None;
    }
    let work = Work::from(of);
    let published = |column: &usize| {
        let median = tables::number(of.published.get(*column)?)?;
        Some(Value { median, marked: false })
    };
    let ours = |column: &usize| {
        let executor = &table.columns[*column].executor;
        matrix.time(executor, &work, of.threads).map(Value::from)
    };
    let then: Vec<Option<Value>> = columns.iter().map(published).collect();
    let now: Vec<Option<Value>> = columns.iter().map(ours).collect();
    now.iter().any(Option::is_some).then_some(Function { of, then, now })
}

/// How many times slower the first compared column is than the second, then and now, for the
/// first function that has all four values.
fn finding(chart: &ThenAndNow, functions: &[Function<'_>]) -> Option<String> {
    let (first, last) = match &chart.compared {
        Some([first, last]) => (first, last),
        None => (chart.columns.first()?, chart.columns.last()?),
    };
    let place = |heading| chart.columns.iter().position(|column| column == heading);
    let (subject, baseline) = (place(first)?, place(last)?);
    functions.iter().find_map(|function| {
        let ratio = |values: &[Option<Value>]| {
            let (subject, baseline) = ((*values.get(subject)?)?, (*values.get(baseline)?)?);
            Some(super::times(subject, baseline))
        };
        let (then, now) = (ratio(&function.then)?, ratio(&function.now)?);
        Some(format!(
            "{} took {then} as long as {} in {} and takes {now} as long now ({}, {}, \
             {}).",
            code(first),
            code(last),
            markdown(chart.then.split([',', ' ']).next().unwrap_or_default()),
            markdown(chart.cases.get(&function.of.case)?),
            markdown(&function.of.guest),
            units::count(function.of.threads, "thread"),
        ))
    })
}
