//! The rules of publication.

use super::{Fault, Violation};
use crate::compare;
use crate::record::estimate::{self, PROCESSES, Used};
use crate::record::{Book, CellKey, Comparison, Contender, Match, Means, Metric, Purpose, Sample};

/// How far scaling may lie above the number of threads: what noise explains.
pub(super) const SCALING: f64 = 1.05;
/// Factor by which two ways to the same ratio may differ.
pub(super) const AGREEMENT: f64 = 1.3;
/// Calls that have to stand behind a time below [`SHORT_NS`].
pub(super) const LEAST_CALLS: u64 = 1000;
/// Shortest sample, ns; shorter ones are too close to the steps of the clock.
pub(super) const SHORT_NS: f64 = 20_000.0;
/// Least share of the calls of a sample that a thread has to make; 1 is its fair share.
pub(super) const LEAST_SHARE: f64 = 0.5;
/// Share of marked cells from which on a run is not published.
pub(super) const MOST_MARKED: f64 = 0.05;
/// End of the name of a commit whose tree had changes.
pub(super) const DIRTY: &str = "-dirty";

/// The metrics that are times of whole calls, sampled in batches.
const LATENCIES: [Metric; 3] = [Metric::Call, Metric::WarmCall, Metric::WarmTake];

/// All violations: of the whole run, then cell by cell, then of comparisons.
pub(super) fn violations(book: &Book, peers: Option<&Book>) -> Vec<Violation> {
    let mut all = of_run(book);
    for cell in book.cells.keys() {
        let faults = of_cell(book, cell);
        all.extend(faults.into_iter().map(|fault| Violation::Cell { cell: cell.clone(), fault }));
    }
    for source in [Some(book), peers].into_iter().flatten() {
        let comparisons = source.comparisons.iter();
        all.extend(comparisons.filter_map(|(of, processes)| comparison(book, of, processes)));
    }
    all
}

fn of_run(book: &Book) -> Vec<Violation> {
    let mut all = Vec::new();
    let commit = &book.header.tools.commit;
    if commit.ends_with(DIRTY) || commit.is_empty() || commit == "unknown" {
        all.push(Violation::Commit(commit.clone()));
    }
    let times = book.cells.keys().filter_map(|cell| book.estimate(cell, Metric::Call));
    let (of, marked) =
        times.fold((0, 0), |(of, marked), time| (of + 1, marked + usize::from(time.marked)));
    if marked > 0 && marked as f64 >= of as f64 * MOST_MARKED {
        all.push(Violation::Marked { marked, of });
    }
    all
}

fn of_cell(book: &Book, cell: &CellKey) -> Vec<Fault> {
    let samples = book.samples(cell, Metric::Call);
    let mut faults: Vec<Fault> =
        LATENCIES.into_iter().filter_map(|metric| short_samples(book, cell, metric)).collect();
    if samples.is_empty() {
        return faults;
    }
    let used = estimate::used(&samples);
    faults.extend(scaling(book, cell));
    faults.extend(slow_thread(&used, cell.threads));
    faults.extend(few_calls(book, cell, &used));
    if samples.len() < PROCESSES {
        faults.push(Fault::Processes { processes: samples.len() });
    }
    faults
}

fn scaling(book: &Book, cell: &CellKey) -> Option<Fault> {
    let alone = CellKey { threads: 1, ..cell.clone() };
    let ratio = book.throughput(cell)?.median / book.throughput(&alone)?.median;
    let limit = cell.threads as f64 * SCALING;
    (ratio > limit).then_some(Fault::Scaling { ratio, limit })
}

/// Latency is time over calls and throughput calls over time, both of the same samples: on
/// one thread they agree if the thread's calls are all calls, on several if none stood by.
fn slow_thread(used: &Used<'_>, threads: usize) -> Option<Fault> {
    let share = |sample: &Sample| (sample.slowest * threads as u64) as f64 / sample.calls as f64;
    let least = if threads == 1 { 1.0 / AGREEMENT } else { LEAST_SHARE };
    let shares: Vec<f64> = used.groups.iter().flatten().map(|sample| share(sample)).collect();
    let of = shares.len();
    // A sample without calls has no share: that is wrong too.
    let is_wrong = |share: &f64| !(least..=AGREEMENT).contains(share);
    let wrong: Vec<f64> = shares.into_iter().filter(is_wrong).collect();
    let share = wrong.iter().copied().min_by(f64::total_cmp)?;
    Some(Fault::SlowThread { samples: wrong.len(), of, share })
}

fn few_calls(book: &Book, cell: &CellKey, used: &Used<'_>) -> Option<Fault> {
    let ns = book.estimate(cell, Metric::Call)?.median;
    let calls: u64 = used.groups.iter().flatten().map(|sample| sample.calls).sum();
    (ns < SHORT_NS && calls < LEAST_CALLS).then_some(Fault::FewCalls { calls, ns })
}

fn short_samples(book: &Book, cell: &CellKey, metric: Metric) -> Option<Fault> {
    let used = estimate::used(&book.samples(cell, metric));
    let times = used.groups.iter().flatten().map(|sample| sample.total / cell.threads as f64);
    let (of, short): (usize, Vec<f64>) = times.fold((0, Vec::new()), |(of, mut short), time| {
        if time < SHORT_NS {
            short.push(time);
        }
        (of + 1, short)
    });
    let shortest_ns = short.iter().copied().min_by(f64::total_cmp)?;
    Some(Fault::ShortSample { metric, samples: short.len(), of, shortest_ns })
}

/// Only comparisons that do what cells do, on as many threads, and only where interference
/// touched neither.
fn comparison(book: &Book, of: &Match, processes: &[Comparison]) -> Option<Violation> {
    let is_like_cells = matches!(of.purpose, Purpose::Against | Purpose::Peers)
        && [&of.subject, &of.baseline].iter().all(|side| side.means == Means::Contract)
        && of.subject.threads == of.baseline.threads;
    if !is_like_cells {
        return None;
    }
    let judged = compare::judge(&processes.iter().collect::<Vec<_>>(), compare::MARGIN)?;
    let cell = |side: &Contender| CellKey {
        case: of.case.clone(),
        guest: of.guest.clone(),
        engine: side.executor.engine.clone(),
        strategy: side.executor.strategy,
        threads: side.threads,
    };
    let subject = book.estimate(&cell(&of.subject), Metric::Call)?;
    let baseline = book.estimate(&cell(&of.baseline), Metric::Call)?;
    let cells = subject.median / baseline.median;
    let apart = (judged.ratio / cells).max(cells / judged.ratio);
    let is_clean = !judged.marked && !subject.marked && !baseline.marked;
    (is_clean && apart > AGREEMENT).then(|| Violation::Cell {
        cell: cell(&of.subject),
        fault: Fault::Comparison {
            purpose: of.purpose,
            baseline: of.baseline.executor.clone(),
            compared: judged.ratio,
            cells,
        },
    })
}
