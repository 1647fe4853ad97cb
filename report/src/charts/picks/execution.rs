//! Execution relative to native code, suite by suite.

use super::super::Form;
use super::super::frame::{Frame, Value};
use super::super::heat::{Heat, Row};
use super::super::theme::Fill;
use super::{baseline, short};
use crate::matrix::{Matrix, Work};
use crate::tables::charts::{Charts, Suite, Suites};
use crate::units::{self, MARK};
use touchstone_executor::Execution;
use touchstone_record::escape::code;
use touchstone_record::{Estimate, Executor, Metric};

/// A suite with the means of the engines of the chart.
struct Column<'a> {
    suite: &'a Suite,
    /// How many of its calls all engines made that have a time of any.
    calls: usize,
    /// `true` if one of them was timed only on a clean instance.
    has_clean: bool,
    /// The geometric mean of the times over the baseline's, of each engine.
    means: Vec<Option<Value>>,
}

/// The means over all suites that can be compared.
#[derive(Debug, Default)]
pub(crate) struct Overall {
    /// The suites that every engine ran.
    pub suites: Vec<String>,
    /// Those of them with calls that were timed on a clean instance alone.
    pub clean: Vec<String>,
    /// Of each engine that ran any suite the geometric mean over these suites.
    pub engines: Vec<(String, Estimate)>,
}

/// The sentence and the chart; `None` where nothing was timed.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Suites) -> Option<(String, Form)> {
    let columns = columns(matrix, chart);
    let overall = overall(chart, &columns);
    let rank = |engine: &String| {
        let own = overall.engines.iter().find(|(name, _)| name == engine);
        own.map_or(f64::INFINITY, |(_, mean)| mean.median)
    };
    let mut rows: Vec<Row> = chart
        .engines
        .iter()
        .enumerate()
        .map(|(index, engine)| Row {
            label: engine.clone(),
            fill: Fill::full(charts.hue(engine)),
            cells: columns.iter().map(|column| column.means[index]).collect(),
        })
        .filter(|row| row.cells.iter().any(Option::is_some))
        .collect();
    rows.sort_by(|a, b| rank(&a.label).total_cmp(&rank(&b.label)));
    let finding = finding(matrix, &rows)?;
    let heat = Heat {
        frame: Frame {
            title: chart.title.clone(),
            note: "Geometric mean of times over native code's (1.00 × = native, lower is \
                   better), calls on a used instance where they were timed, 1 thread; only calls \
                   that every engine of the column made."
                .to_owned(),
            ..Frame::default()
        },
        columns: columns
            .iter()
            .map(|column| [column.suite.label.clone(), units::count(column.calls, "call")])
            .collect(),
        rows,
    };
    Some((finding, Form::Heat(heat)))
}

/// The means over the suites that every engine of the chart ran; the same numbers as its rows are
/// ordered by.
pub(in crate::charts) fn overalls(matrix: &Matrix<'_>, chart: &Suites) -> Overall {
    overall(chart, &columns(matrix, chart))
}

/// The means over the suites that every engine ran.
fn overall(chart: &Suites, columns: &[Column<'_>]) -> Overall {
    let has_any = |index: &usize| columns.iter().any(|column| column.means[*index].is_some());
    let shown: Vec<usize> = (0..chart.engines.len()).filter(has_any).collect();
    let is_common = |column: &&Column<'_>| shown.iter().all(|index| column.means[*index].is_some());
    let common: Vec<&Column<'_>> = columns.iter().filter(is_common).collect();
    let engine = |index: &usize| {
        let own: Vec<Value> = common.iter().filter_map(|column| column.means[*index]).collect();
        let median = geometric(own.iter().map(|value| value.median))?;
        let marked = own.iter().any(|value| value.marked);
        Some((chart.engines[*index].clone(), Estimate { median, interval: None, marked }))
    };
    let label = |column: &&Column<'_>| column.suite.label.clone();
    let clean = common.iter().copied().filter(|column| column.has_clean);
    Overall {
        suites: common.iter().map(label).collect(),
        clean: clean.map(|column| column.suite.label.clone()).collect(),
        engines: shown.iter().filter_map(engine).collect(),
    }
}

/// The suites of which anything was timed.
fn columns<'a>(matrix: &Matrix<'_>, chart: &'a Suites) -> Vec<Column<'a>> {
    let columns = chart.suites.iter().map(|suite| column(matrix, &chart.engines, suite));
    columns.filter(|column| column.calls > 0).collect()
}

/// A suite: the calls that all engines with any time in it made, and of each engine the geometric
/// mean of its times over the baseline's.
fn column<'a>(matrix: &Matrix<'_>, engines: &[String], suite: &'a Suite) -> Column<'a> {
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
    if ratios.iter().all(|own| !has_any(&own)) {
        return Column { suite, calls: 0, has_clean: false, means: vec![None; engines.len()] };
    }
    let common: Vec<usize> = (0..works.len())
        .filter(|index| ratios.iter().filter(has_any).all(|own| own[*index].is_some()))
        .collect();
    let mean = |own: &Vec<Option<Value>>| {
        let own: Vec<Value> = common.iter().filter_map(|index| own[*index]).collect();
        let median = geometric(own.iter().map(|value| value.median))?;
        Some(Value { median, marked: own.iter().any(|value| value.marked) })
    };
    let is_clean = |work: &Work| {
        let is_used = |of: &&Executor| matrix.metric(of, work, Metric::WarmCall).is_some();
        !matrix.executors.iter().any(|executor| is_used(&executor))
    };
    Column {
        suite,
        calls: common.len(),
        has_clean: common.iter().any(|index| is_clean(works[*index].0)),
        means: ratios.iter().map(mean).collect(),
    }
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

/// The best engine that compiles and the best that interprets, with their range.
fn finding(matrix: &Matrix<'_>, rows: &[Row]) -> Option<String> {
    let best = |wanted: Execution| {
        rows.iter().find(|row| matrix.execution(&row.label) == Some(wanted)).map(|row| {
            let own = || row.cells.iter().flatten();
            let low = own().map(|value| value.median).fold(f64::INFINITY, f64::min);
            let high = own().map(|value| value.median).fold(0.0, f64::max);
            let mark = if own().any(|value| value.marked) { MARK } else { "" };
            format!("{} to {}{mark} times", short(low), short(high))
                + &format!(" as long as native code with {}", code(&row.label))
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
