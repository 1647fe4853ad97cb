//! The content of each chart, and the sentence about it.

mod break_even;
mod engines;
mod execution;
mod experiment;
mod ladder;
mod over;
mod then_and_now;
mod threads;

pub(crate) use execution::Overall;
pub(super) use execution::overalls;

use super::frame::Value;
use super::{Drawing, Form};
use crate::matrix::{Matrix, Work};
use crate::pages::Part;
use crate::tables::Layout;
use crate::tables::charts::{ChartWork, Charts};
use crate::units::{self, MARK};
use anyhow::Result;
use touchstone_record::{Executor, Experiment, Metric};

/// Names of the charts of the short page that there is one of each.
const NAMES: [&str; 5] = ["ladder", "engines", "threads", "execution", "break_even"];

/// Charts of [`NAMES`] that stand before those of experiments.
const FIRST: usize = 3;

/// The names of all charts.
pub(super) fn names(charts: &Charts, experiments: &[Experiment]) -> impl Iterator<Item = String> {
    let then = charts.then_and_now.iter().map(|chart| chart.name.clone());
    let experiments = experiments.iter().filter(|own| own.chart.is_some());
    let experiments = experiments.map(|own| own.name.clone());
    NAMES.into_iter().map(str::to_owned).chain(experiments).chain(then)
}

/// Every chart of which there is anything to show, in the order of the page.
pub(super) fn all(matrix: &Matrix<'_>, charts: &Charts, tables: &[Layout]) -> Result<Vec<Drawing>> {
    let shown = [
        charts.ladder.as_ref().and_then(|chart| ladder::pick(matrix, charts, chart)),
        charts.engines.as_ref().and_then(|chart| engines::pick(matrix, charts, chart)),
        charts.threads.as_ref().and_then(|chart| threads::pick(matrix, charts, chart)),
        charts.execution.as_ref().and_then(|chart| execution::pick(matrix, charts, chart)),
        charts.break_even.as_ref().and_then(|chart| break_even::pick(matrix, charts, chart)),
    ];
    let of_summary = |(shown, name): (Option<(String, Form)>, &str)| {
        let (finding, form) = shown?;
        Some(Drawing { name: name.to_owned(), finding, part: None, form })
    };
    let mut shown = shown.into_iter().zip(NAMES);
    let mut drawings: Vec<Drawing> = shown.by_ref().take(FIRST).filter_map(of_summary).collect();
    for own in &matrix.records.experiments {
        let is_of_summary = own.chart.as_ref().is_some_and(|chart| chart.summary);
        let part = (!is_of_summary).then(|| Part::Experiment(own.name.clone()));
        let name = own.name.clone();
        let shown = experiment::pick(matrix, charts, own);
        drawings.extend(shown.map(|(finding, form)| Drawing { name, finding, part, form }));
    }
    drawings.extend(shown.filter_map(of_summary));
    for chart in &charts.then_and_now {
        let shown = then_and_now::pick(matrix, charts, chart, tables)?;
        drawings.extend(of_summary((shown, &chart.name)));
    }
    Ok(drawings)
}

/// The time of a call on a clean instance on one thread, ns.
fn time(matrix: &Matrix<'_>, executor: &Executor, named: &ChartWork) -> Option<Value> {
    matrix.time(executor, &named.into(), 1).map(Value::from)
}

/// The time of a call by the baseline, ns, and what it is called: on an instance that is not made
/// clean, which is the guest's code alone; where that was not timed, the fastest clean call.
fn baseline(matrix: &Matrix<'_>, work: &Work) -> Option<(Value, &'static str)> {
    let own = || matrix.executors.iter().filter(|executor| matrix.is_baseline(&executor.engine));
    let warm = own().find_map(|executor| matrix.metric(executor, work, Metric::WarmCall));
    let clean = || own().filter_map(|executor| matrix.time(executor, work, 1));
    let least = || clean().min_by(|a, b| a.median.total_cmp(&b.median));
    let warm = warm.map(|time| (time.into(), "native code without a clean instance"));
    warm.or_else(|| Some((least()?.into(), "native code on a clean instance")))
}

/// How many times slower the first is than the second, as prose: `39 times slower`.
fn slower(value: Value, than: Value) -> String {
    format!("{} slower", times(value, than))
}

/// A ratio as prose: `39 times`, `1.4 times`.
fn times(value: Value, over: Value) -> String {
    let mark = if value.marked || over.marked { MARK } else { "" };
    format!("{}{mark} times", short(value.median / over.median))
}

/// A ratio in the digits that prose wants: `435`, `39`, `3.6`, `0.29`.
fn short(ratio: f64) -> String {
    match ratio {
        // Digits after the third would only pretend.
        r if r >= 1000.0 => units::factor(r),
        r if r >= 9.95 => format!("{r:.0}"),
        r if r >= 0.995 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}
