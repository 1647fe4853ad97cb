//! The run loop over mock engines: what becomes of a cell that is wrong, traps, fails or
//! cannot be had, and what is done how often.

use crate::mocked::{Place, REUSE, Ran, budget, engines, one_strategy};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone::plan::{Budget, Filter, Plan, cores};
use touchstone::record::{Line, Metric, Refusals, Status, worst};
use touchstone::run::{Job, Selection, Tally};
use touchstone_executor::harness::mock::{Answer, MockEngine};
use touchstone_executor::{Execution, Support, TrapKind};

/// Runs the one cell of a mock.
fn one_cell(engine: &MockEngine) -> Ran {
    Place::new("[1]").run_all(engine)
}

/// One process, for tests of how often something is done in it.
fn once(job: Job) -> Job {
    Job { budget: Budget { processes: 1, ..budget() }, ..job }
}

/// The cell has this status and reason in the records, and no time.
#[track_caller]
fn assert_refused(ran: &Ran, status: Status, reason: &str) {
    let [refusal] = ran.refusals()[..] else { panic!("{:?}", ran.refusals()) };
    assert_eq!(refusal.status, status, "{}", refusal.reason);
    assert!(refusal.reason.contains(reason), "'{reason}' is not in: {}", refusal.reason);
    assert_eq!(ran.book().cells.len(), 0);
    assert_eq!((ran.came.cells.measured, ran.came.cells.marked), (0, 0));
    let (failed, left_out) = (ran.came.cells.failed, ran.came.cells.left_out);
    assert_eq!((failed, left_out), if status.is_failure() { (1, 0) } else { (0, 1) });
}

#[test]
fn a_right_cell_has_times_and_what_was_in_force() {
    let ran = one_cell(&one_strategy("right").with_latency(Duration::from_micros(50)));
    let tally = Tally { marked: ran.came.cells.marked, measured: 1, ..Tally::default() };
    assert_eq!((ran.came.cells, ran.came.failed(), ran.came.stopped), (tally, 0, false));
    let book = ran.book();
    let [cell] = &book.cells.keys().cloned().collect::<Vec<_>>()[..] else { panic!("one cell") };
    assert_eq!(book.name(cell), "echo_from_guest/right_instance_reuse/1_threads");
    let call = book.estimate(cell, Metric::Call).unwrap();
    assert!(call.median >= 50_000.0);
    // On a busy machine there may be too few clean samples for one.
    if let Some((low, high)) = call.interval {
        assert!(low <= call.median && call.median <= high);
    }
    assert!(book.throughput(cell).unwrap().median <= 20_000.0);
    assert!(book.estimate(cell, Metric::FirstCall).unwrap().median >= 50_000.0);
    for metric in [Metric::Compile, Metric::Load] {
        assert!(book.estimate(cell, metric).is_some(), "{metric}");
    }
    // The steps of a call are timed for the cases of the overview.
    assert!(book.estimate(cell, Metric::Invoke).is_none());
    let setup = &book.setups[&(cell.executor(), "guest".to_owned())];
    assert_eq!((setup.effective["execution"].as_deref(), &setup.emulated), (Some("mock"), &None));
    assert_eq!(book.header.engines["right"].version, "mock 1.0");
    assert_eq!(book.work("echo", "guest").unwrap().guest_sha256.len(), 64);
}

#[test]
fn a_wrong_output_is_recorded_and_never_timed() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let ran = one_cell(&one_strategy("wrong").answering(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Answer::Output(vec![0xba, 0xd0])
    }));
    assert_refused(&ran, Status::Wrong, "expected 0x2a000000, got 0xbad0");
    assert_eq!((ran.came.cells.wrong, ran.came.has_result()), (1, false));
    // Nor is it tried again in the other processes.
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(ran.told.said[0].contains("wrong: expected 0x2a000000"), "{:?}", ran.told.said);
}

/// Further calls of a case are made before anything is timed, with the export that they name
/// or with that of the case.
#[test]
fn a_cell_that_is_wrong_only_for_another_input_is_never_timed() {
    let also = |export, output: &str| {
        format!(
            "{}\n[[case.also]]\n{export}input = \"0x07\"\noutput = \"{output}\"",
            crate::mocked::CASE
        )
    };
    let right = Place::of(&also("", "0x07")).run_all(&one_strategy("right"));
    assert_eq!((right.came.cells.measured, right.refusals().len()), (1, 0));
    let wrong = Place::of(&also("export = \"take\"\n", "0x00")).run_all(&one_strategy("wrong"));
    assert_refused(&wrong, Status::Wrong, "expected 0x00, got 0x07");
    let absent = Place::of(&also("export = \"nowhere\"\n", "0x07"));
    assert_refused(&absent.run_all(&one_strategy("absent")), Status::Failed, "nowhere");
}

/// The result of the probe's compute kernel.
const KERNEL: i64 = -2561946500405097881;

/// An engine's claim is compared with a compute kernel's speed: a thousandth of native code's is no
/// compiled code.
#[test]
fn a_compiled_row_that_interprets_is_an_error_row() {
    let slow = one_strategy("slow")
        .executing(Execution::Compiled)
        .with_latency(Duration::from_millis(20))
        .answering(|call| match call.export {
            "kernel" => Answer::Output(KERNEL.to_le_bytes().to_vec()),
            _ => Answer::Output(call.input.to_vec()),
        });
    assert_refused(&one_cell(&slow), Status::Failed, "it is said to be compiled");
}

#[test]
fn an_instance_that_leaks_is_found_by_the_second_call() {
    let engine = one_strategy("leaky").answering(|call| match call.calls_before {
        0 => Answer::Output(call.input.to_vec()),
        _ => Answer::Output(vec![1]),
    });
    assert_refused(&one_cell(&engine), Status::Wrong, "got 0x01");
}

#[test]
fn a_trap_a_failure_and_a_refusal_each_have_their_status() {
    let trapping =
        one_strategy("trapping").answering(|_| Answer::Trap(TrapKind::Unreachable.into()));
    assert_refused(&one_cell(&trapping), Status::Trapped, "unreachable executed");

    let failing = one_strategy("failing").answering(|_| Answer::Fail("the disk is gone".into()));
    assert_refused(&one_cell(&failing), Status::Failed, "the disk is gone");

    // The plan has no cell of it, and the records have the reason.
    let refusing = MockEngine::new("refusing").supporting(|_| Support::unsupported("no such pool"));
    let ran = one_cell(&refusing);
    assert_eq!((ran.came.cells, ran.told.begun.len()), (Tally::default(), 0));
    let place = Place::new("[1]");
    let refusal = ran.book();
    let cell = place.cell(&refusing, 1);
    let refusal = refusal.refusal(&cell.key).unwrap();
    assert_eq!((refusal.status, &*refusal.reason), (Status::Unsupported, "no such pool"));
    // What is found out only when the guest is loaded holds for all cases on the guest.
    let all = engines([&refusing]);
    let job = Job { cells: vec![cell], refusals: Vec::new(), ..place.job(&all) };
    let ran = place.run(&all, job);
    assert_refused(&ran, Status::Unsupported, "no such pool");
    assert_eq!((&ran.refusals()[0].case, ran.refusals()[0].threads), (&None, None));
    assert!(refusing.journal().is_empty(), "{:?}", refusing.journal());
}

#[test]
fn a_call_that_takes_longer_than_the_budget_is_over_budget() {
    let place = Place::of(&crate::mocked::CASE.replace("[case]", "[case]\nbudget_s = 0.01"));
    let engine = one_strategy("slow").with_latency(Duration::from_millis(100));
    let ran = place.run_all(&engine);
    assert_refused(&ran, Status::OverBudget, "the case's budget of 0.010 s");
    // The reason is the call's, on however many threads.
    assert_eq!(ran.refusals()[0].threads, None);
    assert_eq!(ran.came.failed(), 0);
}

#[test]
fn what_is_emulated_is_timed_and_says_how() {
    let engine = MockEngine::new("emulating").supporting(|strategy| match strategy {
        REUSE => Support::Emulated { how: "with a memory of Touchstone's" },
        _ => Support::unsupported("only reuse here"),
    });
    let book = one_cell(&engine).book();
    let emulated = book.setups.values().next().unwrap().emulated.as_deref();
    assert_eq!((book.cells.len(), emulated), (1, Some("with a memory of Touchstone's")));
}

#[test]
fn more_threads_than_processors_are_skipped_before_anything_is_loaded() {
    let engine = one_strategy("crowded");
    let place = Place::new(&format!("[{}]", cores() + 1));
    let plan = place.plan(&engines([&engine]));
    assert!(plan.cells.is_empty());
    let skipped = plan.refusals.iter().find(|refusal| refusal.status == Status::Skipped).unwrap();
    assert_eq!(skipped.threads, Some(cores() + 1));
    assert!(skipped.reason.contains("processors"), "{}", skipped.reason);
    let of_cell = Refusals::from([skipped.clone()]);
    assert_eq!(worst(&of_cell, &place.cell(&engine, cores() + 1).key), Some(skipped));
    assert!(engine.journal().is_empty());
}

/// Two threads on each processor, which each make half as many calls as alone.
#[test]
fn more_threads_than_processors_take_turns_if_they_are_asked_for() {
    let engine = one_strategy("turns").with_latency(Duration::from_micros(50));
    let crowded = cores() * 2;
    let place = Place::new(&format!("[1, {crowded}]"));
    let all = engines([&engine]);
    let job = |threads: &[usize]| {
        let selection = Selection { threads: threads.to_vec(), ..Selection::default() };
        let budget = |_| Budget { samples: 1, processes: 1, ..budget() };
        let (cases, rows) = ([place.case().clone()], place.folder().join("no rows"));
        Job::new(&cases, &all, &mut place.guests(), &rows, &selection, budget, true).unwrap()
    };
    let of = |job: &Job| job.cells.iter().map(|cell| cell.key.threads).collect::<Vec<_>>();
    assert_eq!((of(&job(&[])), of(&job(&[1]))), (vec![1], vec![1]));
    assert!(job(&[]).refusals.iter().any(|refusal| refusal.status == Status::Skipped));
    let both = job(&[1, crowded]);
    assert_eq!(of(&both), [1, crowded]);
    assert!(both.refusals.iter().all(|refusal| refusal.status != Status::Skipped));
    let ran = place.run(&all, both);
    assert_eq!((ran.came.cells.measured, ran.came.failed()), (2, 0));
    let book = ran.book();
    let cell = place.cell(&engine, crowded).key;
    assert!(book.is_crowded(&cell) && !book.is_crowded(&place.cell(&engine, 1).key));
    // Each thread had its processor many times.
    let sample = book.samples(&cell, Metric::Call)[0].0[0];
    assert!(sample.total >= crowded as f64 * 100e6, "{sample:?}");
    assert!(sample.slowest > 0 && sample.calls >= sample.slowest * crowded as u64);
}

#[test]
fn guests_with_other_bytes_than_the_listed_are_not_timed() {
    let engine = one_strategy("digest");
    let place = Place::new("[1]");
    let all = engines([&engine]);
    let job = place.job(&all);
    let mut bytes = std::fs::read(place.guest_file()).unwrap();
    // A custom section of one byte: valid, and another module.
    bytes.extend([0, 1, 0]);
    std::fs::write(place.guest_file(), bytes).unwrap();
    assert_refused(&place.run(&all, job), Status::Failed, "SHA256SUMS");
    assert!(engine.journal().is_empty());
    let plan = Plan::new(&[place.case().clone()], &all, &mut place.guests());
    assert!(format!("{:#}", plan.err().unwrap()).contains("SHA256SUMS"));
}

#[test]
fn only_what_is_asked_for_is_compiled_and_loaded() {
    let (asked, other) = (MockEngine::new("asked"), MockEngine::new("other"));
    let place = Place::new("[1]");
    let all = engines([&asked, &other]);
    let job = |selection: &Selection| {
        let cases = [place.case().clone()];
        let rows = place.folder().join("no rows");
        let budget = |_| Budget { processes: 1, ..budget() };
        Job::new(&cases, &all, &mut place.guests(), &rows, selection, budget, true)
    };
    let filter = Filter::new(Some("asked_pooling_cow/")).unwrap();
    let job_of_one = job(&Selection { filter, ..Selection::default() }).unwrap();
    assert_eq!(job_of_one.tasks().len(), 1);
    place.run(&all, job_of_one);
    assert_eq!(other.journal(), [""; 0]);
    let journal = asked.journal();
    assert_eq!(journal[..3], ["compile guest", "load pooling_cow", "instance"]);
    assert_eq!(journal.iter().filter(|entry| entry.starts_with("load")).count(), 1);

    // The other ways to choose, and what they say where nothing is left.
    let names = |selection: &Selection| {
        job(selection).unwrap().cells.iter().map(|cell| cell.name()).collect::<Vec<_>>()
    };
    let chosen = Selection {
        engines: vec!["other".to_owned()],
        strategies: vec![REUSE],
        threads: vec![1],
        ..Selection::default()
    };
    assert_eq!(names(&chosen), ["echo_from_guest/other_instance_reuse/1_threads"]);
    for (wrong, says) in [
        (Selection { engines: vec!["othr".to_owned()], ..chosen.clone() }, "near: other"),
        (Selection { threads: vec![0], ..chosen.clone() }, "0 threads make no call"),
        (Selection { threads: vec![99_999], ..chosen.clone() }, "99999 threads on"),
        (Selection { overview: true, ..chosen.clone() }, "nothing to measure"),
        (
            Selection { filter: Filter::new(Some("ecko")).unwrap(), ..Selection::default() },
            "nothing matches 'ecko'; near: echo",
        ),
    ] {
        let error = format!("{:#}", job(&wrong).err().unwrap());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn rows_that_differ_in_threads_share_a_module_and_strategies_an_artifact() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let engine = MockEngine::new("sharing");
    let place = Place::new("[1, 2]");
    let all = engines([&engine]);
    let job = once(place.job(&all));
    let on = |threads| job.cells.iter().filter(|cell| cell.key.threads == threads).count();
    let (strategies, on_two) = (on(1), on(2));
    assert!((1..=strategies).contains(&on_two), "{on_two} of {strategies}");
    place.run(&all, job);
    let journal = engine.journal();
    let count = |start: &str| journal.iter().filter(|entry| entry.starts_with(start)).count();
    assert_eq!((count("compile"), count("load")), (1, strategies));
}

#[test]
fn an_instance_is_handed_from_one_measurement_to_the_next() {
    let engine = one_strategy("handing");
    let place = Place::of(&crate::mocked::CASE.replace("[case]", "[case]\nwarm = true"));
    let all = engines([&engine]);
    place.run(&all, once(place.job(&all)));
    // Check, samples, steps and calls on a used instance.
    assert_eq!(engine.journal().iter().filter(|entry| *entry == "instance").count(), 1);
}

#[test]
fn the_output_is_checked_twice_before_the_first_sample() {
    let threads = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&threads);
    let engine = one_strategy("checked").answering(move |call| {
        let thread = std::thread::current();
        note.lock().unwrap().push(thread.name().unwrap_or_default().starts_with("crew-"));
        Answer::Output(call.input.to_vec())
    });
    let place = Place::new("[1]");
    let all = engines([&engine]);
    place.run(&all, once(place.job(&all)));
    assert_eq!(threads.lock().unwrap()[..3], [false, false, true]);
}

/// Wherever a cell breaks after its check, none of its numbers is published.
#[test]
fn a_cell_that_breaks_half_way_has_no_times() {
    let calls = Arc::new(AtomicU64::new(0));
    one_cell(&breaking_after(u64::MAX, &calls));
    let all = calls.load(Ordering::Relaxed);
    // In the planning of the samples, in the samples, and in the last of three processes.
    for good_calls in [2, 7, all / 6, all - all / 6] {
        let ran = one_cell(&breaking_after(good_calls, &Arc::default()));
        if ran.came.cells.failed == 0 {
            // Fewer calls than before fill a sample where the machine has more to do.
            continue;
        }
        let reason = "unreachable executed";
        let [refusal] = ran.refusals()[..] else { panic!("{:?}", ran.refusals()) };
        assert!(refusal.reason.contains(reason), "after {good_calls}: {}", refusal.reason);
        assert_eq!(ran.book().cells.len(), 0, "after {good_calls}");
        assert_eq!((ran.came.cells.failed, ran.came.cells.measured), (1, 0));
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
fn an_output_that_changes_after_many_calls_is_found() {
    let engine = one_strategy("tiring").answering(|call| match call.calls_before {
        0..5 => Answer::Output(call.input.to_vec()),
        _ => Answer::Output(vec![1]),
    });
    assert_refused(&one_cell(&engine), Status::Failed, "expected 0x2a000000, got 0x01");
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
    let place = Place::new("[2]");
    let all = engines([&engine]);
    place.run(&all, once(place.job(&all)));
    let seen = seen.lock().unwrap();
    let (crew, others): (Vec<_>, Vec<_>) =
        seen.iter().partition(|(name, _)| name.starts_with("crew-"));
    // While the cell is opened, nothing is timed.
    assert!(others.iter().all(|(_, at)| *at == everywhere), "{others:?}");
    let names: Vec<&str> = crew.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["crew-0", "crew-1"], "{seen:?}");
    assert!(crew.iter().all(|(_, at)| at.len() == 1) && crew[0].1 != crew[1].1, "{seen:?}");
    assert_eq!(allowed(), everywhere);
}

/// The lines of a run, in the order that readers rely on.
#[test]
fn what_was_in_force_stands_before_the_first_observation_and_once() {
    let ran = Place::new("[1]").run_all(&one_strategy("ordered"));
    let kinds: Vec<&str> = ran
        .lines
        .iter()
        .map(|line| match line {
            Line::Run(_) => "run",
            Line::Refusal(_) => "refusal",
            Line::Setup(_) => "setup",
            Line::Observations(_) => "observations",
            _ => "other",
        })
        .collect();
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "refusal").collect();
    assert_eq!(kinds, ["run", "setup", "observations", "observations", "observations"]);
}
