//! Statements about all executors together: where the time goes, what
//! precompiling changes, what scales, what to be careful with.

use super::markdown::code;
use super::matrix::{Executor, Matrix, Work};
use super::order::{self, PRECOMPILED};
use super::rank::{Believable, Timing, Verdict, judge, median};
use super::units::{count, percent, time, times};

/// Fewer page faults a call than these are none: a stray one in some calls.
const FAULTLESS: f64 = 0.5;

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
        "**What costs**: with a plain new instance for each call, making and dropping it is at \
         least {} of an empty call (lowest of {}).{}",
        percent(least.0),
        count(shares.len(), "backend"),
        faults(matrix).unwrap_or_default()
    ))
}

/// What page faults cost where memory is dirtied, if the times of those without
/// any and of all others do not overlap.
fn faults(matrix: &Matrix) -> Option<String> {
    let work = matrix.main_work(order::DIRTY)?;
    let timed = matrix.executors.iter().filter_map(|executor| {
        let faults = matrix.get(executor, work, 1)?.phases.as_ref()?.page_faults_per_call;
        Some((faults, matrix.time(executor, work, 1)?.median))
    });
    let (without, with): (Vec<_>, Vec<_>) = timed.partition(|(faults, _)| *faults < FAULTLESS);
    let most = without.iter().map(|row| row.1).max_by(f64::total_cmp)?;
    let least = with.iter().map(|row| row.1).min_by(f64::total_cmp)?;
    let fewest = with.iter().map(|row| row.0).min_by(f64::total_cmp)?;
    (most < least).then(|| {
        format!(
            " Where a call dirties 1 MiB, page faults part the executors: those without any take at most {}, \
             all others ({fewest:.0} a call or more) at least {}.",
            time(most),
            time(least)
        )
    })
}

/// What loading from a ready artifact changes, over all cells on one thread.
pub(super) fn precompiled(matrix: &Matrix, believable: &Believable) -> Option<String> {
    let (mut tied, mut faster, mut slower) = (0_usize, 0_usize, 0_usize);
    let (mut loads, mut ratios) = (Vec::new(), Vec::new());
    for twin in &matrix.executors {
        let Some(base) = twin.strategy.strip_suffix(PRECOMPILED) else { continue };
        let base = twin.with(base);
        for work in &matrix.works {
            let (Some(with), Some(without)) =
                (matrix.time(twin, work, 1), matrix.time(&base, work, 1))
            else {
                continue;
            };
            ratios.push(with.median / without.median);
            match compare(with, without, believable.least(&work.case)) {
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
    let ratio = median(ratios)?;
    let calls = format!(
        "a call takes {} as long in the median (as long in {tied} of {}, shorter in {faster}, \
         longer in {slower})",
        times(ratio),
        count(tied + faster + slower, "cell")
    );
    let before = median(loads.iter().map(|pair| pair.0).collect());
    let after = median(loads.iter().map(|pair| pair.1).collect());
    let Some((before, after)) = before.zip(after) else {
        return Some(format!("**Precompiled**: {calls}; the load was not timed."));
    };
    let load = format!("the load goes from {} to {} (medians)", time(before), time(after));
    // The middle of many cells: a few stray even if nothing changed.
    let head = if (ratio - 1.0).abs() < 0.01 && before > 2.0 * after {
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

/// What more threads bring for an empty call, by strategy, and whether page
/// faults are what holds it back.
pub(super) fn scaling(matrix: &Matrix) -> Option<String> {
    let work = matrix.main_work(order::EMPTY).or(matrix.works.first())?;
    let most = matrix.most_threads(work).filter(|most| *most > 1)?;
    let rows: Vec<Scaled<'_>> = matrix
        .executors
        .iter()
        .filter(|executor| !matrix.is_twin(executor))
        .filter_map(|executor| scaled(matrix, executor, work, most))
        .collect();
    let mut strategies: Vec<&str> = rows.iter().map(|row| row.strategy).collect();
    strategies.sort_by(|a, b| order::strategies(a, b));
    strategies.dedup();
    let middle = |wanted: &dyn Fn(&&Scaled<'_>) -> bool| {
        median(rows.iter().filter(wanted).map(|row| row.ratio).collect())
    };
    let by_strategy = strategies
        .into_iter()
        .filter_map(|strategy| Some((middle(&|row| row.strategy == strategy)?, strategy)));
    let by_strategy: Vec<(f64, &str)> = by_strategy.collect();
    let best = by_strategy.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let worst = by_strategy.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let fewer = rows.iter().filter(|row| row.ratio < 1.0).count();
    let mut text = format!(
        "**Threads**: {most} threads together make {} the empty calls of one with {}, {} with {} \
         (best and worst strategy, median over its backends); {fewer} of {} make fewer than one \
         thread alone.",
        times(best.0),
        code(best.1),
        times(worst.0),
        code(worst.1),
        count(rows.len(), "executor")
    );
    let without = middle(&|row| row.faults.is_some_and(|faults| faults < FAULTLESS));
    let with = middle(&|row| row.faults.is_some_and(|faults| faults >= FAULTLESS));
    if let Some((without, with)) = without.zip(with).filter(|(without, with)| *with < 0.9 * without)
    {
        text.push_str(&format!(
            " Executors without page faults reach {}, those with page faults {} (medians), \
             which fits the locks that mapping and unmapping pages take and all threads of a process \
             share.",
            times(without),
            times(with)
        ));
    }
    Some(text)
}

/// An executor on many threads.
struct Scaled<'a> {
    strategy: &'a str,
    /// Throughput relative to one thread.
    ratio: f64,
    /// Page faults of a call on one thread.
    faults: Option<f64>,
}

fn scaled<'a>(
    matrix: &Matrix,
    executor: &'a Executor,
    work: &Work,
    most: usize,
) -> Option<Scaled<'a>> {
    let ratio = matrix.throughput(executor, work, most)? / matrix.throughput(executor, work, 1)?;
    let phases = matrix.get(executor, work, 1)?.phases.as_ref();
    let faults = phases.map(|phases| phases.page_faults_per_call);
    Some(Scaled { strategy: &executor.strategy, ratio, faults })
}

/// What a tie means here.
pub(super) fn ties(believable: &Believable) -> String {
    let rule = "**Ties**: two executors tie where the 95 % intervals of their medians overlap";
    let cases: Vec<String> = believable
        .cases()
        .iter()
        .map(|(case, stray)| format!("{} for {}", percent(stray.typical), code(case)))
        .collect();
    let worst = believable.cases().into_iter().map(|(_, stray)| stray.worst).max_by(f64::total_cmp);
    match worst {
        Some(worst) => format!(
            "{rule} or the medians differ by less than {}: so far the same cell strays from itself \
             (median over the null rows; the worst strays by {}).",
            cases.join(" and "),
            percent(worst)
        ),
        None => format!(
            "{rule}; there are no null rows, so nothing is known about the smallest difference to \
             believe."
        ),
    }
}

/// What to be careful with.
pub(super) fn caution(matrix: &Matrix) -> Option<String> {
    let short = matrix.timed().filter(|cell| cell.provenance.sampling.name != "full").count();
    (short > 0).then(|| {
        format!(
            "**Caution**: {short} of {} were sampled more shortly than a full run does; take their \
             numbers as a sketch.",
            count(matrix.timed().count(), "timed cell")
        )
    })
}
