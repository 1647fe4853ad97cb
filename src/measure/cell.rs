//! All measurements of one cell in one process.

use super::lost::{Lost, Use};
use super::once::ONCE;
use super::round::{LONG, are_long};
use super::{Caller, Crew, Work, probe, steps, warm};
use crate::lab::{Opened, VERY_LONG};
use crate::plan::{Budget, Cell, cores};
use crate::record::estimate::{INTERVAL_SAMPLES, has_enough};
use crate::record::{Metric, Sample, Samples};
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Measures an opened cell: calls on all its threads. On one thread also the costs of compiling
/// and loading, the steps of a call for the cases of the overview, and, if the case asks for it,
/// calls on a used instance.
///
/// # Errors
///
/// When a call fails.
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
                metrics.extend(again(budget.patience, || steps(opened, budget.sample))?);
            }
            if cell.case.warm {
                metrics.extend(again(budget.patience, || warm(opened, budget.sample))?);
            }
        }
    }
    Ok(metrics)
}

/// The latency of calls on some threads at once.
///
/// Which physical pages an instance has makes up to a fifth of the time of a call that touches
/// many. So one thread of a case that also runs on several makes its rounds on as many instances,
/// one after the other: the cells on one thread and on several come from the same instances. The
/// rounds on an instance follow each other, as on several threads: a processor that sleeps between
/// them is slower. Long calls have too few rounds for that: one instance makes them all, so that
/// they are as far from its first call as on several threads.
fn calls(cell: &Cell, opened: &Opened, budget: &Budget) -> Result<Samples> {
    let threads = cell.key.threads;
    let estimate = Duration::from_nanos(opened.estimate_ns);
    let (mut clean, mut noisy) = (Vec::new(), Vec::new());
    if threads == 1 && estimate >= LONG {
        // The checked call was timed on a clean instance as well.
        let mut is_clean = probe::is_clean();
        // What is over within milliseconds is nothing beside such a call.
        let ended = Instant::now();
        while estimate >= VERY_LONG && !is_clean && ended.elapsed() < budget.patience {
            is_clean = probe::is_clean();
        }
        let sample = Sample { clean: is_clean, ..Sample::single(opened.estimate_ns as f64) };
        if estimate >= VERY_LONG {
            return Ok(Samples(vec![sample]));
        }
        if is_clean {
            clean.push(sample);
        }
    }
    let work = opened.clone();
    let make = move || Caller::new(&work).map(|caller| Box::new(caller) as Box<dyn Work>);
    let most = cell.case.threads.iter().copied().filter(|threads| *threads <= cores()).max();
    let is_shared = threads == 1 && !are_long(budget.sample, opened.estimate_ns);
    let crews = if is_shared { most.unwrap_or(1).min(budget.samples) } else { 1 };
    let crews = (0..crews).map(|skipped| Crew::start_from(skipped, threads, make.clone()));
    let mut crews = crews.collect::<Result<Vec<Crew>>>()?;
    let (mut lost, mut patience) = (Lost::new(budget.samples), budget.patience);
    let (mut planned, mut spent) = (None, Duration::ZERO);
    while clean.len() + noisy.len() < budget.samples {
        let turn = (clean.len() + noisy.len()) * crews.len() / budget.samples;
        let crew = &mut crews[turn];
        // Planned just before its first round: meanwhile its processor would sleep.
        let plan = match planned {
            Some((of, plan)) if of == turn => plan,
            _ => crew.plan(budget.sample, opened.estimate_ns)?,
        };
        planned = Some((turn, plan));
        let started = Instant::now();
        let mut round = crew.round(plan)?;
        spent += started.elapsed();
        match lost.judge(&mut round) {
            Use::Sample => {}
            Use::Again => continue,
            Use::PlanAgain => {
                planned = None;
                clean.clear();
                noisy.clear();
                continue;
            }
        }
        if round.clean {
            clean.push(round.sample());
        } else if patience.is_zero() {
            noisy.push(round.sample());
        } else {
            // Take it again, within the retry budget, but at least once.
            patience = patience.saturating_sub(started.elapsed());
        }
        // Two, so that three processes have enough for an interval.
        if spent > budget.cell && clean.len() + noisy.len() > 1 {
            break;
        }
    }
    // Few noisy samples beside enough clean ones would only widen the record.
    if clean.len() >= INTERVAL_SAMPLES {
        noisy.clear();
    }
    clean.extend(noisy);
    Ok(Samples(clean))
}

/// Measures again until all of it has enough clean samples, or the patience is used up.
fn again(
    mut patience: Duration,
    mut work: impl FnMut() -> Result<BTreeMap<Metric, Samples>>,
) -> Result<BTreeMap<Metric, Samples>> {
    loop {
        let started = Instant::now();
        let metrics = work()?;
        if patience.is_zero() || metrics.values().all(has_enough) {
            return Ok(metrics);
        }
        patience = patience.saturating_sub(started.elapsed());
    }
}
