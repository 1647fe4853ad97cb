//! Published values beside ours, in the form in which they were published: horizontal bars from
//! zero, a group for each function. Each side has its own axis, because the machines differ.

use super::super::bars::{Bars, Group, Row};
use super::super::frame::Spread;
use super::{Fill, Frame, Matrix, Pick, Work, times};
use crate::markdown::{code, markdown};
use crate::tables::charts::{Charts, ThenAndNow};
use crate::tables::{self, Column, Layout};
use crate::units::count;
use anyhow::{Context, Result};
use touchstone_record::Estimate;

/// A function with the published and our value of each column.
struct Function<'a> {
    of: &'a tables::Row,
    then: Vec<Option<Estimate>>,
    now: Vec<Option<Estimate>>,
}

/// The sentence and the chart; `None` where none of ours was timed.
/// Fails when the table or a column of it is missing.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &ThenAndNow,
    tables: &[Layout],
) -> Result<Pick> {
    let ThenAndNow { name, table: wanted, .. } = chart;
    let table = tables.iter().find(|table| table.name == *wanted);
    let missing = || format!("the chart {name} shows the table {wanted}, which is missing");
    let table = table.with_context(missing)?;
    let find = |heading: &String| {
        let place = table.columns.iter().position(|column| column.heading == *heading);
        let lacks = || format!("the chart {name} shows the column {heading}, which {wanted} lacks");
        let place = place.with_context(lacks)?;
        Ok((place, &table.columns[place]))
    };
    let columns: Vec<(usize, &Column)> = chart.columns.iter().map(find).collect::<Result<_>>()?;
    let is_shown = |of: &&tables::Row| {
        chart.cases.contains_key(&of.case) && chart.guests.contains_key(&of.guest)
    };
    let functions = table.rows.iter().filter(is_shown).map(|of| {
        let published = |place: usize| tables::number(of.published.get(place)?);
        let then = columns.iter().map(|(place, _)| published(*place).map(Estimate::exact));
        let work = Work::from(of);
        let now = columns.iter().map(|(_, own)| matrix.time(&own.executor, &work, of.threads));
        Function { of, then: then.collect(), now: now.collect() }
    });
    let is_timed = |function: &Function<'_>| function.now.iter().any(Option::is_some);
    let functions: Vec<Function<'_>> = functions.filter(is_timed).collect();
    let Some(finding) = finding(chart, &functions) else { return Ok(None) };
    let fill = |(index, (_, column)): (usize, &(usize, &Column))| {
        let engine = &column.executor.engine;
        let before = columns[..index].iter().filter(|(_, own)| own.executor.engine == *engine);
        // Strategies of one engine have its colour in lighter and lighter tones.
        Fill { hue: charts.hue(engine), share: [1.0, 0.6, 0.3][before.count().min(2)] }
    };
    let fills: Vec<Fill> = columns.iter().enumerate().map(fill).collect();
    let bars =
        |values: &[Option<Estimate>]| fills.iter().copied().zip(values.iter().copied()).collect();
    let row = |Function { of, then, now }: &Function<'_>| Row {
        label: format!("{}, {}", chart.cases[&of.case], count(of.threads, "thread")),
        panels: vec![bars(then), bars(now)],
    };
    let group = |own: &[Function<'_>]| Group {
        heading: chart.guests.get(&own[0].of.guest).cloned().unwrap_or_default(),
        rows: own.iter().map(row).collect(),
    };
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
        groups: functions.chunk_by(|a, b| a.of.guest == b.of.guest).map(group).collect(),
    };
    Ok(Some((finding, Box::new(bars))))
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
    functions.iter().find_map(|Function { of, then, now }| {
        let ratio = |values: &[Option<Estimate>]| {
            Some(times((*values.get(subject)?)?.over((*values.get(baseline)?)?)))
        };
        let (then, now) = (ratio(then)?, ratio(now)?);
        Some(format!(
            "{} took {then} as long as {} in {} and takes {now} as long now ({}, {}, {}).",
            code(first),
            code(last),
            markdown(chart.then.split([',', ' ']).next().unwrap_or_default()),
            markdown(chart.cases.get(&of.case)?),
            markdown(&of.guest),
            count(of.threads, "thread"),
        ))
    })
}
