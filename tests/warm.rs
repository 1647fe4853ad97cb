//! Calls on used instances: what is timed, what is compared, and what records say of it.

#[path = "fixtures/records.rs"]
#[allow(dead_code, reason = "the report's tests use the rest of it")]
mod fixtures;
#[path = "fixtures/mocked.rs"]
#[allow(dead_code, reason = "the tests of the harness use the rest of it")]
mod mocked;

use fixtures::{append, cell, records};
use mocked::{Fake, Place};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone::record::{self, CellRecord, Interval, Phases, Status};
use touchstone_executor::TrapKind;
use touchstone_executor::mock::{Answer, MockCall, MockEngine};

/// The case with lines added, and with the output that mocks with state give.
fn place(added: &str, output: &str) -> Place {
    Place::of(
        &mocked::CASE.replace("[case]", &format!("[case]\n{added}")).replace("0x2a000000", output),
    )
}

const WARM: &str = "warm = true";
const TAKE: &str = "warm = true\ntake = { export = \"take\", abi = \"substrate\" }";
/// What `echo` gives in mocks without state.
const ECHO: &str = "0x2a000000";
/// What it gives in mocks with state, on a clean instance.
const COUNTED: &str = "0x2a00000002000000";

fn run(place: &Place, engine: &MockEngine) -> CellRecord {
    place.run(&place.reuse_cells(engine), &mut Fake::default());
    let mut records = place.cell_records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

/// `echo` returns its input; `take` takes it and returns nothing.
fn answer(call: &MockCall<'_>) -> Answer {
    Answer::Output(if call.export == "echo" { call.input.to_vec() } else { Vec::new() })
}

fn assert_is_time(interval: Option<Interval>, at_least: f64) {
    let interval = interval.expect("it was timed");
    let (low, high) = (interval.low_ns.unwrap(), interval.high_ns.unwrap());
    assert!(at_least <= low && low <= interval.median_ns && interval.median_ns <= high);
}

#[test]
fn used_instances_are_timed_where_the_case_asks_for_it() {
    let engine = MockEngine::new("mock").answering(answer).with_latency(Duration::from_micros(30));
    let cold = run(&place("", ECHO), &engine).phases.unwrap();
    assert_eq!((cold.warm, cold.warm_take), (None, None));

    let warm = run(&place(WARM, ECHO), &engine).phases.unwrap();
    assert_is_time(warm.warm, 30_000.0);
    assert_eq!(warm.warm_take, None);

    let both = run(&place(TAKE, ECHO), &engine).phases.unwrap();
    assert_is_time(both.warm, 30_000.0);
    assert_is_time(both.warm_take, 30_000.0);
}

/// The mock's state comes back with each clean instance, and only there: a case whose
/// output shows it is right on clean ones and another one on used ones.
#[test]
fn clean_instances_are_reset_and_used_ones_are_not() {
    let engine = MockEngine::new("mock").answering(answer).leaking(|_| None);
    let clean = run(&place("", COUNTED), &engine);
    assert_eq!((clean.status, clean.reason), (Status::Ok, None));

    let used = run(&place(WARM, COUNTED), &engine);
    assert_eq!(used.status, Status::Failed);
    let reason = used.reason.unwrap();
    let (_, got) = reason.split_once("expected 0x2a00000002000000, got 0x2a000000").unwrap();
    let count = u32::from_str_radix(got.get(..8).unwrap(), 16).unwrap().swap_bytes();
    // One at first, and one more with each call: two, one, those of a sample, and at
    // least six samples.
    assert!(count > 10, "{reason}");
    // None of its numbers is published, the fresh ones neither.
    assert!(used.median_ns.is_none() && used.phases.is_none(), "{:?}", used.phases);
}

#[test]
fn what_breaks_on_a_used_instance_fails_the_cell() {
    // Each call is as on a clean instance until the measurement of used ones begins.
    let calls = |added: &str| {
        let counter = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&counter);
        let engine = MockEngine::new("mock").answering(move |call| {
            count.fetch_add(1, Ordering::Relaxed);
            answer(call)
        });
        assert_eq!(run(&place(added, ECHO), &engine).status, Status::Ok);
        counter.load(Ordering::Relaxed)
    };
    assert!(calls(WARM) > 0);
    for (export, answer_then, says) in [
        ("take", Answer::Trap(TrapKind::Unreachable.into()), "unreachable executed"),
        ("take", Answer::Fail("the disk is gone".into()), "the disk is gone"),
    ] {
        let taken = Arc::new(AtomicU64::new(0));
        let engine = MockEngine::new("mock").answering(move |call| {
            // The first one is the check when the cell is opened.
            if call.export == export && taken.fetch_add(1, Ordering::Relaxed) > 3 {
                return answer_then.clone();
            }
            answer(call)
        });
        let cell = run(&place(TAKE, ECHO), &engine);
        assert_eq!(cell.status, Status::Failed, "{says}");
        assert!(cell.reason.as_deref().unwrap().contains(says), "{:?}", cell.reason);
        assert!(cell.median_ns.is_none() && cell.phases.is_none());
    }
}

#[test]
fn what_only_takes_the_input_is_checked_before_anything_is_timed() {
    let wrong = MockEngine::new("mock").answering(|call| Answer::Output(call.input.to_vec()));
    let cell = run(&place(TAKE, ECHO), &wrong);
    assert_eq!(cell.status, Status::Wrong);
    assert_eq!(cell.reason.as_deref(), Some("expected 0x, got 0x2a000000"));

    let added = TAKE.replace("\"take\"", "\"toke\"");
    let cell = run(&place(&added, ECHO), &MockEngine::new("mock").answering(answer));
    assert_eq!(cell.status, Status::Failed);
    assert!(cell.reason.as_deref().unwrap().contains("'toke'"), "{:?}", cell.reason);
}

/// Each kind of call is timed without the other in between, on one instance.
#[test]
fn calls_and_taking_are_timed_one_after_the_other() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&calls);
    let engine = MockEngine::new("mock").answering(move |call| {
        note.lock().unwrap().push(call.export == "take");
        answer(call)
    });
    run(&place(TAKE, ECHO), &engine);
    let calls = calls.lock().unwrap();
    // Opening: two calls and one that takes. The rest: calls, then those that take.
    assert_eq!(calls[..4], [false, false, true, false]);
    // Both again, where the first time was disturbed.
    let kinds: Vec<&[bool]> = calls[3..].chunk_by(|one, other| one == other).collect();
    assert!(kinds.len() >= 2 && kinds.len().is_multiple_of(2), "{}", kinds.len());
    assert!(kinds.iter().all(|calls| calls.len() > 10), "{kinds:?}");
    assert_eq!(engine.journal().iter().filter(|entry| *entry == "instance").count(), 1);
}

#[test]
fn records_with_and_without_these_times_come_back() {
    let interval = Interval { median_ns: 360.5, low_ns: Some(355.0), high_ns: Some(371.25) };
    let few = Interval { median_ns: 12.0, low_ns: None, high_ns: None };
    let mut all = [None, Some((interval, None)), Some((interval, Some(few)))].map(|times| {
        let mut cell = cell("alpha", "pooling", "decode", 1, 2000.0);
        cell.phases = Some(Phases {
            prepare_ns: 100,
            warm: times.map(|(warm, _)| warm),
            warm_take: times.and_then(|(_, take)| take),
            ..Phases::default()
        });
        cell
    });
    all[2].key.title = Some("a guest/a scenario".to_owned());
    let all = records(all);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    append(&path, &all);
    let loaded = record::load(&path).unwrap();
    assert_eq!((&loaded.records, loaded.skipped), (&all, Vec::new()));
    assert_eq!(loaded.records[2].id(), "a guest/a scenario/alpha_pooling/1_threads");
    // What was not timed has no key: records look as they did before there were any.
    let text = std::fs::read_to_string(&path).unwrap();
    let has = |key: &str| text.lines().map(|line| line.contains(key)).collect::<Vec<_>>();
    assert_eq!(has("\"warm\""), [false, true, true]);
    assert_eq!(has("\"warm_take\""), [false, false, true]);
    assert_eq!(has("\"title\""), [false, false, true]);
}
