//! Calls on clean instances: with each strategy of one engine, of engines beside each other, on one
//! and on several threads.

use super::super::bars::{self, Bars, Group};
use super::super::dumbbells::{Dumbbells, Row};
use super::super::frame::Spread;
use super::{CLEAN_CALL, Fill, Frame, Matrix, Pick, Work, baseline, owners, slower, times};
use crate::markdown::{code, markdown};
use crate::rank::fastest;
use crate::tables::charts::{ChartWork, Charts, Engines, Hue, Ladder, Named, Threads};
use crate::units::{self, joined, prose_list, short};
use indexmap::IndexMap;
use touchstone_record::{Estimate, Executor};

/// The cost of a clean instance with each strategy of one engine.
pub(super) fn ladder(matrix: &Matrix<'_>, charts: &Charts, ladder: &Ladder) -> Pick {
    let time = |work: &ChartWork, own: &Named| matrix.time(&own.executor, &work.into(), 1);
    let row = |work: &ChartWork, named: &Named| {
        let (time, hue) = (time(work, named)?, charts.hue(&named.executor.engine));
        let is_native = matrix.is_native(&named.executor);
        let fill = if is_native { Fill::half(hue) } else { Fill::full(hue) };
        Some(bars::Row { label: named.label.clone(), panels: vec![vec![(fill, Some(time))]] })
    };
    let group = |work: &ChartWork| Group {
        heading: work.label.clone(),
        rows: ladder.rows.iter().filter_map(|named| row(work, named)).collect(),
    };
    let groups = ladder.works.iter().map(group).filter(|group| !group.rows.is_empty());
    let engine = ladder.rows.first().map(|named| charts.hue(&named.executor.engine));
    let note = ladder.rows.iter().map(|own| format!("{}: {}", own.executor.strategy, own.label));
    let bars = Bars {
        frame: Frame {
            title: ladder.title.clone(),
            axis: CLEAN_CALL.to_owned(),
            legend: owners(engine.unwrap_or_default()),
            note: joined(note, "; "),
        },
        spread: Spread::Logarithmic,
        panels: vec![String::new()],
        groups: groups.collect(),
    };
    // All rows of the first work, against its first row.
    let work = ladder.works.first()?;
    let mut rows = ladder.rows.iter().filter_map(|own| Some((own, time(work, own)?)));
    let (first, least) = rows.next()?;
    let said = |(own, time): (&Named, Estimate)| {
        let strategy = code(own.executor.strategy);
        format!("{} with {strategy} ({})", short(&time), slower(time, least))
    };
    let others: Vec<String> = rows.map(said).collect();
    let mut finding = format!(
        "On {}, a clean {} takes {} with {}.",
        markdown(&ladder.engine),
        markdown(&work.label),
        short(&least),
        code(first.executor.strategy)
    );
    if !others.is_empty() {
        finding += &format!(" Others take {}.", prose_list(&others));
    }
    Some((finding, Box::new(bars)))
}

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

/// Engines on one work: the runtime's best strategy and Touchstone's, native code as a line.
pub(super) fn engines(matrix: &Matrix<'_>, charts: &Charts, chart: &Engines) -> Pick {
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
    Some((finding(chart, &rows, native)?, Box::new(dumbbells)))
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

/// The time of a call on one thread and on as many threads as were timed.
pub(super) fn threads(matrix: &Matrix<'_>, charts: &Charts, chart: &Threads) -> Pick {
    let work = Work::from(&chart.work);
    let most = matrix.most_threads(&work).filter(|most| *most > 1)?;
    let timed = |named: &'_ Named| {
        let time = |threads| matrix.time(&named.executor, &work, threads);
        let slow_down = matrix.slow_down(&named.executor, &work, most)?;
        Some((time(1)?, time(most)?, slow_down))
    };
    let rows = chart.rows.iter().filter_map(|named| Some((named, timed(named)?)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|(_, a), (_, b)| a.2.median.total_cmp(&b.2.median));
    let row = |(named, (alone, beside, slow_down)): &(&Named, _)| {
        let hue = charts.hue(&named.executor.engine);
        Row {
            label: named.label.clone(),
            ends: vec![(Fill::full(hue), *beside), (Fill::half(hue), *alone)],
            text: units::times(slow_down),
        }
    };
    let together = units::count(most, "thread");
    let dumbbells = Dumbbells {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Time of one call on each thread, median; logarithmic axis".to_owned(),
            legend: vec![
                (Fill::half(Hue::Grey), "1 thread".to_owned()),
                (Fill::full(Hue::Grey), format!("{together} at the same time")),
            ],
            ..Frame::default()
        },
        rows: rows.iter().map(row).collect(),
        line: None,
        heading: "slow-down".to_owned(),
    };
    let ((best, quick), (worst, slow)) = (rows.first()?, rows.last()?);
    let finding = format!(
        "On {together} at the same time, one {} takes {} as long with {} ({} → {}). With {} it \
         takes {} as long ({} → {}).",
        markdown(&chart.work.label),
        times(quick.2),
        code(&best.executor),
        short(&quick.0),
        short(&quick.1),
        code(&worst.executor),
        times(slow.2),
        short(&slow.0),
        short(&slow.1)
    );
    Some((finding, Box::new(dumbbells)))
}
