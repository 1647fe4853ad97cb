//! Statements about all executors together: where the time goes, what
//! precompiling changes, what scales, what to be careful with.

use super::markdown::code;
use super::matrix::{Executor, Matrix};
use super::order::{self, PRECOMPILED};
use super::rank::{Timing, Verdict, judge};
use super::units::{count, percent, time, times};

/// The middle of some numbers; the mean of the two middle ones if they are even.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(middle.checked_sub(1)?).map(|lower| f64::midpoint(*lower, upper))
}

/// Where the time of an empty call with a plain new instance goes.
pub(super) fn making(matrix: &Matrix) -> Option<String> {
    let work = matrix.main_work(order::EMPTY)?;
    let shares: Vec<(f64, &Executor)> = matrix
        .executors
        .iter()
        .filter(|executor| executor.strategy == "recreate_instance")
        .filter_map(|executor| {
            let phases = matrix.get(executor, work, 1)?.phases.as_ref()?;
            // Times of this size are exact in a double.
            let [prepare, invoke, finish] =
                [phases.prepare_ns, phases.invoke_ns, phases.finish_ns].map(|ns| ns as f64);
            let whole = prepare + invoke + finish;
            (whole > 0.0).then_some(((prepare + finish) / whole, executor))
        })
        .collect();
    let least = shares.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "**What costs**: with a plain new instance for each call, making and dropping the instance \
         is at least {} of an empty call ({}, the lowest share of {}).",
        percent(least.0),
        code(&least.1.name()),
        count(shares.len(), "backend")
    ))
}

/// What loading from a ready artifact changes, over all cells on one thread.
pub(super) fn precompiled(matrix: &Matrix, believable: Option<f64>) -> Option<String> {
    let (mut tied, mut faster, mut slower) = (0_usize, 0_usize, 0_usize);
    let mut loads = Vec::new();
    for twin in &matrix.executors {
        let Some(base) = twin.strategy.strip_suffix(PRECOMPILED) else { continue };
        let base = twin.with(base);
        for work in &matrix.works {
            let (Some(with), Some(without)) =
                (matrix.time(twin, work, 1), matrix.time(&base, work, 1))
            else {
                continue;
            };
            match compare(with, without, believable) {
                Some(true) => faster += 1,
                Some(false) => slower += 1,
                None => tied += 1,
            }
            let load = |executor| {
                let phases = matrix.get(executor, work, 1)?.phases.as_ref()?;
                // Times of this size are exact in a double.
                Some(phases.load_ns as f64).filter(|ns| *ns > 0.0)
            };
            loads.extend(load(&base).zip(load(twin)));
        }
    }
    let all = tied + faster + slower;
    if all == 0 {
        return None;
    }
    let calls = format!(
        "the call takes as long in {tied} of {}, is shorter in {faster} and longer in {slower}",
        count(all, "cell")
    );
    let before = median(loads.iter().map(|pair| pair.0).collect());
    let after = median(loads.iter().map(|pair| pair.1).collect());
    let Some((before, after)) = before.zip(after) else {
        return Some(format!("**Precompiled**: {calls}; the load was not timed."));
    };
    let load = format!("the load goes from {} to {} (medians)", time(before), time(after));
    // Nine tenths: a few cells stray even if nothing changed.
    let head = if tied * 10 >= all * 9 && before > 2.0 * after {
        "**Precompiled changes the load, not the call**"
    } else {
        "**Precompiled**"
    };
    Some(format!("{head}: {load}; {calls}."))
}

/// Whether `with` is faster for certain, slower for certain, or neither.
fn compare(with: Timing, without: Timing, believable: Option<f64>) -> Option<bool> {
    let faster = with.median < without.median;
    let (low, high) = if faster { (with, without) } else { (without, with) };
    (judge(low, high, believable) == Verdict::Apart).then_some(faster)
}

/// What happens to the empty call when other threads do the same.
pub(super) fn scaling(matrix: &Matrix) -> String {
    let nothing = "**Scaling**: only one thread was timed, so nothing is known about more.";
    let Some(work) = matrix.main_work(order::EMPTY).or(matrix.works.first()) else {
        return nothing.to_owned();
    };
    let Some(most) = matrix.most_threads(work).filter(|most| *most > 1) else {
        return nothing.to_owned();
    };
    let mut ratios: Vec<(f64, String)> = matrix
        .executors
        .iter()
        .filter_map(|executor| {
            let alone = matrix.time(executor, work, 1)?;
            let together = matrix.time(executor, work, most)?;
            Some((together.median / alone.median, executor.name()))
        })
        .collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let middle = median(ratios.iter().map(|(ratio, _)| *ratio).collect());
    let (Some(first), Some(last), Some(middle)) = (ratios.first(), ratios.last(), middle) else {
        return nothing.to_owned();
    };
    let steady = ratios.iter().filter(|(ratio, _)| *ratio < 1.1).count();
    format!(
        "**Scaling**: while {} the same, {} on {} takes {} its time alone with {} (the best), \
         {} in the median and {} with {} (the worst); {steady} of {} stay below 1.1 ×.",
        if most == 2 {
            "another thread does".to_owned()
        } else {
            format!("{} others do", most - 1)
        },
        code(&work.case),
        code(&work.guest),
        times(first.0),
        code(&first.1),
        times(middle),
        times(last.0),
        code(&last.1),
        count(ratios.len(), "executor")
    )
}

/// What to be careful with.
pub(super) fn cautions(matrix: &Matrix) -> Vec<String> {
    let mut lines = Vec::new();
    let short = matrix.cells().iter().filter(|cell| cell.provenance.sampling.name != "full");
    let short = short.count();
    if short > 0 {
        lines.push(format!(
            "**Caution**: {short} of {} were sampled more shortly than a full run does; take their \
             numbers as a sketch.",
            count(matrix.cells().len(), "cell")
        ));
    }
    lines
}
