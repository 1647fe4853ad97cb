//! What goes into each of the charts.

use super::dots::{Block, Dot, Dots, Row, Scale};
use crate::record::{Estimate, Metric};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units::count;
use touchstone_executor::{InstanceFrom, MemoryFrom};

/// Works of a guest that fit beside each other.
const PANELS: usize = 2;

/// The order of the rows of a guest.
#[derive(Clone, Copy, strum::Display)]
enum Order {
    #[strum(to_string = "fastest on top")]
    ByValue,
    #[strum(to_string = "engine by engine")]
    ByEngine,
}

/// The two values of an executor on a work: the dot and the stroke.
type Pair = [Option<Estimate>; 2];

/// Whether instances come from a pool, the runtime's or Touchstone's.
fn pools(executor: &Executor) -> bool {
    matches!(executor.strategy.instance, InstanceFrom::Pooling | InstanceFrom::PoolingLate)
}

/// The executors that make a new instance for each call, or that reset one, without pools.
pub(super) fn family(matrix: &Matrix<'_>, name: &str, is_new: bool) -> Option<Dots> {
    let wanted =
        |executor: &Executor| executor.strategy.is_new_instance() == is_new && !pools(executor);
    Some(times(matrix, name, wanted, Order::ByValue))
}

/// Every engine that pools: its pools and the reset of one instance that they compete with.
pub(super) fn pooling(matrix: &Matrix<'_>) -> Option<Dots> {
    let pooling = |engine: &str| matrix.executors.iter().any(|e| e.engine == engine && pools(e));
    let wanted = |executor: &Executor| {
        let strategy = executor.strategy;
        let plain = !strategy.is_new_instance() && strategy.memory == MemoryFrom::Segments;
        pooling(&executor.engine) && !strategy.is_precompiled() && (plain || pools(executor))
    };
    Some(times(matrix, "Reuse against pooling", wanted, Order::ByEngine))
}

/// Every executor on the first guest and one thread, without precompiled variants.
pub(super) fn latency(matrix: &Matrix<'_>) -> Option<Dots> {
    let pair = |executor: &Executor, work: &Work| [matrix.time(executor, work, 1), None];
    let wanted = |_: &[&Work], executor: &Executor| !executor.strategy.is_precompiled();
    let first = matrix.guests().into_iter().take(1);
    Some(Dots {
        title: "Time of one call on a clean instance, 1 thread".to_owned(),
        subtitle: "Median and 95 % interval; logarithmic axis; fastest on top. Precompiled \
                   variants are left out."
            .to_owned(),
        values: true,
        ..dots(matrix, blocks(matrix, first, wanted, pair, Order::ByValue))
    })
}

/// What more threads bring: of each engine the executor with the highest throughput. `None`
/// where there is one thread only.
pub(super) fn threads(matrix: &Matrix<'_>) -> Option<Dots> {
    let most = most_threads(matrix)?;
    let between = matrix.overview().into_iter().flat_map(|work| matrix.threads(work));
    let between = between.filter(|n| *n > 1 && *n < most).min();
    let pair = |executor: &Executor, work: &Work| {
        [Some(most), between].map(|threads| matrix.scaling(executor, work, threads?))
    };
    let wanted = |works: &[&Work], executor: &Executor| {
        works.iter().any(|work| highest(matrix, work, most).contains(&executor))
    };
    Some(Dots {
        title: format!("Throughput of {most} threads over that of 1 thread"),
        subtitle: format!(
            "Each engine's executor with the highest throughput; logarithmic axis; thick line: \
             {most} ×."
        ),
        kinds: between.map(|between| [most, between].map(|n| count(n, "thread"))),
        scale: Scale::Ratio(most as f64),
        values: true,
        ..dots(matrix, blocks(matrix, matrix.guests(), wanted, pair, Order::ByEngine))
    })
}

/// The executor of each engine with the highest throughput; the first of equals.
fn highest<'a>(matrix: &'a Matrix<'_>, work: &Work, threads: usize) -> Vec<&'a Executor> {
    let rate = |executor: &Executor| {
        let rate = matrix.throughput(executor, work, threads)?.median;
        (!executor.strategy.is_precompiled()).then_some(rate)
    };
    let timed: Vec<(&Executor, f64)> =
        matrix.executors.iter().filter_map(|e| Some((e, rate(e)?))).collect();
    let own = timed.chunk_by(|a, b| a.0.engine == b.0.engine);
    own.filter_map(|own| own.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }))
        .map(|best| best.0)
        .collect()
}

/// Suites that each engine runs under one strategy: a row for each call, a dot for each
/// engine, over the fastest of the row without the baseline.
pub(super) fn suites(matrix: &Matrix<'_>) -> Option<Dots> {
    let suites = matrix.only(|cell| matrix.is_preferred_only(&Work::of(cell)));
    let engines = matrix.engines();
    let row = |work: &Work| {
        let time = |(index, engine)| Some((index, engine, used(&suites, engine, work)?));
        let times: Vec<(usize, &str, Estimate)> =
            engines.iter().copied().enumerate().filter_map(time).collect();
        let modules = times.iter().filter(|(_, engine, _)| !matrix.is_baseline(engine));
        let best = modules.map(|time| time.2).min_by(|a, b| a.median.total_cmp(&b.median))?;
        let dot = |(category, _, time): (usize, &str, Estimate)| {
            let estimate = Estimate { interval: None, ..time.over(best) };
            Dot { category, is_stroke: false, estimate }
        };
        let panels = vec![times.into_iter().map(dot).collect()];
        Some(Row { label: label(&suites, work), separated: false, panels })
    };
    let block = |works: &[Work]| Block {
        heading: String::new(),
        panels: works.iter().take(1).map(|work| work.guest.clone()).collect(),
        rows: works.iter().filter_map(row).collect(),
    };
    let guests = suites.works.chunk_by(|a, b| a.guest == b.guest);
    let blocks = guests.map(block).filter(|block| !block.rows.is_empty()).collect();
    Some(Dots {
        title: "The guest's work: a call on a used instance".to_owned(),
        subtitle: "Times slower than the fastest engine of the row (thick line: 1 ×); logarithmic \
                   axis."
            .to_owned(),
        scale: Scale::Ratio(1.0),
        ..dots(matrix, blocks)
    })
}

/// Time of a call by an engine, ns: on a used instance where that was timed.
fn used(matrix: &Matrix<'_>, engine: &str, work: &Work) -> Option<Estimate> {
    let mut own = matrix.executors.iter().filter(|executor| executor.engine == engine);
    own.find_map(|executor| {
        let clean = matrix.time(executor, work, 1)?;
        Some(matrix.metric(executor, work, Metric::WarmCall).unwrap_or(clean))
    })
}

/// The case's title on its guest without the guest, or its name.
fn label(matrix: &Matrix<'_>, work: &Work) -> String {
    let title = matrix.facts(work).and_then(|facts| facts.title.as_deref());
    title.and_then(|title| title.split_once('/')).map_or(&*work.case, |(_, call)| call).to_owned()
}

/// Times on one thread (dots) and on the most (strokes), guest by guest.
fn times(
    matrix: &Matrix<'_>,
    name: &str,
    wanted: impl Fn(&Executor) -> bool,
    order: Order,
) -> Dots {
    let most = most_threads(matrix);
    let pair = |executor: &Executor, work: &Work| {
        let time = |threads| matrix.time(executor, work, threads);
        [time(1), most.and_then(time)]
    };
    let wanted = |_: &[&Work], executor: &Executor| wanted(executor);
    Dots {
        title: format!("{name}: time of one call"),
        subtitle: format!("Median; logarithmic axis; {order}; –: not timed."),
        kinds: most.map(|most| ["1 thread".to_owned(), count(most, "thread")]),
        ..dots(matrix, blocks(matrix, matrix.guests(), wanted, pair, order))
    }
}

/// A plot of times with a legend of the engines that occur in it, to be completed.
fn dots(matrix: &Matrix<'_>, blocks: Vec<Block>) -> Dots {
    let all = || blocks.iter().flat_map(|block| &block.rows).flat_map(|row| &row.panels).flatten();
    let labels = matrix.engines().into_iter().map(|engine| matrix.label(engine)).enumerate();
    let legend = labels.filter(|(engine, _)| all().any(|dot| dot.category == *engine)).collect();
    let (title, subtitle) = (String::new(), String::new());
    Dots { title, subtitle, legend, kinds: None, blocks, scale: Scale::Time, values: false }
}

/// The most threads of the overview, if there are several.
fn most_threads(matrix: &Matrix<'_>) -> Option<usize> {
    let most = matrix.overview().into_iter().filter_map(|work| matrix.most_threads(work)).max();
    most.filter(|most| *most > 1)
}

/// The rows of each guest that has any: the works of the overview beside each other, the
/// executors that are `wanted` on them below each other.
fn blocks<'a>(
    matrix: &Matrix<'_>,
    guests: impl IntoIterator<Item = &'a str>,
    wanted: impl Fn(&[&Work], &Executor) -> bool,
    pair: impl Fn(&Executor, &Work) -> Pair,
    order: Order,
) -> Vec<Block> {
    let engines = matrix.engines();
    let row = |works: &[&Work], executor: &Executor| {
        let category = engines.iter().position(|name| *name == executor.engine)?;
        let panel = |work: &&Work| {
            let pair = [false, true].into_iter().zip(pair(executor, work));
            let dot = |(is_stroke, estimate): (bool, Option<Estimate>)| {
                Some(Dot { category, is_stroke, estimate: estimate? })
            };
            pair.filter_map(dot).collect()
        };
        let panels: Vec<Vec<Dot>> = works.iter().map(panel).collect();
        let is_timed = panels.iter().any(|panel| !panel.is_empty());
        is_timed.then(|| (category, Row { label: executor.to_string(), separated: false, panels }))
    };
    let block = |guest: &str| {
        let works: Vec<&Work> =
            matrix.overview().into_iter().filter(|w| w.guest == guest).take(PANELS).collect();
        let executors = matrix.executors.iter().filter(|executor| wanted(&works, executor));
        let mut rows: Vec<(usize, Row)> = executors.filter_map(|e| row(&works, e)).collect();
        match order {
            // Stable: rows keep their order otherwise.
            Order::ByValue => rows.sort_by(|(_, a), (_, b)| a.first().total_cmp(&b.first())),
            Order::ByEngine => {
                for index in 1..rows.len() {
                    rows[index].1.separated = rows[index].0 != rows[index - 1].0;
                }
            }
        }
        let panels = works.iter().map(|work| work.case.clone()).collect();
        let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        (!rows.is_empty()).then(|| Block { heading: guest.to_owned(), panels, rows })
    };
    guests.into_iter().filter_map(block).collect()
}
