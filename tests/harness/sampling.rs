//! The rules of sampling, over mock engines.

use crate::mocked::{CASE, Place, Ran, engines, one_strategy};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use touchstone::plan::{Budget, FEWEST_CALLS_US, cores};
use touchstone::record::{Metric, Samples};
use touchstone::run::Job;
use touchstone_executor::harness::mock::{Answer, MockEngine};

/// All samples of a metric.
fn samples(ran: &Ran, metric: Metric) -> Vec<Samples> {
    ran.observations().iter().filter_map(|seen| seen.metrics.get(&metric).cloned()).collect()
}

#[test]
fn a_sample_is_at_least_twenty_microseconds_of_calls() {
    let warm = "[case]\nwarm = true\ntake = { export = \"take\", abi = \"substrate\" }";
    let place = Place::of(&CASE.replace("[case]", warm));
    for latency_ns in [0, 1, 60, 900, 7_000, 19_999, 20_001, 400_000, 30_000_000] {
        let engine = one_strategy("mock").with_latency(Duration::from_nanos(latency_ns));
        let engine = engine.answering(|call| match call.export {
            "take" => Answer::Output(Vec::new()),
            _ => Answer::Output(call.input.to_vec()),
        });
        let ran = place.run_all(&engine);
        for metric in [Metric::Call, Metric::WarmCall, Metric::WarmTake] {
            let all = samples(&ran, metric);
            assert_eq!(all.len(), 3, "{latency_ns} ns, {metric}: one for each process");
            for sample in all.iter().flat_map(|samples| &samples.0) {
                let least = (FEWEST_CALLS_US * 1000).max(sample.calls * latency_ns) as f64;
                assert!(sample.total >= least, "{latency_ns} ns, {metric}: {sample:?}");
                assert_eq!(sample.calls, sample.slowest);
            }
        }
    }
}

/// A mock of which one thread is slower than the other: the length of its calls by the name
/// of the thread.
fn by_thread(slow: Duration) -> MockEngine {
    one_strategy("mock").answering(move |call| {
        let thread = std::thread::current();
        let wait = match thread.name() {
            Some("crew-1") => slow,
            _ => Duration::from_micros(5),
        };
        let started = Instant::now();
        while started.elapsed() < wait {
            std::hint::spin_loop();
        }
        Answer::Output(call.input.to_vec())
    })
}

#[test]
fn on_two_threads_a_sample_counts_only_if_the_other_one_made_progress() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let place = Place::new("[2]");
    let ran = place.run_all(&by_thread(Duration::from_millis(1)));
    // After many tries it is published with a mark: what else the machine does fails no cell.
    assert_eq!((ran.came.cells.measured, ran.came.cells.marked, ran.came.failed()), (1, 1, 0));
    let all = samples(&ran, Metric::Call);
    assert!(all.iter().flat_map(|samples| &samples.0).all(|sample| !sample.clean), "{all:?}");

    let ran = place.run_all(&by_thread(Duration::from_micros(5)));
    let all = samples(&ran, Metric::Call);
    for sample in all.iter().flat_map(|samples| &samples.0).filter(|sample| sample.clean) {
        assert!(sample.slowest * 2 <= sample.calls && sample.slowest * 3 >= sample.calls);
        assert!(sample.total >= (2 * FEWEST_CALLS_US * 1000) as f64, "{sample:?}");
    }
}

/// Latency and throughput come from the same samples.
#[test]
fn throughput_is_threads_over_latency() {
    let ran = Place::new("[1, 2]").run_all(&by_thread(Duration::from_micros(5)));
    let book = ran.book();
    for cell in book.cells.keys() {
        let call = book.estimate(cell, Metric::Call).unwrap();
        let rate = book.throughput(cell).unwrap();
        let product = call.median * rate.median / 1e9;
        assert!((product - cell.threads as f64).abs() < 1e-9, "{cell:?}: {product}");
        assert_eq!(call.marked, rate.marked);
    }
}

/// The cells of two mocks in the order in which they were begun.
fn order(seed: u64) -> (Vec<String>, Ran) {
    let place = Place::new("[1]");
    let all = engines([&MockEngine::new("one"), &MockEngine::new("other")]);
    let job = place.job(&all);
    let job = Job { budget: Budget { seed, samples: 1, ..job.budget.clone() }, ..job };
    let ran = place.run(&all, job);
    (ran.told.begun.clone(), ran)
}

#[test]
fn every_cell_is_measured_in_three_processes_in_an_order_by_the_seed() {
    let (first, ran) = order(5);
    let mut processes: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for seen in ran.observations() {
        processes.entry(seen.cell.clone()).or_default().push(seen.process);
    }
    assert_eq!(processes.len(), ran.came.cells.measured);
    assert!(processes.values().all(|seen| *seen == [0, 1, 2]), "{processes:?}");

    let passes: Vec<&[String]> = first.chunks(processes.len()).collect();
    let [a, b, c] = passes[..] else { panic!("{} passes", passes.len()) };
    assert!(a != b && b != c && a != c, "each process has an order of its own");
    let set = |pass: &[String]| pass.iter().cloned().collect::<BTreeSet<_>>();
    assert!(set(a).len() == processes.len() && set(a) == set(b) && set(b) == set(c));
    // An engine has its process to itself.
    for pass in passes {
        let engines = pass.iter().map(|name| name.split(['/', '_']).nth(3).unwrap());
        let changes = engines.collect::<Vec<_>>().chunk_by(|a, b| a == b).count();
        assert_eq!(changes, 2, "{pass:?}");
    }
    assert_eq!(order(5).0, first);
    assert_ne!(order(6).0, first);
}
