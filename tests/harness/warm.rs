//! Calls on used instances: what is timed, what is compared, and what records say of it.

use crate::mocked::{Place, Ran, one_strategy};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone::plan::Budget;
use touchstone::record::{Estimate, Metric, Refusal, Status};
use touchstone::run::Job;
use touchstone_executor::TrapKind;
use touchstone_executor::harness::mock::{Answer, MockCall};

/// The case with lines added, and with the output that mocks with state give.
fn place(added: &str, output: &str) -> Place {
    Place::of(
        &crate::mocked::CASE
            .replace("[case]", &format!("[case]\n{added}"))
            .replace("0x2a000000", output),
    )
}

const WARM: &str = "warm = true";
const TAKE: &str = "warm = true\ntake = { export = \"take\", abi = \"substrate\" }";
/// Output of `echo` in mocks without state.
const ECHO: &str = "0x2a000000";
/// Output in mocks with state, on a clean instance.
const COUNTED: &str = "0x2a00000002000000";

/// The estimate of a metric of the one cell.
fn estimate(ran: &Ran, metric: Metric) -> Option<Estimate> {
    let book = ran.book();
    let cell = book.cells.keys().next().expect("it was measured");
    book.estimate(cell, metric)
}

/// Why the one cell has no time. None of its numbers is published, the clean ones neither.
fn refused(ran: &Ran) -> Refusal {
    assert!(ran.book().cells.is_empty());
    assert_eq!((ran.came.cells.failed, ran.came.cells.measured), (1, 0));
    let [refusal] = ran.refusals()[..] else { panic!("{:?}", ran.refusals()) };
    refusal.clone()
}

/// `echo` returns its input; `take` takes it and returns nothing.
fn answer(call: &MockCall<'_>) -> Answer {
    Answer::Output(if call.export == "echo" { call.input.to_vec() } else { Vec::new() })
}

#[test]
fn used_instances_are_timed_where_the_case_asks_for_it() {
    let engine = one_strategy("mock").answering(answer).with_latency(Duration::from_micros(30));
    let times = |added: &str| {
        let ran = place(added, ECHO).run_all(&engine);
        [Metric::WarmCall, Metric::WarmTake].map(|metric| {
            let estimate = estimate(&ran, metric)?;
            // Only interference takes the interval away, and then the estimate is marked.
            assert!(estimate.interval.is_some() || estimate.marked, "{estimate:?}");
            let (low, high) = estimate.ends();
            assert!(low <= estimate.median && estimate.median <= high);
            assert!(estimate.median >= 30_000.0, "{estimate:?}");
            Some(metric)
        })
    };
    assert_eq!(times(""), [None, None]);
    assert_eq!(times(WARM), [Some(Metric::WarmCall), None]);
    assert_eq!(times(TAKE), [Some(Metric::WarmCall), Some(Metric::WarmTake)]);
}

/// The mock's state comes back with each clean instance, and only there: a case whose
/// output shows it is right on clean ones and another one on used ones.
#[test]
fn clean_instances_are_reset_and_used_ones_are_not() {
    let engine = one_strategy("mock").answering(answer).leaking(|_| None);
    let clean = place("", COUNTED).run_all(&engine);
    assert_eq!((clean.came.cells.measured, clean.came.failed()), (1, 0));

    let used = refused(&place(WARM, COUNTED).run_all(&engine));
    assert_eq!(used.status, Status::Failed);
    let reason = used.reason;
    let (_, got) = reason.split_once("expected 0x2a00000002000000, got 0x2a000000").unwrap();
    let count = u32::from_str_radix(got.get(..8).unwrap(), 16).unwrap().swap_bytes();
    // One at first, and one more with each call: two, one, and those of all samples.
    assert!(count > 5, "{reason}");
}

#[test]
fn what_breaks_on_a_used_instance_fails_the_cell() {
    for (export, answer_then, says) in [
        ("take", Answer::Trap(TrapKind::Unreachable.into()), "unreachable executed"),
        ("take", Answer::Fail("the disk is gone".into()), "the disk is gone"),
    ] {
        let taken = Arc::new(AtomicU64::new(0));
        let engine = one_strategy("mock").answering(move |call| {
            // The first one is the check when the cell is opened.
            if call.export == export && taken.fetch_add(1, Ordering::Relaxed) > 3 {
                return answer_then.clone();
            }
            answer(call)
        });
        let refusal = refused(&place(TAKE, ECHO).run_all(&engine));
        assert_eq!(refusal.status, Status::Failed, "{says}");
        assert!(refusal.reason.contains(says), "{}", refusal.reason);
    }
}

#[test]
fn what_only_takes_the_input_is_checked_before_anything_is_timed() {
    let wrong = one_strategy("mock").answering(|call| Answer::Output(call.input.to_vec()));
    let refusal = refused(&place(TAKE, ECHO).run_all(&wrong));
    assert_eq!(refusal.status, Status::Wrong);
    assert_eq!(refusal.reason, "expected empty, got 0x2a000000");

    let added = TAKE.replace("\"take\"", "\"toke\"");
    let refusal = refused(&place(&added, ECHO).run_all(&one_strategy("mock").answering(answer)));
    assert_eq!(refusal.status, Status::Failed);
    assert!(refusal.reason.contains("'toke'"), "{}", refusal.reason);
}

/// Each kind of call is timed without the other in between, on one instance.
#[test]
fn calls_and_taking_are_timed_one_after_the_other() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&calls);
    let engine = one_strategy("mock").answering(move |call| {
        note.lock().unwrap().push(call.export == "take");
        answer(call)
    });
    let place = place(TAKE, ECHO);
    let all = crate::mocked::engines([&engine]);
    let job = place.job(&all);
    let budget = Budget { processes: 1, ..job.budget.clone() };
    place.run(&all, Job { budget, ..job });
    let calls = calls.lock().unwrap();
    // Opening: two calls and one that takes. The rest: calls, then those that take.
    assert_eq!(calls[..4], [false, false, true, false]);
    let kinds: Vec<&[bool]> = calls[3..].chunk_by(|one, other| one == other).collect();
    assert_eq!(kinds.len(), 2);
    assert!(kinds.iter().all(|calls| calls.len() > 10), "{kinds:?}");
    assert_eq!(engine.journal().iter().filter(|entry| *entry == "instance").count(), 1);
}
