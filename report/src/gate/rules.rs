//! The rules of publication.

use super::{Rule, Violation};
use crate::units::{self, MARK, count, grouped, percent};
use touchstone_executor::Execution;
use touchstone_record::compare;
use touchstone_record::estimate::PROCESSES;
use touchstone_record::{Book, CellKey, Comparison, Match, Metric, Purpose, Sample};

/// Factor by which two ways to the same ratio may differ.
const AGREEMENT: f64 = 1.3;
/// Calls that have to stand behind a time below [`SHORT_NS`].
const LEAST_CALLS: u64 = 1000;
/// Shortest sample, ns; shorter ones are too close to the steps of the clock.
const SHORT_NS: f64 = 20_000.0;
/// How many times the fastest engine's time a warm call of the baseline may take.
const BASELINE: f64 = 1.05;
/// Share of marked cells from which on a run is not published.
const MOST_MARKED: f64 = 0.05;
/// End of the name of a commit whose tree had changes.
const DIRTY: &str = "-dirty";

/// The metrics that are times of whole calls, sampled in batches.
const LATENCIES: [Metric; 3] = [Metric::Call, Metric::WarmCall, Metric::WarmTake];

/// All violations: of the whole run, then cell by cell, then of comparisons.
pub(super) fn violations(book: &Book, peers: Option<&Book>) -> Vec<Violation> {
    let cells = book.cells.keys().flat_map(|cell| of_cell(book, cell));
    let compared = [Some(book), peers].into_iter().flatten().flat_map(|own| &own.comparisons);
    let compared = compared.filter_map(|(of, processes)| comparison(book, of, processes));
    of_run(book).into_iter().chain(cells).chain(compared).collect()
}

fn of_run(book: &Book) -> Vec<Violation> {
    let broken = |found, limit| Violation { cell: None, found: (found, limit), is_tie: false };
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

fn of_cell(book: &Book, cell: &CellKey) -> impl Iterator<Item = Violation> {
    let calls = book.used(cell, Metric::Call);
    let short = LATENCIES.map(|metric| short_samples(book, cell, metric));
    let others = [
        scaling(book, cell),
        few_calls(book, cell, &calls),
        few_processes(book, cell),
        baseline(book, cell),
    ];
    short.into_iter().chain(others).flatten()
}

fn broken(cell: &CellKey, rule: Rule, found: String, limit: String) -> Option<Violation> {
    Some(Violation { cell: Some((cell.clone(), rule)), found: (found, limit), is_tie: false })
}

fn scaling(book: &Book, cell: &CellKey) -> Option<Violation> {
    let (ratio, limit) = book.impossible_scaling(cell)?;
    let found = format!("scaling {:.2} on {}", ratio.median, count(cell.threads, "thread"));
    let above = broken(cell, Rule::Scaling, found, format!("limit {limit:.2}"))?;
    Some(Violation { is_tie: ratio.ends().0 <= limit, ..above })
}

fn few_calls(book: &Book, cell: &CellKey, samples: &[Sample]) -> Option<Violation> {
    let ns = book.estimate(cell, Metric::Call)?.median;
    let calls: u64 = samples.iter().map(|sample| sample.calls).sum();
    if ns >= SHORT_NS || calls >= LEAST_CALLS {
        return None;
    }
    let found = format!("{calls} calls behind {}", units::time(ns));
    broken(cell, Rule::FewCalls, found, format!("limit {} calls", grouped(LEAST_CALLS)))
}

fn short_samples(book: &Book, cell: &CellKey, metric: Metric) -> Option<Violation> {
    let mut samples = book.used(cell, metric);
    samples.retain(|sample| sample.clean);
    let times = samples.iter().map(|sample| sample.total / cell.threads as f64);
    let short: Vec<f64> = times.filter(|time| *time < SHORT_NS).collect();
    let shortest = units::time(short.iter().copied().min_by(f64::total_cmp)?);
    let (short, of) = (short.len(), count(samples.len(), "sample"));
    let found = format!("{metric}: {short} of {of} too short, the shortest {shortest}");
    broken(cell, Rule::ShortSample, found, format!("limit {}", units::time_short(SHORT_NS)))
}

fn few_processes(book: &Book, cell: &CellKey) -> Option<Violation> {
    match book.samples(cell, Metric::Call).len() {
        processes @ 1..PROCESSES => {
            let found = format!("measured in {processes} processes");
            broken(cell, Rule::Processes, found, format!("limit {PROCESSES}"))
        }
        _ => None,
    }
}

/// Without a runtime nothing has to be slower than with one.
fn baseline(book: &Book, cell: &CellKey) -> Option<Violation> {
    let facts = book.header.engines.get(&cell.engine);
    facts.filter(|facts| facts.execution == Execution::Native)?;
    let own = book.estimate(cell, Metric::WarmCall)?;
    let others = book.cells.keys().filter(|of| {
        of.engine != cell.engine && of.work() == cell.work() && of.threads == cell.threads
    });
    let times = others.filter_map(|of| Some((book.estimate(of, Metric::WarmCall)?, of)));
    let (best, of) = times.min_by(|(a, _), (b, _)| a.median.total_cmp(&b.median))?;
    let ratio = own.over(best);
    if ratio.marked || ratio.median <= BASELINE {
        return None;
    }
    let (own, best) = (units::time(own.median), units::time(best.median));
    let found = format!("a warm call takes {own}, with {} {best}", of.executor());
    let slower = broken(cell, Rule::Baseline, found, format!("limit {BASELINE} times"))?;
    Some(Violation { is_tie: ratio.ends().0 <= BASELINE, ..slower })
}

/// Only comparisons that do what cells do, on as many threads, and only where interference
/// touched neither.
fn comparison(book: &Book, of: &Match, processes: &[Comparison]) -> Option<Violation> {
    let is_like_cells = matches!(of.purpose, Purpose::Against | Purpose::Peers | Purpose::Overview)
        && [&of.subject, &of.baseline].iter().all(|side| side.means.is_contract())
        && of.subject.threads == of.baseline.threads;
    if !is_like_cells {
        return None;
    }
    let compared = compare::judge(processes, compare::MARGIN)?.ratio;
    let time = |side| book.estimate(&of.cell(side), Metric::Call);
    let cells = time(&of.subject)?.over(time(&of.baseline)?);
    let ratio = compared.over(cells);
    let agrees = |ratio: f64| ratio.max(1.0 / ratio) <= AGREEMENT;
    if ratio.marked || agrees(ratio.median) {
        return None;
    }
    let what = if of.purpose == Purpose::Peers { "peers" } else { "comparison" };
    let (compared, cells) = (compared.median, cells.median);
    let against = &of.baseline.executor;
    let found = format!("{what} {compared:.2}, cells {cells:.2}, against {against}");
    let limit = format!("limit a factor of {AGREEMENT}");
    let differs = broken(&of.cell(&of.subject), Rule::Comparison, found, limit)?;
    let (low, high) = ratio.ends();
    Some(Violation { is_tie: low <= AGREEMENT && high >= 1.0 / AGREEMENT, ..differs })
}
