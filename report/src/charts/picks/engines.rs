//! Engines on one work: the runtime's best strategy and Touchstone's, native code as a line.

use super::super::Form;
use super::super::dumbbells::{Dumbbells, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use super::{baseline, ladder, slower, times};
use crate::matrix::{Matrix, Work};
use crate::rank::fastest;
use crate::tables::charts::{Charts, Engines, Hue};
use indexmap::IndexMap;
use touchstone_record::Executor;
use touchstone_record::escape::{code, markdown};

/// The fastest executors of an engine.
struct Best<'a> {
    engine: &'a str,
    /// With a strategy of Touchstone's.
    ours: Option<(&'a Executor, Value)>,
    /// With one of the runtime's own.
    own: Option<(&'a Executor, Value)>,
}

impl Best<'_> {
    fn least(&self) -> f64 {
        let both = self.ours.iter().chain(&self.own);
        both.map(|best| best.1.median).fold(f64::INFINITY, f64::min)
    }
}

/// The sentence and the chart; `None` where nothing was timed.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &Engines,
) -> Option<(String, Form)> {
    let mut rows: Vec<Best<'_>> =
        chart.engines.iter().filter_map(|engine| best(matrix, chart, engine)).collect();
    rows.sort_by(|a, b| a.least().total_cmp(&b.least()));
    let native = baseline(matrix, &(&chart.work).into());
    let row = |best: &Best<'_>| {
        let hue = charts.hue(best.engine);
        let ours = best.ours.map(|(_, value)| (Fill::full(hue), value));
        let own = best.own.map(|(_, value)| (Fill::half(hue), value));
        Row {
            label: best.engine.to_owned(),
            ends: ours.into_iter().chain(own).collect(),
            text: best.own.map_or_else(String::new, |(of, _)| of.strategy.to_string()),
        }
    };
    let dumbbells = Dumbbells {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Time of one call on a clean instance, median, 1 thread; logarithmic axis"
                .to_owned(),
            legend: ladder::owners(Hue::Grey),
            note: strategies(&rows),
        },
        rows: rows.iter().map(row).collect(),
        line: native.map(|(native, name)| (native, format!("{name}: {}", native.time()))),
        heading: "the runtime's own strategy".to_owned(),
    };
    let finding = finding(chart, &rows, native)?;
    Some((finding, Form::Dumbbells(dumbbells)))
}

/// Which of Touchstone's strategies is the fastest where, the most frequent one first.
fn strategies(rows: &[Best<'_>]) -> String {
    let mut of: IndexMap<String, Vec<&str>> = IndexMap::new();
    for (executor, _) in rows.iter().filter_map(|best| best.ours) {
        of.entry(executor.strategy.to_string()).or_default().push(&executor.engine);
    }
    of.sort_by(|_, a, _, b| b.len().cmp(&a.len()));
    let others = of.iter().skip(1);
    let others =
        others.map(|(strategy, engines)| format!("{strategy} with {}", engines.join(", ")));
    let texts: Vec<String> = of.keys().take(1).cloned().chain(others).collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!("Touchstone's strategy: {}.", texts.join("; "))
    }
}

/// The fastest executors of an engine; `None` where it has no time.
fn best<'a>(matrix: &'a Matrix<'_>, chart: &Engines, engine: &'a str) -> Option<Best<'a>> {
    let wanted = Work::from(&chart.work);
    let best_of = |is_native: bool| {
        let is_own = |executor: &Executor| {
            executor.engine == engine && matrix.is_native(executor) == is_native
        };
        let (executor, time) = fastest(matrix, &wanted, is_own)?;
        Some((executor, Value::from(time)))
    };
    let best = Best { engine, ours: best_of(false), own: best_of(true) };
    best.least().is_finite().then_some(best)
}

/// The fastest of Touchstone's strategies against the fastest of the runtimes' own, and
/// against native code.
fn finding(chart: &Engines, rows: &[Best<'_>], native: Option<(Value, &str)>) -> Option<String> {
    let least = |of: fn(&Best<'_>) -> Option<(String, Value)>| {
        rows.iter().filter_map(of).min_by(|a, b| a.1.median.total_cmp(&b.1.median))
    };
    let ours = least(|best| best.ours.map(|(of, value)| (code(of), value)));
    let own = least(|best| best.own.map(|(of, value)| (code(of), value)));
    let label = markdown(&chart.work.label);
    let against = |value: Value| {
        native.map_or_else(String::new, |(native, name)| {
            format!(", {} as long as {name} ({})", times(value, native), native.time())
        })
    };
    Some(match (ours, own) {
        (Some((ours, least)), Some((own, value))) => format!(
            "The fastest clean call with {label} takes {} with {ours}{}. The fastest strategy of \
             a runtime's own takes {} with {own} ({}).",
            least.time(),
            against(least),
            value.time(),
            slower(value, least)
        ),
        (ours, own) => {
            let (name, least) = ours.or(own)?;
            let against = against(least);
            format!(
                "The fastest clean call with {label} takes {} with {name}{against}.",
                least.time()
            )
        }
    })
}
