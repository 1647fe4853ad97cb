//! The harness over a mock engine: what becomes of a cell that is wrong, traps,
//! fails or cannot be had, and what is done how often.

#[path = "fixtures/mocked.rs"]
#[allow(dead_code, reason = "the tests of peers use the rest of it")]
mod mocked;

use mocked::{Fake, Place};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone::matrix::Filter;
use touchstone::measure::PairPlan;
use touchstone::pairs::{self, Kind};
use touchstone::record::{CellRecord, Status};
use touchstone::run::Tally;
use touchstone::session::{cores, refused_beforehand};
use touchstone_executor::mock::{Answer, MockEngine};
use touchstone_executor::{
    CodeFrom, Execution, InstanceFrom, MemoryFrom, Strategy, Support, TrapKind,
};

const REUSE: Strategy = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Segments);

/// A mock that has one strategy, so that a case is one cell.
fn one_strategy(id: &'static str) -> MockEngine {
    MockEngine::new(id).supporting(|strategy| match strategy {
        REUSE => Support::Native,
        _ => Support::unsupported("only reuse here"),
    })
}

fn assert_no_times(cell: &CellRecord) {
    let numbers = [cell.median_ns, cell.low_ns, cell.high_ns, cell.throughput_per_s];
    assert_eq!(numbers, [None; 4]);
    assert!(cell.samples.is_empty() && cell.throughput_rounds.is_empty());
    assert!(cell.phases.is_none() && cell.other_threads_calls.is_empty());
}

/// Runs the one cell of a mock and gives back its record.
fn one_cell(engine: MockEngine) -> (CellRecord, Fake, Tally) {
    let place = Place::new("[1]");
    let cells = place.cells(&[Arc::new(engine)]);
    let cell = cells.into_iter().find(|cell| cell.strategy == REUSE).unwrap();
    let mut fake = Fake::default();
    let tally = place.run(&[cell], &mut fake);
    let mut records = place.cell_records();
    assert_eq!(records.len(), 1);
    (records.remove(0), fake, tally)
}

#[test]
fn a_right_cell_has_times_and_what_was_in_force() {
    let (cell, fake, tally) =
        one_cell(one_strategy("right").with_latency(Duration::from_micros(50)));
    assert_eq!((cell.status, cell.reason.as_deref()), (Status::Ok, None));
    assert_eq!(tally, Tally { timed: 1, ..Tally::default() });
    assert_eq!(fake.sampled, [cell.key.function()]);
    assert!(cell.median_ns.unwrap() >= 50_000.0);
    assert!(cell.low_ns.unwrap() <= cell.median_ns.unwrap());
    assert!(cell.high_ns.unwrap() >= cell.median_ns.unwrap());
    assert!(cell.throughput_per_s.unwrap() <= 20_000.0);
    assert_eq!(cell.effective["execution"], "mock");
    assert_eq!((cell.support.as_deref(), &*cell.runtime_version), (Some("native"), "mock 1.0"));
    assert_eq!(cell.guest_sha256.len(), 64);
    let phases = cell.phases.unwrap();
    assert!(phases.invoke_ns >= 50_000 && phases.first_call_ns >= 50_000);
}

#[test]
fn a_wrong_output_is_recorded_and_never_timed() {
    let engine = one_strategy("wrong").answering(|_| Answer::Output(vec![0xba, 0xd0]));
    let (cell, fake, tally) = one_cell(engine);
    assert_eq!(cell.status, Status::Wrong);
    assert_eq!(cell.reason.as_deref(), Some("expected 0x2a000000, got 0xbad0"));
    assert_eq!(tally, Tally { failed: 1, ..Tally::default() });
    assert!(fake.sampled.is_empty());
    assert_no_times(&cell);
}

/// What the kernel gives.
const KERNEL: i64 = -2561946500405097881;

/// What an engine claims is held against a compute kernel's speed: a thousandth
/// of native code's is no compiled code.
#[test]
fn a_compiled_row_that_interprets_is_an_error_row() {
    let slow = one_strategy("slow")
        .executing(Execution::Compiled)
        .with_latency(Duration::from_millis(20))
        .answering(|call| match call.export {
            "kernel" => Answer::Output(KERNEL.to_le_bytes().to_vec()),
            _ => Answer::Output(call.input.to_vec()),
        });
    let (cell, _, _) = one_cell(slow);
    assert_eq!(cell.status, Status::Failed);
    let reason = cell.reason.clone().unwrap();
    assert!(reason.contains("it is said to be compiled"), "{reason}");
    assert_no_times(&cell);
}

#[test]
fn an_instance_that_leaks_is_found_by_the_second_call() {
    let engine = one_strategy("leaky").answering(|call| match call.calls_before {
        0 => Answer::Output(call.input.to_vec()),
        _ => Answer::Output(vec![1]),
    });
    let (cell, fake, _) = one_cell(engine);
    assert_eq!((cell.status, fake.sampled.len()), (Status::Wrong, 0));
}

#[test]
fn a_trap_a_failure_and_a_refusal_each_have_their_status() {
    let trapping =
        one_strategy("trapping").answering(|_| Answer::Trap(TrapKind::Unreachable.into()));
    let (cell, fake, tally) = one_cell(trapping);
    assert_eq!(cell.status, Status::Trapped);
    assert_eq!(cell.reason.as_deref(), Some("unreachable executed"));
    assert_eq!((fake.sampled.len(), tally.failed), (0, 1));
    assert_no_times(&cell);

    let failing = one_strategy("failing").answering(|_| Answer::Fail("the disk is gone".into()));
    let (cell, fake, tally) = one_cell(failing);
    assert_eq!(cell.status, Status::Failed);
    assert!(cell.reason.as_deref().unwrap().contains("the disk is gone"));
    assert_eq!((fake.sampled.len(), tally.failed), (0, 1));
    assert_no_times(&cell);

    let refusing = MockEngine::new("refusing").supporting(|_| Support::unsupported("no such pool"));
    let (cell, fake, tally) = one_cell(refusing.clone());
    assert_eq!((cell.status, cell.reason.as_deref()), (Status::Unsupported, Some("no such pool")));
    assert_eq!((fake.sampled.len(), tally.left_out, tally.failed), (0, 1, 0));
    assert!(refusing.journal().is_empty(), "{:?}", refusing.journal());
    assert_no_times(&cell);
}

#[test]
fn what_is_emulated_is_timed_and_says_how() {
    let engine = MockEngine::new("emulating")
        .supporting(|_| Support::Emulated { how: "with a memory of ours" });
    let (cell, _, _) = one_cell(engine);
    assert_eq!(cell.status, Status::Ok);
    assert_eq!(cell.support.as_deref(), Some("emulated"));
    assert_eq!(cell.reason.as_deref(), Some("with a memory of ours"));
    assert!(cell.median_ns.is_some());
}

#[test]
fn more_threads_than_processors_are_skipped_before_anything_is_loaded() {
    let engine = one_strategy("crowded");
    let place = Place::new(&format!("[{}]", cores() + 1));
    let cells = place.reuse_cells(&engine);
    let tally = place.run(&cells, &mut Fake::default());
    assert_eq!(tally, Tally { left_out: 1, ..Tally::default() });
    assert!(engine.journal().is_empty());
    // Nothing is known about such a cell: there is no record of it either.
    assert!(place.cell_records().is_empty());
    let refused = refused_beforehand(&cells[0], cores()).unwrap();
    assert_eq!(refused.status, Status::Skipped);
    assert!(refused.reason.contains("processors"), "{}", refused.reason);
}

#[test]
fn guests_with_other_bytes_than_the_listed_are_not_timed() {
    let engine = one_strategy("digest");
    let place = Place::new("[1]");
    let mut bytes = std::fs::read(place.guest_file()).unwrap();
    // A custom section of one byte: valid, and another module.
    bytes.extend([0, 1, 0]);
    std::fs::write(place.guest_file(), bytes).unwrap();
    place.run(&place.reuse_cells(&engine), &mut Fake::default());
    let cell = place.cell_records().remove(0);
    assert_eq!((cell.status, &*cell.guest_sha256), (Status::Failed, ""));
    assert!(cell.reason.as_deref().unwrap().contains("SHA256SUMS"), "{:?}", cell.reason);
    assert!(engine.journal().is_empty());
}

#[test]
fn only_what_is_asked_for_is_compiled_and_loaded() {
    let (asked, other) = (MockEngine::new("asked"), MockEngine::new("other"));
    let place = Place::new("[1]");
    let all = place.cells(&[Arc::new(asked.clone()), Arc::new(other.clone())]);
    let chosen = touchstone::matrix::select(all, Some("asked_pooling_cow/")).unwrap();
    assert_eq!(chosen.len(), 1);
    place.run(&chosen, &mut Fake::default());
    assert_eq!(other.journal(), [""; 0]);
    let journal = asked.journal();
    assert_eq!(journal[..3], ["compile guest", "load pooling_cow", "instance"]);
    assert_eq!(journal.iter().filter(|entry| entry.starts_with("load")).count(), 1);
}

#[test]
fn rows_that_differ_in_threads_share_a_module_and_strategies_an_artifact() {
    let engine = MockEngine::new("sharing");
    // Two rows of one thread each, so that they run on any machine.
    let place = Place::new("[1, 1]");
    let cells = place.cells(&[Arc::new(engine.clone())]);
    assert_eq!(cells.len(), Strategy::all().len() * 2);
    place.run(&cells, &mut Fake::default());
    let journal = engine.journal();
    let count = |start: &str| journal.iter().filter(|entry| entry.starts_with(start)).count();
    assert_eq!((count("compile"), count("load")), (1, Strategy::all().len()));
}

#[test]
fn an_instance_is_handed_from_one_measurement_to_the_next() {
    let engine = one_strategy("handing");
    let place = Place::new("[1, 1]");
    place.run(&place.reuse_cells(&engine), &mut Fake::default());
    let instances = engine.journal().iter().filter(|entry| *entry == "instance").count();
    // Check, sampling, throughput and phases of both rows.
    assert_eq!(instances, 1);
    let first: Vec<u64> =
        place.cell_records().iter().map(|c| c.phases.as_ref().unwrap().first_call_ns).collect();
    assert_eq!(first[0], first[1], "the first call of a module was made once");
}

#[test]
fn the_output_is_checked_twice_before_the_first_sample() {
    let calls = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&calls);
    let engine = one_strategy("checked").answering(move |call| {
        counter.fetch_add(1, Ordering::Relaxed);
        Answer::Output(call.input.to_vec())
    });
    let place = Place::new("[1]");
    let mut fake = Fake { before_sampling: Some(Arc::clone(&calls)), ..Fake::default() };
    place.run(&place.reuse_cells(&engine), &mut fake);
    assert_eq!(fake.calls_before_sampling, [2]);
}

/// Wherever a cell breaks after its check, none of its numbers is published.
#[test]
fn a_cell_that_breaks_half_way_has_no_times() {
    let calls_of_a_whole_cell = {
        let calls = Arc::new(AtomicU64::new(0));
        one_cell(breaking_after(u64::MAX, &calls));
        calls.load(Ordering::Relaxed)
    };
    // In the sampling, which makes 10 calls; in the throughput; at the very end.
    for good_calls in [2, 7, 13, calls_of_a_whole_cell / 2] {
        let (cell, fake, tally) = one_cell(breaking_after(good_calls, &Arc::default()));
        assert_eq!(cell.status, Status::Failed, "after {good_calls}");
        assert_eq!(cell.reason.as_deref(), Some("unreachable executed"));
        assert_eq!((fake.sampled.len(), tally.failed, tally.timed), (1, 1, 0));
        assert_eq!(cell.effective["execution"], "mock");
        assert_no_times(&cell);
    }
}

fn breaking_after(good_calls: u64, calls: &Arc<AtomicU64>) -> MockEngine {
    let calls = Arc::clone(calls);
    one_strategy("breaking").answering(move |call| {
        if calls.fetch_add(1, Ordering::Relaxed) < good_calls {
            Answer::Output(call.input.to_vec())
        } else {
            Answer::Trap(TrapKind::Unreachable.into())
        }
    })
}

#[test]
fn the_other_threads_are_counted() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let engine = one_strategy("threads").with_latency(Duration::from_micros(20));
    let place = Place::new("[1, 2]");
    place.run(&place.reuse_cells(&engine), &mut Fake::default());
    let [alone, beside]: [CellRecord; 2] = place.cell_records().try_into().unwrap();
    assert!(alone.other_threads_calls.is_empty());
    assert_eq!(beside.other_threads_calls.len(), 1);
    assert!(beside.throughput_rounds.iter().all(|(_, calls)| calls.len() == 2));
    assert_eq!((alone.status, beside.status), (Status::Ok, Status::Ok));
}

/// The processors that the calling thread may run on.
fn allowed() -> Vec<usize> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    (0..nix::sched::CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap()).collect()
}

/// Otherwise one may wait for another, on its processor, while that is timed.
#[test]
fn threads_that_are_timed_together_have_a_processor_each() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let everywhere = allowed();
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let note = Arc::clone(&seen);
    let engine = one_strategy("pinned").answering(move |call| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default().to_owned();
        note.lock().unwrap().insert((name, allowed()));
        Answer::Output(call.input.to_vec())
    });
    // One thread after several: where it may run must be as before.
    let place = Place::new("[1, 2, 1]");
    let rows: Vec<_> = place
        .reuse_cells(&engine)
        .chunks(1)
        .map(|cell| {
            place.run(cell, &mut Fake::default());
            std::mem::take(&mut *seen.lock().unwrap())
        })
        .collect();
    let [before, together, after] = &rows[..] else { panic!("three rows, not {}", rows.len()) };
    for alone in [before, after] {
        assert!(alone.iter().all(|(_, at)| *at == everywhere), "{alone:?}");
    }
    // While the cell is opened, nothing is timed.
    let own = |of: &dyn Fn(&str) -> bool| -> Vec<&Vec<usize>> {
        let of = together.iter().filter(|(name, at)| of(name) && *at != everywhere);
        of.map(|(_, at)| at).collect()
    };
    let workers = own(&|name| name.starts_with("worker-"));
    let timed_and_other = own(&|name| !name.starts_with("worker-"));
    for group in [workers, timed_and_other] {
        assert_eq!(group.iter().map(|at| at.len()).collect::<Vec<_>>(), [1, 1], "{together:?}");
        assert_ne!(group[0], group[1]);
    }
    assert_eq!(allowed(), everywhere);
}

#[test]
fn a_sampler_that_measures_nothing_where_it_should_fails_the_cell() {
    let place = Place::new("[1]");
    let mut fake = Fake { measures_nothing: true, ..Fake::default() };
    let tally = place.run(&place.reuse_cells(&one_strategy("tried")), &mut fake);
    assert_eq!(tally, Tally { failed: 1, ..Tally::default() });
    assert_eq!(fake.sampled.len(), 1);
    let records = place.cell_records();
    assert_eq!((records[0].status, records[0].median_ns), (Status::Failed, None));
}

#[test]
fn cells_that_are_only_tried_out_leave_no_record() {
    let place = Place::new("[1]");
    let mut fake = Fake { measures_nothing: true, ..Fake::default() };
    let tally = place.try_out(&place.reuse_cells(&one_strategy("tried")), &mut fake);
    assert_eq!(tally, Tally { tried: 1, ..Tally::default() });
    assert_eq!(fake.sampled.len(), 1);
    assert!(!place.records().exists());
}

#[test]
fn an_output_that_changes_after_many_calls_is_found() {
    let engine = one_strategy("tiring").answering(|call| match call.calls_before {
        0..5 => Answer::Output(call.input.to_vec()),
        _ => Answer::Output(vec![1]),
    });
    let (cell, fake, _) = one_cell(engine);
    assert_eq!((cell.status, fake.sampled.len()), (Status::Failed, 1));
    assert!(cell.reason.as_deref().unwrap().contains("expected 0x2a000000, got 0x01"));
    assert_no_times(&cell);
}

#[test]
fn records_are_appended_in_the_order_of_the_cells() {
    let engine = MockEngine::new("ordered");
    let place = Place::new("[1]");
    let cells = place.cells(&[Arc::new(engine)]);
    place.run(&cells[..3], &mut Fake::default());
    let first = std::fs::read(place.records()).unwrap();
    place.run(&cells[1..], &mut Fake::default());
    let all = std::fs::read(place.records()).unwrap();
    assert!(all.starts_with(&first));
    let found: Vec<_> = place.cell_records().into_iter().map(|cell| cell.key).collect();
    let expected: Vec<_> = cells[..3].iter().chain(&cells[1..]).map(|c| c.key.clone()).collect();
    assert_eq!(found, expected);
}

#[test]
fn pairs_are_one_thread_in_process_and_end_with_a_null_row() {
    let engine =
        mocked::WithRaw(MockEngine::new("raw").supporting(|strategy| match strategy.instance {
            InstanceFrom::Pooling | InstanceFrom::PoolingLate => Support::unsupported("no pool"),
            _ => Support::Native,
        }));
    let place = Place::new("[1, 2]");
    let cells = place.cells(&[Arc::new(engine)]);
    let pairs = pairs::pairs(&cells);
    assert!(pairs.iter().all(|pair| pair.cell.key.threads == 1
        && pair.cell.strategy.code == CodeFrom::InProcess
        && pair.cell.strategy.instance != InstanceFrom::Pooling));
    let of = |kind| pairs.iter().filter(move |pair| pair.kind == kind).map(|pair| pair.id());
    // The plain interpreted one, and four memories each of reuse and recreate.
    assert_eq!(of(Kind::Overhead).count(), 9);
    let null: Vec<_> = of(Kind::Null).collect();
    assert_eq!(null, ["null/raw_recreate_instance_tracked/echo_from_guest/1_threads"]);

    let selected = pairs::select(pairs, &Filter::new(Some("overhead/raw_instance_reuse/")));
    assert_eq!(selected.len(), 1);
    let plain = place.cells(&[Arc::new(MockEngine::new("plain"))]);
    assert!(pairs::pairs(&plain).is_empty());
}

#[test]
fn all_others_are_held_against_the_executor_that_the_case_names() {
    let place = Place::new("[1, 2]").against("one_instance_reuse");
    let engines: [Arc<dyn touchstone_executor::Engine>; 2] =
        [Arc::new(one_strategy("one")), Arc::new(one_strategy("other"))];
    let pairs = pairs::pairs(&place.cells(&engines));
    let ids: Vec<_> = pairs.iter().map(pairs::Pair::id).collect();
    assert_eq!(ids, ["against/other_instance_reuse/echo_from_guest/1_threads"]);
    let plan =
        PairPlan { rounds: 11, at_most: Duration::from_secs(5), round: Duration::from_micros(200) };
    let record =
        pairs::measure(&mut place.session(), &pairs[0], plan, &place.provenance()).unwrap();
    assert_eq!((&*record.group, &*record.reference), ("against", "one_instance_reuse"));
    // Without the named one in the build there is nothing to hold against.
    assert!(pairs::pairs(&place.cells(&engines[1..])).is_empty());
}

#[test]
fn a_pair_is_checked_and_timed_in_turns() {
    let plan =
        PairPlan { rounds: 11, at_most: Duration::from_secs(5), round: Duration::from_micros(200) };
    let engine = mocked::WithRaw(one_strategy("raw").with_latency(Duration::from_micros(20)));
    let place = Place::new("[1]");
    let pairs = pairs::pairs(&place.cells(&[Arc::new(engine)]));
    assert_eq!(pairs.len(), 2);
    for pair in &pairs {
        let record = pairs::measure(&mut place.session(), pair, plan, &place.provenance()).unwrap();
        assert_eq!(record.id(), pair.id());
        // Five set-ups of three rounds, and again those that were disturbed, for a while.
        let (all, disturbed) = (record.rounds.len(), record.disturbed.len());
        assert!(all == 15 || all > 15 && disturbed > 0, "{all} rounds, {disturbed} disturbed");
        assert!(record.ratio_low <= record.ratio && record.ratio <= record.ratio_high);
        match pair.kind {
            // The raw reference of the mock does nothing.
            Kind::Overhead => assert!(record.ratio > 10.0, "{}", record.ratio),
            Kind::Null | Kind::Against => {
                assert!((0.2..5.0).contains(&record.ratio), "{}", record.ratio)
            }
        }
    }
    let wrong = mocked::WithRaw(one_strategy("raw").answering(|_| Answer::Output(vec![9])));
    let pairs = pairs::pairs(&place.cells(&[Arc::new(wrong)]));
    let error = pairs::measure(&mut place.session(), &pairs[0], plan, &place.provenance());
    assert!(error.unwrap_err().to_string().contains("expected 0x2a000000"));
}
