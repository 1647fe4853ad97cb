//! The content of each chart, and the sentence about it.

mod break_even;
mod calls;
mod execution;
mod experiment;
mod then_and_now;

pub(crate) use execution::{Overall, overall};

use super::Form;
use super::frame::Frame;
use super::theme::Fill;
use crate::matrix::{Matrix, Work};
use crate::pages::Part;
use crate::tables::Layout;
use crate::tables::charts::{Charts, Hue};
use crate::units;
use anyhow::Result;
use touchstone_record::{Estimate, Executor, Metric};

/// The sentence and the chart; `None` where nothing was timed.
pub(super) type Pick = Option<(String, Box<dyn Form>)>;

/// The name of a chart, the part of a detailed page that it stands in, and its content.
pub(super) type Drawing = (String, Option<Part>, Pick);

const CLEAN_CALL: &str = "Time of one call on a clean instance, median, 1 thread; logarithmic axis";

pub(super) fn all(matrix: &Matrix<'_>, charts: &Charts, tables: &[Layout]) -> Result<Vec<Drawing>> {
    let of_summary = |name: &str, pick: Pick| (name.to_owned(), None, pick);
    let Charts { ladder, engines, threads, execution, break_even, .. } = charts;
    let ladder = ladder.as_ref().and_then(|own| calls::ladder(matrix, charts, own));
    let engines = engines.as_ref().and_then(|own| calls::engines(matrix, charts, own));
    let threads = threads.as_ref().and_then(|own| calls::threads(matrix, charts, own));
    let execution = execution.as_ref().and_then(|own| execution::pick(matrix, charts, own));
    let even = break_even.as_ref().and_then(|own| break_even::pick(matrix, own));
    let calls = [("ladder", ladder), ("engines", engines), ("threads", threads)];
    let mut all = Vec::from(calls.map(|(name, pick)| of_summary(name, pick)));
    for own in &matrix.records.experiments {
        if let Some(chart) = &own.chart {
            let part = (!chart.summary).then(|| Part::Experiment(own.name.clone()));
            all.push((own.name.clone(), part, experiment::pick(matrix, charts, own)));
        }
    }
    all.extend([of_summary("execution", execution), of_summary("break_even", even)]);
    for chart in &charts.then_and_now {
        all.push(of_summary(&chart.name, then_and_now::pick(matrix, charts, chart, tables)?));
    }
    Ok(all)
}

/// The meaning of full and half colours.
fn owners(hue: Hue) -> Vec<(Fill, String)> {
    vec![
        (Fill::full(hue), "Touchstone's strategy".to_owned()),
        (Fill::half(hue), "the runtime's own".to_owned()),
    ]
}

/// The time of a call, ns, by the executors that pass `is_own`: on a used instance (`true`), or
/// that of the fastest clean call where that was not timed.
fn used(
    matrix: &Matrix<'_>,
    is_own: impl Fn(&Executor) -> bool,
    work: &Work,
) -> Option<(Estimate, bool)> {
    let clean = |own: &&Executor| matrix.time(own, work, 1).filter(|_| is_own(own));
    let own = || matrix.executors.iter().filter(|own| clean(own).is_some());
    let warm = own().find_map(|own| matrix.metric(own, work, Metric::WarmCall));
    let least = own().filter_map(|own| clean(&own)).min_by(|a, b| a.median.total_cmp(&b.median));
    Some((warm.or(least)?, warm.is_some()))
}

/// The [time](used) of a call by the baseline, ns.
fn baseline(matrix: &Matrix<'_>, work: &Work) -> Option<(Estimate, bool)> {
    used(matrix, |executor| matrix.is_baseline(&executor.engine), work)
}

/// How many times slower the first is than the second, as prose: `39 times slower`.
fn slower(value: Estimate, than: Estimate) -> String {
    format!("{} slower", times(value.over(than)))
}

/// A ratio as prose: `39 times`, `1.4 times`.
fn times(ratio: Estimate) -> String {
    format!("{} times", units::marked(short(ratio.median), ratio.marked))
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
