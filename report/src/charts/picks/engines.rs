//! Engines on one work: the runtime's best strategy and Touchstone's, native code as a line.

use super::super::dumbbells::{Dumbbells, Row};
use super::{CLEAN_CALL, Fill, Form, Frame, Matrix, Pick, Work, baseline, owners, slower, times};
use crate::markdown::{code, markdown};
use crate::rank::fastest;
use crate::tables::charts::{Charts, Engines, Hue};
use crate::units::{joined, short};
use indexmap::IndexMap;
use touchstone_record::{Estimate, Executor};

type Timed<'a> = (&'a Executor, Estimate);

/// The fastest executors of an engine.
struct Best<'a> {
    engine: &'a str,
    /// With a strategy of Touchstone's.
    ours: Option<Timed<'a>>,
    /// With one of the runtime's own.
    own: Option<Timed<'a>>,
}

impl Best<'_> {
    fn least(&self) -> f64 {
        let both = self.ours.iter().chain(&self.own);
        both.map(|best| best.1.median).fold(f64::INFINITY, f64::min)
    }
}

pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Engines) -> Pick {
    let work = Work::from(&chart.work);
    let rows = chart.engines.iter().map(|engine| {
        let best_of = |is_native: bool| {
            let is_own = |own: &Executor| own.engine == *engine;
            fastest(matrix, &work, |own| is_own(own) && matrix.is_native(own) == is_native)
        };
        Best { engine, ours: best_of(false), own: best_of(true) }
    });
    let mut rows: Vec<Best<'_>> = rows.filter(|best| best.least().is_finite()).collect();
    rows.sort_by(|a, b| a.least().total_cmp(&b.least()));
    let native = baseline(matrix, &work).map(|(time, is_used)| match is_used {
        true => (time, "native code without a clean instance"),
        false => (time, "native code on a clean instance"),
    });
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
            axis: CLEAN_CALL.to_owned(),
            legend: owners(Hue::Grey),
            note: strategies(&rows),
        },
        rows: rows.iter().map(row).collect(),
        line: native.map(|(native, name)| (native, format!("{name}: {}", short(&native)))),
        heading: "the runtime's own strategy".to_owned(),
    };
    Some((finding(chart, &rows, native)?, Form::Dumbbells(dumbbells)))
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
    let texts = joined(of.keys().take(1).cloned().chain(others), "; ");
    if texts.is_empty() { texts } else { format!("Touchstone's strategy: {texts}.") }
}

/// The fastest of Touchstone's strategies against the fastest of the runtimes' own, and
/// against native code.
fn finding(chart: &Engines, rows: &[Best<'_>], native: Option<(Estimate, &str)>) -> Option<String> {
    let by_time = |a: &Timed<'_>, b: &Timed<'_>| a.1.median.total_cmp(&b.1.median);
    let ours = rows.iter().filter_map(|best| best.ours).min_by(by_time);
    let own = rows.iter().filter_map(|best| best.own).min_by(by_time);
    let (executor, least) = ours.or(own)?;
    let against = native.map_or_else(String::new, |(native, name)| {
        format!(", {} as long as {name} ({})", times(least.over(native)), short(&native))
    });
    let text = format!(
        "The fastest clean call with {} takes {} with {}{against}.",
        markdown(&chart.work.label),
        short(&least),
        code(executor)
    );
    Some(match (ours, own) {
        (Some(_), Some((own, time))) => format!(
            "{text} The fastest strategy of a runtime's own takes {} with {} ({}).",
            short(&time),
            code(own),
            slower(time, least)
        ),
        _ => text,
    })
}
