//! Execution relative to native code, suite by suite.

use super::super::Form;
use super::super::frame::{Frame, Value};
use super::super::heat::{Heat, Row};
use super::super::theme::Fill;
use super::{baseline, short};
use crate::record::{Estimate, Executor, Metric};
use crate::report::matrix::{Matrix, Work};
use crate::report::units::{self, MARK};
use crate::tables::charts::{Charts, Suite, Suites};
use touchstone_executor::Execution;

/// The sentence and the chart; `None` where nothing was timed.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Suites) -> Option<(String, Form)> {
    let means: Vec<(&Suite, usize, Vec<Option<Value>>)> = chart
        .suites
        .iter()
        .map(|suite| {
            let (cases, means) = means(matrix, &chart.engines, suite);
            (suite, cases, means)
        })
        .filter(|(_, cases, _)| *cases > 0)
        .collect();
    let mut rows: Vec<Row> = chart
        .engines
        .iter()
        .enumerate()
        .map(|(index, engine)| Row {
            label: engine.clone(),
            fill: Fill::full(charts.hue(engine)),
            cells: means.iter().map(|(_, _, values)| values[index]).collect(),
        })
        .filter(|row| row.cells.iter().any(Option::is_some))
        .collect();
    rows.sort_by(|a, b| overall(a).total_cmp(&overall(b)));
    let finding = finding(matrix, &rows)?;
    let heat = Heat {
        frame: Frame {
            title: chart.title.clone(),
            axis: String::new(),
            legend: Vec::new(),
            note: "Geometric mean of times over native code's (1.00 × = native, lower is \
                   better), calls on a used instance where they were timed, 1 thread; only calls \
                   that every engine of the column made."
                .to_owned(),
        },
        columns: means
            .iter()
            .map(|(suite, cases, _)| [suite.label.clone(), units::count(*cases, "call")])
            .collect(),
        rows,
    };
    Some((finding, Form::Heat(heat)))
}

/// Of each engine of the chart the geometric mean over the suites; the same number as the rows
/// are ordered by.
pub(in crate::report::charts) fn overalls(
    matrix: &Matrix<'_>,
    chart: &Suites,
) -> Vec<(String, Estimate)> {
    let suites: Vec<Vec<Option<Value>>> =
        chart.suites.iter().map(|suite| means(matrix, &chart.engines, suite).1).collect();
    let overall = |(index, engine): (usize, &String)| {
        let own: Vec<Value> = suites.iter().filter_map(|values| values[index]).collect();
        let median = geometric(own.iter().map(|value| value.median))?;
        let marked = own.iter().any(|value| value.marked);
        Some((engine.clone(), Estimate { median, interval: None, marked }))
    };
    chart.engines.iter().enumerate().filter_map(overall).collect()
}

/// How many calls a suite has that all engines with any time in it made, and of each engine the
/// geometric mean of its times over the baseline's.
fn means(matrix: &Matrix<'_>, engines: &[String], suite: &Suite) -> (usize, Vec<Option<Value>>) {
    let is_wanted = |work: &&Work| {
        suite.guests.contains(&work.guest)
            && (suite.cases.is_empty() || suite.cases.contains(&work.case))
            && !suite.without.contains(&work.case)
    };
    let works: Vec<(&Work, Value)> = matrix
        .works
        .iter()
        .filter(is_wanted)
        .filter_map(|work| Some((work, baseline(matrix, work)?.0)))
        .collect();
    let ratios: Vec<Vec<Option<Value>>> = engines
        .iter()
        .map(|engine| {
            let ratio = |(work, native): &(&Work, Value)| {
                let time = used(matrix, engine, work)?;
                let marked = time.marked || native.marked;
                Some(Value { median: time.median / native.median, marked })
            };
            works.iter().map(ratio).collect()
        })
        .collect();
    let has_any = |own: &&Vec<Option<Value>>| own.iter().any(Option::is_some);
    let common: Vec<usize> = (0..works.len())
        .filter(|index| ratios.iter().filter(has_any).all(|own| own[*index].is_some()))
        .collect();
    if ratios.iter().all(|own| !has_any(&own)) {
        return (0, vec![None; engines.len()]);
    }
    let mean = |own: &Vec<Option<Value>>| {
        let own: Vec<Value> = common.iter().filter_map(|index| own[*index]).collect();
        let median = geometric(own.iter().map(|value| value.median))?;
        Some(Value { median, marked: own.iter().any(|value| value.marked) })
    };
    (common.len(), ratios.iter().map(mean).collect())
}

/// The geometric mean; `None` of nothing.
fn geometric(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}

/// The time of a call by an engine, ns: on a used instance where that was timed.
fn used(matrix: &Matrix<'_>, engine: &str, work: &Work) -> Option<Value> {
    let own = || matrix.executors.iter().filter(|executor| executor.engine == engine);
    let clean = |executor: &Executor| matrix.time(executor, work, 1);
    let warm = |executor: &Executor| {
        clean(executor).and_then(|_| matrix.metric(executor, work, Metric::WarmCall))
    };
    let least = || own().filter_map(clean).min_by(|a, b| a.median.total_cmp(&b.median));
    own().find_map(warm).or_else(least).map(Value::from)
}

/// The geometric mean of a row.
fn overall(row: &Row) -> f64 {
    geometric(row.cells.iter().flatten().map(|value| value.median)).unwrap_or(f64::INFINITY)
}

/// The best engine that compiles and the best that interprets, with their range.
fn finding(matrix: &Matrix<'_>, rows: &[Row]) -> Option<String> {
    let best = |wanted: Execution| {
        rows.iter().find(|row| matrix.execution(&row.label) == Some(wanted)).map(|row| {
            let own = || row.cells.iter().flatten();
            let low = own().map(|value| value.median).fold(f64::INFINITY, f64::min);
            let high = own().map(|value| value.median).fold(0.0, f64::max);
            let mark = if own().any(|value| value.marked) { MARK } else { "" };
            format!("{} to {}{mark} times", short(low), short(high))
                + &format!(" as long as native code with `{}`", row.label)
        })
    };
    let texts = [
        best(Execution::Compiled)
            .map(|text| format!("The fastest engine that compiles takes {text}, suite by suite.")),
        best(Execution::Interpreted).map(|text| format!("The fastest interpreter takes {text}.")),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}
