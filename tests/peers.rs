//! Executors against their peers: the rows of the file, and how they are timed,
//! over mock engines.

#[path = "fixtures/mocked.rs"]
#[allow(dead_code, reason = "the tests of the harness use the rest of it")]
mod mocked;

use mocked::{Place, WithRaw};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use touchstone::case::{self, Case, Field, Input, Number};
use touchstone::measure::Others;
use touchstone::peers::{self, PeerPlan, Reference, Row};
use touchstone::record::{PEERS, PairRecord, Status};
use touchstone::session::{Opened, Refused, cores};
use touchstone_executor::mock::{Answer, MockEngine};
use touchstone_executor::{Engine, Support};

/// Rows of a file's text, over the checked-in cases.
fn rows(text: &str) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.toml");
    std::fs::write(&path, text).unwrap();
    peers::load(&path, &checked_in_cases())
}

fn checked_in_cases() -> Vec<Case> {
    case::load_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/cases")).unwrap()
}

#[test]
fn the_checked_in_rows_are_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers.toml");
    let rows = peers::load(&path, &checked_in_cases()).unwrap();
    let names: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row.id(), row.reference)).collect();
    for name in [
        "call_empty_function/test_runtime/1/wasmtime_instance_reuse_tracked itself",
        "call_empty_function/test_runtime/2/wasmtime_instance_reuse_tracked substrate_pooling_cow",
        "dirty_1mb_of_memory/large_runtime/1/wasmtime_instance_reuse_tracked substrate_pooling_cow",
        "dirty_1mb_of_memory/test_runtime/2/substrate_pooling_cow itself_on_1_thread",
        "call_empty_function/test_runtime/1/wasmtime_instance_reuse_tracked \
         itself_without_dirty_1mb_of_memory",
        "call_empty_function/test_runtime/1/wasmtime_pooling_cow_resident raw",
        "call_empty_function/test_runtime/2/wasmi_instance_reuse_tracked wasmtime_pooling_cow",
    ] {
        assert!(names.iter().any(|row| row == name), "{name} is not in {names:#?}");
    }
}

const GOOD: &str = "[[rows]]\nexecutors = [\"a_pooling\"]\ncases = [\"call_empty_function\"]\n\
    against = \"b_pooling\"\n";

#[test]
fn an_entry_stands_for_a_row_of_each_combination() {
    let [row]: [Row; 1] = rows(GOOD).unwrap().try_into().unwrap();
    assert_eq!(row.id(), "call_empty_function/test_runtime/1/a_pooling");
    assert_eq!(
        (row.guest.as_str(), row.reference.to_string().as_str()),
        ("test-runtime", "b_pooling")
    );

    let more = GOOD
        .replace("[\"a_pooling\"]", "[\"a_pooling\", \"c_pooling\"]")
        .replace("[\"call", "[\"dirty_1mb_of_memory\", \"call")
        + "threads = [1, 2]\nguests = [\"large-runtime\", \"test-runtime\"]\n";
    let all = rows(&more).unwrap();
    assert_eq!(all.len(), 16);
    assert_eq!(all[0].id(), "dirty_1mb_of_memory/large_runtime/1/a_pooling");

    let selected = peers::select(all, Some("/2/c_")).unwrap();
    assert_eq!(selected.len(), 4);
    let error = peers::select(selected, Some("call_emty_function/test_runtime")).unwrap_err();
    assert!(error.to_string().contains("call_empty_function/test_runtime/2/c_pooling"), "{error}");
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_line() {
    let after = GOOD.replace("against = \"b_pooling\"", "after = \"dirty_1mb_of_memory\"");
    assert!(matches!(
        rows(&format!("{after}skip = 9\n")).unwrap()[0].reference,
        Reference::After { skip: 9, burst: 16, .. }
    ));
    let raw = GOOD.replace("b_pooling", "raw");
    assert!(matches!(rows(&raw).unwrap()[0].reference, Reference::Raw));
    let alone = GOOD.replace("b_pooling", "itself_on_1_thread");
    let swapped = |from: &str, to: &str| GOOD.replace(from, to);
    for (text, said) in [
        (swapped("cases", "case"), "line 3, column 1"),
        (String::new(), "missing field `rows`"),
        ("rows = []".to_owned(), "there is no row"),
        (
            swapped("call_empty", "call_full"),
            "no case 'call_full_function'; near: call_empty_function",
        ),
        (swapped("[\"a_pooling\"]", "[]"), "'executors' needs one or more"),
        (format!("{GOOD}threads = [0]\n"), "'threads' needs one or more, and numbers from 1"),
        (format!("{GOOD}guests = []\n"), "'guests' needs"),
        (format!("{GOOD}guests = [\"core-runtime\"]\n"), "has no guest 'core-runtime'"),
        (format!("{GOOD}skip = 3\n"), "go with 'after'"),
        (format!("{GOOD}after = \"dirty_1mb_of_memory\"\n"), "either 'against' or 'after'"),
        (swapped("against = \"b_pooling\"\n", ""), "either 'against' or 'after'"),
        (swapped("b_pooling", "a_pooling"), "against = \"itself\""),
        (format!("{raw}threads = [2]\n"), "'raw' is for one thread"),
        (alone, "for more threads than one"),
        (format!("{after}threads = [2]\n"), "'after' is for one thread"),
        (format!("{after}burst = 0\n"), "'burst' is 1 or more"),
        (after.replace("dirty_1mb_of_memory", "call_empty_function"), "another case"),
        (after.replace("dirty_1mb_of_memory", "call_empty_function_with_32_pages"), "same heap"),
        (format!("{GOOD}\n{GOOD}"), "at line 6 are wrong: call_empty_function/test_runtime/1/a_"),
    ] {
        let error = format!("{:#}", rows(&text).unwrap_err());
        assert!(error.contains(said), "'{said}' is not in: {error}");
    }
}

const PLAN: PeerPlan = PeerPlan { rounds: 11, at_most: Duration::from_secs(20) };

fn row(place: &Place, threads: usize, executor: &str, reference: Reference) -> Row {
    Row {
        case: Arc::new(place.case().clone()),
        guest: place.case().guests[0].clone(),
        threads,
        executor: executor.to_owned(),
        reference,
    }
}

fn measure(place: &Place, engines: &[Arc<dyn Engine>], row: &Row) -> Result<PairRecord, Refused> {
    peers::measure(&mut place.session(), engines, row, PLAN, &place.provenance())
}

fn quick_and_slow() -> [Arc<dyn Engine>; 2] {
    let slow = MockEngine::new("slow").with_latency(Duration::from_micros(100));
    [Arc::new(MockEngine::new("quick")), Arc::new(slow)]
}

#[test]
fn the_ratio_is_how_many_times_faster_the_executor_is() {
    let (place, engines) = (Place::new("[1]"), quick_and_slow());
    let against = |name: &str| Reference::Executor(name.to_owned());
    let faster = row(&place, 1, "quick_pooling", against("slow_instance_reuse_cow"));
    let record = measure(&place, &engines, &faster).unwrap();
    let [ratio, low, high] = record.times_faster();
    assert!(ratio > 1.0 && low <= ratio && ratio <= high, "{ratio} [{low} – {high}]");
    // Five set-ups of three rounds, and again those that were disturbed.
    let (all, disturbed) = (record.rounds.len(), record.disturbed.len());
    assert!(all == 15 || all > 15 && disturbed > 0, "{all} rounds, {disturbed} disturbed");
    assert_eq!(
        (record.group.as_str(), record.subject.as_str(), record.reference.as_str()),
        (PEERS, "quick_pooling", "slow_instance_reuse_cow")
    );
    assert_eq!(
        record.id(),
        "peers/quick_pooling/echo_from_guest/1_threads/slow_instance_reuse_cow"
    );
    let line = peers::line(&faster, &Ok(record));
    let start = "echo\tguest\t1\tquick_pooling\tslow_instance_reuse_cow\t";
    assert!(line.starts_with(start) && line.ends_with('\n'), "{line:?}");
    assert_eq!(line.split('\t').count(), peers::HEAD.len());

    let slower = row(&place, 1, "slow_pooling", against("quick_pooling"));
    let [ratio, ..] = measure(&place, &engines, &slower).unwrap().times_faster();
    assert!(ratio < 1.0, "{ratio}");
}

#[test]
fn every_kind_of_reference_can_be_timed() {
    let place = Place::new("[1]");
    let slow = MockEngine::new("mock").with_latency(Duration::from_micros(100));
    let engines: [Arc<dyn Engine>; 1] = [Arc::new(WithRaw(slow))];
    let timed = |threads, reference| {
        measure(&place, &engines, &row(&place, threads, "mock_pooling", reference))
    };
    let record = timed(1, Reference::Itself).unwrap();
    assert_eq!((record.reference.as_str(), record.threads), ("itself", 1));
    // The raw reference of the mock does nothing.
    let record = timed(1, Reference::Raw).unwrap();
    assert!(record.times_faster()[0] < 1.0 && record.reference == "raw");
    if cores() > 1 {
        match timed(2, Reference::OneThread) {
            Ok(record) => {
                assert_eq!((record.reference.as_str(), record.threads), ("itself_on_1_thread", 2));
            }
            // What else the machine does is not this test's.
            Err(refused) => assert!(refused.reason.contains("to do"), "{refused}"),
        }
    }
}

#[test]
fn what_cannot_be_timed_is_a_line_with_its_reason() {
    let place = Place::new("[1]");
    let poolless = MockEngine::new("mock").supporting(|strategy| {
        if strategy.to_string().starts_with("pooling") {
            Support::unsupported("no\tpool")
        } else {
            Support::Native
        }
    });
    let wrong = MockEngine::new("wrong").answering(|_| Answer::Output(vec![1]));
    let failing = MockEngine::new("failing").answering(|_| Answer::Fail("a cable".to_owned()));
    let engines: [Arc<dyn Engine>; 3] = [Arc::new(poolless), Arc::new(wrong), Arc::new(failing)];
    let other = |name: &str| Reference::Executor(name.to_owned());
    let reuse = "mock_instance_reuse";
    for (row, status, reason) in [
        (
            row(&place, 1, "none_pooling", Reference::Itself),
            Status::Unsupported,
            "no none_pooling in",
        ),
        (row(&place, 1, "mock_none", Reference::Itself), Status::Unsupported, "no mock_none in"),
        (row(&place, 1, "mock_pooling", Reference::Itself), Status::Unsupported, "no pool"),
        (
            row(&place, 1, reuse, other("mock_pooling")),
            Status::Unsupported,
            "mock_pooling: no pool",
        ),
        (row(&place, 1, reuse, Reference::Raw), Status::Unsupported, "no raw reference"),
        (row(&place, cores() + 1, reuse, Reference::Itself), Status::Skipped, "processors"),
        (row(&place, 1, reuse, other("wrong_pooling")), Status::Wrong, "got 0x01"),
        (row(&place, 1, "failing_pooling", other(reuse)), Status::Failed, "a cable"),
    ] {
        let refused = measure(&place, &engines, &row).unwrap_err();
        assert_eq!(refused.status, status, "{refused}");
        let line = peers::line(&row, &Err(refused));
        let fields: Vec<&str> = line.trim_end().split('\t').collect();
        assert_eq!((fields.len(), &fields[5..8]), (9, &["-"; 3][..]), "{line}");
        assert!(fields[8].contains(reason), "'{reason}' is not in: {line}");
    }
}

#[test]
fn the_head_names_the_fields_below_a_comment() {
    let head = peers::head();
    let [comment, names]: [&str; 2] = head.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(comment.starts_with("# ratio: how many times faster"), "{comment}");
    assert_eq!(names, "case\tguest\tthreads\tstrategy\treference\tratio\tlow\thigh");
}

/// The input tells the calls of the two kinds apart: a mock returns it.
#[test]
fn a_burst_comes_after_a_call_of_another_kind_and_some_untimed_ones() {
    let place = Place::new("[1]");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let engine = {
        let calls = Arc::clone(&calls);
        MockEngine::new("mock").with_latency(Duration::from_micros(50)).answering(move |call| {
            calls.lock().unwrap().push(call.input[0]);
            Answer::Output(call.input.to_vec())
        })
    };
    let number = Input::Fields(vec![Field::U32(Number::Value(7))]);
    let mut another =
        Case { name: "other".to_owned(), input: number.clone(), ..place.case().clone() };
    another.expect.output = number;
    let reference = Reference::After { another: Arc::new(another), skip: 9, burst: 4 };
    let row = row(&place, 1, "mock_instance_reuse", reference);
    let record = measure(&place, &[Arc::new(engine)], &row).unwrap();
    assert_eq!(record.reference, "itself_without_other");
    let calls = calls.lock().unwrap();
    let runs: Vec<usize> = calls.split(|input| *input == 7).map(<[u8]>::len).collect();
    // Each set-up opens both cases, which calls each of them twice.
    let bursts = runs.iter().filter(|own| **own > 9).count();
    assert!(bursts > 5 * 3, "{runs:?}");
    assert!(runs.iter().all(|own| *own > 9 || *own <= 4), "{runs:?}");
}

#[test]
fn the_others_of_a_side_rest_while_the_other_side_has_its_turn() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let place = Place::new("[1]");
    let within = [Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0))];
    let (overlapped, together) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let engine = |id, own: usize| -> Arc<dyn Engine> {
        let within = within.clone();
        let (overlapped, together) = (Arc::clone(&overlapped), Arc::clone(&together));
        Arc::new(MockEngine::new(id).answering(move |call| {
            let mine = within[own].fetch_add(1, Ordering::SeqCst) + 1;
            let started = Instant::now();
            while started.elapsed() < Duration::from_micros(50) {
                std::hint::spin_loop();
            }
            together.fetch_max(mine, Ordering::SeqCst);
            if within[1 - own].load(Ordering::SeqCst) > 0 {
                overlapped.store(true, Ordering::SeqCst);
            }
            within[own].fetch_sub(1, Ordering::SeqCst);
            Answer::Output(call.input.to_vec())
        }))
    };
    let engines = [engine("a", 0), engine("b", 1)];
    let row = row(&place, 2, "a_pooling", Reference::Executor("b_pooling".to_owned()));
    if let Err(refused) = measure(&place, &engines, &row) {
        // What else the machine does is not this test's.
        assert!(refused.reason.contains("to do"), "{refused}");
    }
    assert!(!overlapped.load(Ordering::SeqCst), "two sides made calls at the same time");
    assert!(together.load(Ordering::SeqCst) <= 2);
}

/// A cell of a mock, opened.
fn opened(place: &Place, engine: MockEngine) -> Opened {
    let cells = place.cells(&[Arc::new(engine)]);
    place.session().open(&cells[0]).unwrap()
}

#[test]
fn paused_threads_make_no_call_until_they_are_resumed() {
    let place = Place::new("[1]");
    let mut others = Others::start(&opened(&place, MockEngine::new("mock")), 3).unwrap();
    for _ in 0..50 {
        others.pause().unwrap();
        let before = others.counts();
        // A second time is the same, and nobody wakes up meanwhile.
        others.pause().unwrap();
        std::thread::sleep(Duration::from_micros(300));
        assert_eq!(others.counts(), before);
        others.resume().unwrap();
        assert!(others.counts().iter().zip(&before).all(|(after, before)| after > before));
    }
    others.pause().unwrap();
    others.stop().unwrap();
}

#[test]
fn a_thread_that_fails_is_found_at_the_next_turn() {
    let place = Place::new("[1]");
    let calls = AtomicU64::new(0);
    let engine = MockEngine::new("mock").answering(move |call| {
        // Two to open it, and the warm-up of one thread.
        if calls.fetch_add(1, Ordering::SeqCst) < 2 + 3 + 10 {
            Answer::Output(call.input.to_vec())
        } else {
            Answer::Fail("a cable".to_owned())
        }
    });
    let opened = opened(&place, engine);
    let turns = || {
        let mut others = Others::start(&opened, 1)?;
        loop {
            others.pause()?;
            others.resume()?;
        }
    };
    let error: anyhow::Result<()> = turns();
    let said = format!("{:#}", error.unwrap_err());
    assert!(said.contains("another thread failed") && said.contains("a cable"), "{said}");
}
