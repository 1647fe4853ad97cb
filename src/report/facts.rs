//! Statements about all executors together.

use super::choose::PLAIN;
use super::markdown::code;
use super::matrix::{Executor, Matrix};
use super::rank::{Noise, leaders, median};
use super::units::{self, count, percent, time, times};
use crate::record::{Estimate, Metric, Role};

/// What is fastest, what an instance costs, what threads and precompiling change; as far as
/// it was timed.
pub(super) fn all(matrix: &Matrix<'_>) -> impl Iterator<Item = String> {
    let facts = [fastest(matrix), making(matrix), scaling(matrix), precompiled(matrix)];
    facts.into_iter().flatten()
}

/// The fastest way to a clean instance for an empty call.
fn fastest(matrix: &Matrix<'_>) -> Option<String> {
    let work = matrix.main_work(Role::EmptyCall)?;
    let (executor, time) = leaders(matrix, work, 1, |_| true)?.best;
    Some(format!(
        "**Fastest**: {} for an empty call with {}. {}.",
        units::median(&time),
        code(executor),
        executor.strategy.advice(),
    ))
}

/// Where the time of an empty call with a plain new instance goes.
fn making(matrix: &Matrix<'_>) -> Option<String> {
    let work = matrix.main_work(Role::EmptyCall)?;
    let share = |executor: &Executor| {
        let part = |metric| matrix.metric(executor, work, metric);
        let parts = [part(Metric::Prepare)?, part(Metric::Invoke)?, part(Metric::Finish)?];
        let [prepare, invoke, finish] = parts.map(|part| part.median);
        let whole = prepare + invoke + finish;
        (whole > 0.0).then_some(((prepare + finish) / whole, parts.iter().any(|part| part.marked)))
    };
    let own = matrix.executors.iter().filter(|executor| executor.strategy == PLAIN);
    let shares: Vec<(f64, bool)> = own.filter_map(share).collect();
    let least = shares.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "**Cost of an instance**: with a plain new instance for each call, making and dropping it \
         is at least {} of an empty call (lowest of {}).",
        units::marked(percent(least.0), least.1),
        count(shares.len(), "engine")
    ))
}

/// What loading from a stored artifact changes, over all cells on one thread.
fn precompiled(matrix: &Matrix<'_>) -> Option<String> {
    let (mut loads, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
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
            let load = |executor| matrix.metric(executor, work, Metric::Load);
            if let (Some(before), Some(after)) = (load(&base), load(variant)) {
                loads[0].push(before.median);
                loads[1].push(after.median);
            }
        }
    }
    let cells = count(ratios.len(), "cell");
    let call = format!("a call takes {:.2} × as long (medians of {cells})", median(ratios)?);
    Some(match loads.map(median) {
        [Some(before), Some(after)] => format!(
            "**Precompiled**: the load goes from {} to {}; {call}.",
            time(before),
            time(after)
        ),
        _ => format!("**Precompiled**: {call}; the load was not timed."),
    })
}

/// What more threads bring for an empty call.
fn scaling(matrix: &Matrix<'_>) -> Option<String> {
    let work = matrix.main_work(Role::EmptyCall)?;
    let most = matrix.most_threads(work).filter(|most| *most > 1)?;
    let executors = matrix.executors.iter().filter(|e| !e.strategy.is_precompiled());
    let mut rows: Vec<(Estimate, &Executor)> =
        executors.filter_map(|e| Some((matrix.scaling(e, work, most)?, e))).collect();
    rows.sort_by(|a, b| a.0.median.total_cmp(&b.0.median));
    let name = |(scaling, executor): &(Estimate, &Executor)| {
        format!("{} with {}", times(scaling), code(executor))
    };
    Some(format!(
        "**Threads**: {most} threads together make, over the empty calls of one, {} and {} (best and worst); \
         {} of {} make fewer than one thread alone.",
        name(rows.last()?),
        name(rows.first()?),
        rows.iter().filter(|row| row.0.median < 1.0).count(),
        count(rows.len(), "executor")
    ))
}

/// What a tie means.
pub(super) fn ties(noise: &Noise) -> String {
    let rule = "Two executors tie where the 95 % intervals of their medians overlap";
    let floor = |case: &String| {
        let floor = noise.floor(case).map(percent);
        format!("{} for {}", floor.unwrap_or_default(), code(case))
    };
    let cases: Vec<String> = noise.cases.keys().map(floor).collect();
    if cases.is_empty() {
        return format!(
            "{rule}. The noise floor is unknown: no executor was compared with itself."
        );
    }
    let cases = cases.join(" and ");
    format!("{rule}, or where the medians differ by less than the noise floor: {cases}.")
}
