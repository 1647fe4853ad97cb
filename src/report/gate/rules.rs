//! The rules of publication.

use super::{Rule, Violation};
use crate::compare;
use crate::record::estimate::{self, PROCESSES, Used};
use crate::record::{Book, CellKey, Comparison, Contender, Match, Means, Metric, Purpose, Sample};
use crate::report::units::{self, MARK, count, grouped, percent};

/// How far scaling may lie above the number of threads: what noise explains.
const SCALING: f64 = 1.05;
/// Factor by which two ways to the same ratio may differ.
const AGREEMENT: f64 = 1.3;
/// Calls that have to stand behind a time below [`SHORT_NS`].
const LEAST_CALLS: u64 = 1000;
/// Shortest sample, ns; shorter ones are too close to the steps of the clock.
const SHORT_NS: f64 = 20_000.0;
/// Least share of the calls of a sample that a thread has to make; 1 is its fair share.
const LEAST_SHARE: f64 = 0.5;
/// Share of marked cells from which on a run is not published.
const MOST_MARKED: f64 = 0.05;
/// End of the name of a commit whose tree had changes.
const DIRTY: &str = "-dirty";

/// The metrics that are times of whole calls, sampled in batches.
const LATENCIES: [Metric; 3] = [Metric::Call, Metric::WarmCall, Metric::WarmTake];

/// A rule that a cell breaks, what was found, and the limit.
type Fault = (Rule, String, String);

/// All violations: of the whole run, then cell by cell, then of comparisons.
pub(super) fn violations(book: &Book, peers: Option<&Book>) -> Vec<Violation> {
    let broken = |cell: &CellKey, (rule, found, limit): Fault| Violation {
        cell: Some((cell.clone(), rule)),
        found: (found, limit),
    };
    let mut all = of_run(book);
    for cell in book.cells.keys() {
        all.extend(of_cell(book, cell).into_iter().map(|fault| broken(cell, fault)));
    }
    for (of, processes) in [Some(book), peers].into_iter().flatten().flat_map(|b| &b.comparisons) {
        let fault = comparison(book, of, processes);
        all.extend(fault.map(|fault| broken(&cell_of(of, &of.subject), fault)));
    }
    all
}

fn of_run(book: &Book) -> Vec<Violation> {
    let broken = |found, limit| Violation { cell: None, found: (found, limit) };
    let mut all = Vec::new();
    let commit = &book.header.tools.commit;
    if commit.ends_with(DIRTY) {
        let found = "the binary is of a tree with changes that no commit holds: ".to_owned();
        all.push(broken(found, commit.clone()));
    } else if commit.is_empty() || commit == "unknown" {
        all.push(broken("the commit of the binary is not known".to_owned(), String::new()));
    }
    let times = book.cells.keys().filter_map(|cell| book.estimate(cell, Metric::Call));
    let (of, marked) =
        times.fold((0, 0), |(of, marked), time| (of + 1, marked + usize::from(time.marked)));
    if marked > 0 && marked as f64 >= of as f64 * MOST_MARKED {
        let found = format!("{marked} of {} are marked {MARK}", count(of, "cell"));
        let share = percent(marked as f64 / of as f64);
        all.push(broken(found, format!(" ({share}; limit below {})", percent(MOST_MARKED))));
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
        let found = format!("measured in {} processes", samples.len());
        faults.push((Rule::Processes, found, format!("limit {PROCESSES}")));
    }
    faults
}

fn scaling(book: &Book, cell: &CellKey) -> Option<Fault> {
    let alone = CellKey { threads: 1, ..cell.clone() };
    let ratio = book.throughput(cell)?.median / book.throughput(&alone)?.median;
    let limit = cell.threads as f64 * SCALING;
    let found = format!("scaling {ratio:.2} on {}", count(cell.threads, "thread"));
    (ratio > limit).then(|| (Rule::Scaling, found, format!("limit {limit:.2}")))
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
    let (wrong, of) = (wrong.len(), count(of, "sample"));
    let found = format!("a thread makes {share:.2} of its share of the calls, in {wrong} of {of}");
    Some((Rule::SlowThread, found, format!("limit {LEAST_SHARE}")))
}

fn few_calls(book: &Book, cell: &CellKey, used: &Used<'_>) -> Option<Fault> {
    let ns = book.estimate(cell, Metric::Call)?.median;
    let calls: u64 = used.groups.iter().flatten().map(|sample| sample.calls).sum();
    let found = format!("{calls} calls behind {}", units::time(ns));
    let limit = format!("limit {} calls", grouped(LEAST_CALLS));
    (ns < SHORT_NS && calls < LEAST_CALLS).then_some((Rule::FewCalls, found, limit))
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
    let (short, of, shortest) = (short.len(), count(of, "sample"), units::time(shortest_ns));
    let found = format!("{metric}: {short} of {of} too short, the shortest {shortest}");
    Some((Rule::ShortSample, found, format!("limit {}", units::time_short(SHORT_NS))))
}

/// Only comparisons that do what cells do, on as many threads, and only where interference
/// touched neither.
fn comparison(book: &Book, of: &Match, processes: &[Comparison]) -> Option<Fault> {
    let is_like_cells = matches!(of.purpose, Purpose::Against | Purpose::Peers)
        && [&of.subject, &of.baseline].iter().all(|side| side.means == Means::Contract)
        && of.subject.threads == of.baseline.threads;
    if !is_like_cells {
        return None;
    }
    let judged = compare::judge(&processes.iter().collect::<Vec<_>>(), compare::MARGIN)?;
    let time = |side| book.estimate(&cell_of(of, side), Metric::Call);
    let (subject, baseline) = (time(&of.subject)?, time(&of.baseline)?);
    let cells = subject.median / baseline.median;
    let apart = (judged.ratio / cells).max(cells / judged.ratio);
    if judged.marked || subject.marked || baseline.marked || apart <= AGREEMENT {
        return None;
    }
    let what = if of.purpose == Purpose::Peers { "peers" } else { "comparison" };
    let (compared, against) = (judged.ratio, &of.baseline.executor);
    let found = format!("{what} {compared:.2}, cells {cells:.2}, against {against}");
    Some((Rule::Comparison, found, format!("limit a factor of {AGREEMENT}")))
}

/// The cell of one side of a comparison.
fn cell_of(of: &Match, side: &Contender) -> CellKey {
    CellKey {
        case: of.case.clone(),
        guest: of.guest.clone(),
        engine: side.executor.engine.clone(),
        strategy: side.executor.strategy,
        threads: side.threads,
    }
}
