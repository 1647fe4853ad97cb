//! All measurements of one cell in one process.

use super::collect::Collector;
use super::judge::Retry;
use super::round::{LONG, are_long};
use super::{Caller, Crew, Work, probe, steps, warm};
use crate::lab::{Opened, VERY_LONG};
use crate::plan::{Budget, Cell, cores};
use crate::record::estimate::has_enough;
use crate::record::{Metric, Sample, Samples};
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// An observation made once per process, of a cell on one thread; `None` if this process has none.
type Observe = fn(&Opened) -> Option<f64>;

/// All such observations, in the metric's unit.
const ONCE: &[(Metric, Observe)] = &[
    (Metric::Compile, |opened| opened.loaded.compile_ns.map(|ns| ns as f64)),
    (Metric::Load, |opened| Some(opened.loaded.load_ns as f64)),
    (Metric::FirstCall, |opened| Some(opened.first_call_ns as f64)),
];

/// Measures an opened cell: calls on all its threads. On one thread also the costs of compiling and
/// loading, the steps of a call for the cases of the overview, and calls on a used instance if the
/// case asks for them.
pub fn measure(cell: &Cell, opened: &Opened, budget: &Budget) -> Result<BTreeMap<Metric, Samples>> {
    let mut metrics = BTreeMap::new();
    metrics.insert(Metric::Call, calls(cell, opened, budget)?);
    if cell.key.threads == 1 {
        for (metric, observe) in ONCE {
            if let Some(value) = observe(opened) {
                metrics.insert(*metric, Samples(vec![Sample::single(value)]));
            }
        }
        if Duration::from_nanos(opened.estimate_ns) < VERY_LONG {
            if cell.case.role.is_some() {
                metrics.extend(again(budget.retry, || steps(opened, budget.sample))?);
            }
            if cell.case.warm {
                metrics.extend(again(budget.retry, || warm(opened, budget.sample))?);
            }
        }
    }
    Ok(metrics)
}

/// The latency of calls on some threads at once.
///
/// The physical pages of an instance make up to a fifth of the time of a call that touches many.
/// One thread of a case that also runs on several threads therefore makes its rounds on as many
/// instances, so that the cells on one and on several threads come from the same instances. The
/// rounds on an instance follow each other, because a processor that sleeps between them is slower.
/// Long calls have too few rounds for that and use one instance.
fn calls(cell: &Cell, opened: &Opened, budget: &Budget) -> Result<Samples> {
    let threads = cell.key.threads;
    let estimate = Duration::from_nanos(opened.estimate_ns);
    let mut checked = None;
    if threads == 1 && estimate >= LONG {
        checked = Some(checked_call(opened, budget.retry));
        if estimate >= VERY_LONG {
            return Ok(Samples(checked.into_iter().collect()));
        }
    }
    let mut collector = Collector::new(budget, checked.filter(|sample| sample.clean));
    let mut crews = crews(cell, opened, budget)?;
    let mut planned = None;
    while !collector.is_complete() {
        let turn = collector.turn(crews.len());
        let crew = &mut crews[turn];
        // Planned just before its first round: meanwhile its processor would sleep.
        let plan = match planned {
            Some((of, plan)) if of == turn => plan,
            _ => crew.plan(budget.sample, opened.estimate_ns)?,
        };
        let started = Instant::now();
        let round = crew.round(plan)?;
        planned = collector.add(round, started.elapsed()).then_some((turn, plan));
    }
    Ok(collector.finish())
}

/// The checked call as a sample: it was made on a clean instance. A very long call is clean if the
/// probe is clean within the retry budget: a few milliseconds are nothing beside such a call.
fn checked_call(opened: &Opened, retry: Duration) -> Sample {
    let is_very_long = Duration::from_nanos(opened.estimate_ns) >= VERY_LONG;
    let ended = Instant::now();
    let mut clean = probe::probe().clean;
    while is_very_long && !clean && ended.elapsed() < retry {
        clean = probe::probe().clean;
    }
    Sample { clean, ..Sample::single(opened.estimate_ns as f64) }
}

/// The crews that make the rounds of a cell, each on its own instances.
fn crews(cell: &Cell, opened: &Opened, budget: &Budget) -> Result<Vec<Crew>> {
    let threads = cell.key.threads;
    let most = cell.case.threads.iter().copied().filter(|threads| *threads <= cores()).max();
    let is_shared = threads == 1 && !are_long(budget.sample, opened.estimate_ns);
    let crews = if is_shared { most.unwrap_or(1).min(budget.samples) } else { 1 };
    let work = opened.clone();
    let make = move || Caller::new(&work).map(|caller| Box::new(caller) as Box<dyn Work>);
    (0..crews).map(|skipped| Crew::start_from(skipped, threads, make.clone())).collect()
}

/// Repeats measurements until all have enough clean samples, within the retry budget.
fn again(
    budget: Duration,
    mut work: impl FnMut() -> Result<BTreeMap<Metric, Samples>>,
) -> Result<BTreeMap<Metric, Samples>> {
    let mut retry = Retry(budget);
    loop {
        let started = Instant::now();
        let metrics = work()?;
        if metrics.values().all(has_enough) || !retry.allows(started.elapsed()) {
            return Ok(metrics);
        }
    }
}
