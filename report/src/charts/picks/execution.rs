//! Execution relative to native code, suite by suite.

use super::super::heat::{Heat, Row};
use super::{Fill, Frame, Matrix, Pick, Work, baseline, short, used};
use crate::markdown::code;
use crate::tables::charts::{Charts, Suite, Suites};
use crate::units::{self, MARK};
use touchstone_executor::Execution;
use touchstone_record::{Estimate, Metric};

/// A suite with the means of the engines of the chart.
struct Column<'a> {
    suite: &'a Suite,
    /// How many of its calls all engines made that have a time of any.
    calls: usize,
    /// `true` if one of them was timed only on a clean instance.
    has_clean: bool,
    /// The geometric mean of the times over the baseline's, of each engine.
    means: Vec<Option<Estimate>>,
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

impl Overall {
    pub(crate) fn get(&self, engine: &str) -> Option<&Estimate> {
        self.engines.iter().find(|(own, _)| own == engine).map(|(_, mean)| mean)
    }
}

pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Suites) -> Pick {
    let columns = columns(matrix, chart);
    let overall = of_columns(chart, &columns);
    let rank = |row: &Row| overall.get(&row.label).map_or(f64::INFINITY, |mean| mean.median);
    let row = |(index, engine): (usize, &String)| Row {
        label: engine.clone(),
        fill: Fill::full(charts.hue(engine)),
        cells: columns.iter().map(|column| column.means[index]).collect(),
    };
    let mut rows: Vec<Row> = chart.engines.iter().enumerate().map(row).collect();
    rows.retain(|row| row.cells.iter().any(Option::is_some));
    rows.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let finding = finding(matrix, &rows)?;
    let heading = |of: &Column<'_>| [of.suite.label.clone(), units::count(of.calls, "call")];
    let heat = Heat {
        frame: Frame {
            title: chart.title.clone(),
            note: "Geometric mean of times over native code's (1.00 × = native, lower is \
                   better), calls on a used instance where they were timed, 1 thread; only calls \
                   that every engine of the column made."
                .to_owned(),
            ..Frame::default()
        },
        columns: columns.iter().map(heading).collect(),
        rows,
    };
    Some((finding, Box::new(heat)))
}

/// How many times slower than native code each engine executes, over the suites of the chart that
/// all of them ran; the same numbers as its rows are ordered by.
pub(crate) fn overall(matrix: &Matrix<'_>, charts: &Charts) -> Overall {
    let own = charts.execution.as_ref().map(|chart| of_columns(chart, &columns(matrix, chart)));
    own.unwrap_or_default()
}

fn of_columns(chart: &Suites, columns: &[Column<'_>]) -> Overall {
    let has_any = |index: &usize| columns.iter().any(|column| column.means[*index].is_some());
    let shown: Vec<usize> = (0..chart.engines.len()).filter(has_any).collect();
    let is_common = |column: &&Column<'_>| shown.iter().all(|index| column.means[*index].is_some());
    let common = || columns.iter().filter(is_common);
    let engine = |index: &usize| {
        let mean = geometric(common().filter_map(|column| column.means[*index]))?;
        Some((chart.engines[*index].clone(), mean))
    };
    let label = |column: &Column<'_>| column.suite.label.clone();
    Overall {
        suites: common().map(label).collect(),
        clean: common().filter(|column| column.has_clean).map(label).collect(),
        engines: shown.iter().filter_map(engine).collect(),
    }
}

/// The suites with calls that all engines with any time in them made, and of each engine the mean
/// of its times over the baseline's.
fn columns<'a>(matrix: &Matrix<'_>, chart: &'a Suites) -> Vec<Column<'a>> {
    let column = |suite: &'a Suite| {
        let is_wanted = |work: &&Work| {
            suite.guests.contains(&work.guest)
                && (suite.cases.is_empty() || suite.cases.contains(&work.case))
                && !suite.without.contains(&work.case)
        };
        let works = matrix.works.iter().filter(is_wanted);
        let works = works.filter_map(|work| Some((work, baseline(matrix, work)?.0)));
        let works: Vec<(&Work, Estimate)> = works.collect();
        let ratios = |engine: &String| -> Vec<Option<Estimate>> {
            let time = |work| used(matrix, |own| own.engine == *engine, work);
            works.iter().map(|(work, native)| Some(time(work)?.0.over(*native))).collect()
        };
        let ratios: Vec<_> = chart.engines.iter().map(ratios).collect();
        let timed = || ratios.iter().filter(|own| own.iter().any(Option::is_some));
        let is_common = |index: &usize| timed().all(|own| own[*index].is_some());
        let common: Vec<usize> = (0..works.len()).filter(is_common).collect();
        let mean = |own: &Vec<_>| geometric(common.iter().filter_map(|index| own[*index]));
        let is_clean = |index: &usize| {
            let warm = |own| matrix.metric(own, works[*index].0, Metric::WarmCall);
            matrix.executors.iter().all(|own| warm(own).is_none())
        };
        (timed().next().is_some() && !common.is_empty()).then(|| Column {
            suite,
            calls: common.len(),
            has_clean: common.iter().any(is_clean),
            means: ratios.iter().map(mean).collect(),
        })
    };
    chart.suites.iter().filter_map(column).collect()
}

/// The geometric mean, marked where a value is; `None` of nothing.
fn geometric(values: impl Iterator<Item = Estimate>) -> Option<Estimate> {
    let values: Vec<Estimate> = values.collect();
    let sum: f64 = values.iter().map(|value| value.median.ln()).sum();
    let marked = values.iter().any(|value| value.marked);
    let mean = Estimate::exact((sum / values.len() as f64).exp());
    (!values.is_empty()).then_some(Estimate { marked, ..mean })
}

/// The best engine that compiles and the best that interprets, with their range.
fn finding(matrix: &Matrix<'_>, rows: &[Row]) -> Option<String> {
    let best = |wanted: Execution| {
        let row = rows.iter().find(|row| matrix.execution(&row.label) == Some(wanted))?;
        let own = || row.cells.iter().flatten();
        let (low, high) = units::range(own().map(|value| value.median))?;
        let mark = if own().any(|value| value.marked) { MARK } else { "" };
        let (low, high, engine) = (short(low), short(high), code(&row.label));
        Some(format!("{low} to {high}{mark} times as long as native code with {engine}"))
    };
    let compiled = best(Execution::Compiled)
        .map(|text| format!("The fastest engine that compiles takes {text}, suite by suite."));
    let interpreted =
        best(Execution::Interpreted).map(|text| format!("The fastest interpreter takes {text}."));
    let texts: Vec<String> = compiled.into_iter().chain(interpreted).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}
