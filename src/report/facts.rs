//! Statements about all executors together: where the time goes, what precompiling
//! changes, what scales, what to be careful with.

use super::markdown::code;
use super::matrix::{Executor, Matrix, Work, quotient};
use super::rank::{Noise, Order, median, order};
use super::units::{self, count, percent, time, times};
use crate::record::{Estimate, Metric, Role};
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};

/// Fewer page faults a call than these are none: a stray one in some calls.
const FAULTLESS: f64 = 0.5;

/// Where the time of an empty call with a plain new instance goes.
pub(super) fn making(matrix: &Matrix<'_>) -> Option<String> {
    let work = matrix.main_work(Role::EmptyCall)?;
    let plain = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments);
    let own = matrix.executors.iter().filter(|executor| executor.strategy == plain);
    let shares: Vec<(f64, bool)> = own
        .filter_map(|executor| {
            let part = |metric| matrix.metric(executor, work, metric);
            let parts = [part(Metric::Prepare)?, part(Metric::Invoke)?, part(Metric::Finish)?];
            let [prepare, invoke, finish] = parts.map(|part| part.median);
            let whole = prepare + invoke + finish;
            let marked = parts.iter().any(|part| part.marked);
            (whole > 0.0).then_some(((prepare + finish) / whole, marked))
        })
        .collect();
    let least = shares.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "**Cost of an instance**: with a plain new instance for each call, making and dropping it \
         is at least {} of an empty call (lowest of {}).{}",
        units::marked(percent(least.0), least.1),
        count(shares.len(), "engine"),
        faults(matrix).unwrap_or_default()
    ))
}

/// Page faults of a call on one thread.
fn page_faults(matrix: &Matrix<'_>, executor: &Executor, work: &Work) -> Option<f64> {
    matrix.metric(executor, work, Metric::PageFaults).map(|faults| faults.median)
}

/// What page faults cost where memory is written, if the times of those without any and
/// of all others do not overlap.
fn faults(matrix: &Matrix<'_>) -> Option<String> {
    let work = matrix.main_work(Role::DirtyMemory)?;
    let timed = matrix.executors.iter().filter_map(|executor| {
        let faults = page_faults(matrix, executor, work)?;
        Some((faults, matrix.time(executor, work, 1)?))
    });
    let (without, with): (Vec<_>, Vec<_>) = timed.partition(|(faults, _)| *faults < FAULTLESS);
    let by_time = |a: &(f64, Estimate), b: &(f64, Estimate)| a.1.median.total_cmp(&b.1.median);
    let most = without.into_iter().max_by(by_time)?.1;
    let fewest = with.iter().map(|row| row.0).min_by(f64::total_cmp)?;
    let least = with.into_iter().min_by(by_time)?.1;
    (most.median < least.median).then(|| {
        format!(
            " For {} page faults separate the executors: those without page faults take at most \
             {}, all others ({fewest:.0} or more a call) at least {}.",
            code(&work.case),
            units::median(&most),
            units::median(&least)
        )
    })
}

/// What loading from a stored artifact changes, over all cells on one thread.
pub(super) fn precompiled(matrix: &Matrix<'_>, noise: &Noise) -> Option<String> {
    let (mut tied, mut faster, mut slower) = (0_usize, 0_usize, 0_usize);
    let (mut loads, mut ratios) = (Vec::new(), Vec::new());
    for variant in matrix.executors.iter().filter(|e| e.strategy.is_precompiled()) {
        let base = Executor { strategy: variant.strategy.base(), ..variant.clone() };
        for work in &matrix.works {
            let time = |executor| matrix.time(executor, work, 1);
            let (Some(with), Some(without)) = (time(variant), time(&base)) else { continue };
            // Interference on one side would look like a difference.
            if with.marked || without.marked {
                continue;
            }
            ratios.push(with.median / without.median);
            match compare(with, without, noise.floor(&work.case)) {
                Some(true) => faster += 1,
                Some(false) => slower += 1,
                None => tied += 1,
            }
            let load =
                |executor| matrix.metric(executor, work, Metric::Load).map(|load| load.median);
            loads.extend(load(&base).zip(load(variant)));
        }
    }
    let ratio = median(ratios)?;
    let calls = format!(
        "a call takes {ratio:.2} × as long in the median (a tie in {tied} of {}, shorter in \
         {faster}, longer in {slower})",
        count(tied + faster + slower, "cell")
    );
    let before = median(loads.iter().map(|pair| pair.0).collect());
    let after = median(loads.iter().map(|pair| pair.1).collect());
    let Some((before, after)) = before.zip(after) else {
        return Some(format!("**Precompiled**: {calls}; the load was not timed."));
    };
    let load = format!("the load goes from {} to {} (medians)", time(before), time(after));
    // The middle of many cells: a few differ even if nothing changed.
    let head = if (ratio - 1.0).abs() < 0.01 && before > 2.0 * after {
        "**Precompiled code changes the load, not the call**"
    } else {
        "**Precompiled**"
    };
    Some(format!("{head}: {load}; {calls}."))
}

/// Whether `with` is faster, slower, or neither for certain.
fn compare(with: Estimate, without: Estimate, floor: Option<f64>) -> Option<bool> {
    let faster = with.median < without.median;
    let (low, high) = if faster { (with, without) } else { (without, with) };
    (order(low, high, floor) == Order::Apart).then_some(faster)
}

/// What more threads bring for an empty call, by strategy, and whether page faults are
/// what holds it back.
pub(super) fn scaling(matrix: &Matrix<'_>) -> Option<String> {
    let work = matrix.main_work(Role::EmptyCall)?;
    let most = matrix.most_threads(work).filter(|most| *most > 1)?;
    let rows: Vec<(Strategy, Estimate, Option<f64>)> = matrix
        .executors
        .iter()
        .filter(|executor| !executor.strategy.is_precompiled())
        .filter_map(|executor| {
            let scaling = matrix.scaling(executor, work, most)?;
            Some((executor.strategy, scaling, page_faults(matrix, executor, work)))
        })
        .collect();
    let mut strategies: Vec<Strategy> = rows.iter().map(|row| row.0).collect();
    strategies.sort();
    strategies.dedup();
    let middle = |wanted: &dyn Fn(Strategy, Option<f64>) -> bool| {
        let own = rows.iter().filter(|row| wanted(row.0, row.2));
        let (values, marks): (Vec<f64>, Vec<bool>) =
            own.map(|row| (row.1.median, row.1.marked)).unzip();
        let marked = marks.contains(&true);
        median(values).map(|median| Estimate { median, interval: None, marked })
    };
    let by_strategy: Vec<(Estimate, Strategy)> = strategies
        .into_iter()
        .filter_map(|strategy| Some((middle(&|own, _| own == strategy)?, strategy)))
        .collect();
    let by_scaling =
        |a: &&(Estimate, Strategy), b: &&(Estimate, Strategy)| a.0.median.total_cmp(&b.0.median);
    let best = by_strategy.iter().max_by(by_scaling)?;
    let worst = by_strategy.iter().min_by(by_scaling)?;
    let fewer = rows.iter().filter(|row| row.1.median < 1.0).count();
    let mut text = format!(
        "**Threads**: {most} threads together make {} the empty calls of one with {}, {} with {} \
         (best and worst strategy, median over its engines); {fewer} of {} make fewer than one \
         thread alone.",
        times(&best.0),
        code(&best.1.to_string()),
        times(&worst.0),
        code(&worst.1.to_string()),
        count(rows.len(), "executor")
    );
    let without = middle(&|_, faults| faults.is_some_and(|faults| faults < FAULTLESS));
    let with = middle(&|_, faults| faults.is_some_and(|faults| faults >= FAULTLESS));
    if let Some((without, with)) = without.zip(with)
        && quotient(with, without).median < 0.9
    {
        text.push_str(&format!(
            " Executors without page faults reach {}, those with page faults {} (medians): \
             mapping and unmapping pages takes locks that all threads of a process share.",
            times(&without),
            times(&with)
        ));
    }
    Some(text)
}

/// What a tie means here.
pub(super) fn ties(noise: &Noise) -> String {
    let rule = "**Ties**: two executors tie where the 95 % intervals of their medians overlap";
    let cases: Vec<String> = noise
        .cases()
        .map(|(case, own)| format!("{} for {}", percent(own.typical), code(case)))
        .collect();
    match noise.cases().map(|(_, own)| own.worst).max_by(f64::total_cmp) {
        Some(worst) => format!(
            "{rule}, or where the medians differ by less than the noise floor: {} (how far an \
             executor differs from itself, median over executors; the worst by {}).",
            cases.join(" and "),
            percent(worst)
        ),
        None => {
            format!("{rule}. No executor was compared with itself, so the noise floor is unknown.")
        }
    }
}

/// What to be careful with.
pub(super) fn caution(matrix: &Matrix<'_>) -> Option<String> {
    let sampling = &matrix.book.header.sampling;
    (sampling.name != "full").then(|| {
        format!(
            "**Caution**: this run was sampled with {} instead of {}. Its numbers are a sketch.",
            code(&sampling.name),
            code("full")
        )
    })
}
