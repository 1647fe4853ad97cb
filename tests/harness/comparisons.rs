//! Comparisons: the rows of the file, and how two sides are timed, over mock engines.

use crate::mocked::{Place, Ran, Told, compare_cells, engines, one_strategy};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use touchstone::case::{self, Case, Field, Guests, Input, Number};
use touchstone::compare::{Judged, MARGIN, Verdict, judge};
use touchstone::plan::{Budget, Compare, Filter, Plan, Rows, Wanted, cores, default_rows};
use touchstone::record::{Comparison, Line, Match, Means, Purpose};
use touchstone::run::Job;
use touchstone_executor::adapter::{MeasuredEngine, RawCall, RawCaller};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::harness::mock::{Answer, MockEngine};
use touchstone_executor::{
    Artifact, CodeFrom, Config, Engine, Execution, InstanceFrom, MemoryFrom, Module, Result,
    Strategy, Support,
};

/// A mock with a raw reference, which gives the case's output at once.
struct WithRaw(MockEngine);

impl Engine for WithRaw {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn execution(&self) -> Execution {
        self.0.execution()
    }

    fn support(&self, strategy: Strategy) -> Support {
        self.0.support(strategy)
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.0.compile(guest, strategy, config)
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        self.0.load(guest, artifact, strategy, config)
    }
}

impl MeasuredEngine for WithRaw {
    fn raw(&self, _: &GuestModule, _: &RawCall<'_>) -> Result<Option<RawCaller>> {
        Ok(Some(Box::new(|output| {
            output.clear();
            output.extend([42, 0, 0, 0]);
            Ok(())
        })))
    }

    fn has_raw(&self, _: Strategy) -> bool {
        true
    }
}

const EVERY: [Purpose; 5] =
    [Purpose::Null, Purpose::Overhead, Purpose::Deadline, Purpose::Against, Purpose::Peers];

/// Rows of a file's text, over some cases.
fn rows(text: &str, cases: &[Case]) -> anyhow::Result<Rows> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("comparisons.toml");
    std::fs::write(&path, text).unwrap();
    Rows::load(&path, cases)
}

fn checked_in_cases() -> Vec<Case> {
    case::built_in().unwrap()
}

/// The comparisons that rows of a text select on some engines.
fn selected(
    text: &str,
    cases: &[Case],
    engines: &[Arc<dyn MeasuredEngine>],
    plan: &Plan,
    filter: Option<&str>,
) -> anyhow::Result<(Vec<Compare>, Vec<Wanted>)> {
    let filter = Filter::new(filter).unwrap();
    rows(text, cases)?.select(&EVERY, cases, engines, plan, &filter)
}

#[test]
fn the_checked_in_rows_are_valid() {
    let cases = checked_in_cases();
    let mocks = ["wasmtime", "wasmtime_nearcore", "wasmi", "substrate"].map(MockEngine::new);
    let all = engines(&mocks);
    let plan = Plan::new(&cases, &all, &mut Guests::built()).unwrap();
    let rows = Rows::load(&default_rows(), &cases).unwrap();
    let (found, missing) = rows.select(&EVERY, &cases, &all, &plan, &Filter::All).unwrap();
    let names: Vec<String> = found
        .iter()
        .map(|compare| compare.of.name())
        .chain(missing.iter().map(|wanted| wanted.of.name()))
        .collect();
    let empty = "call_empty_function_from_test_runtime";
    let dirty = "dirty_1mb_of_memory_from";
    for name in [
        format!(
            "peers/wasmtime_instance_reuse_tracked/{empty}/1_threads/wasmtime_instance_reuse_tracked"
        ),
        format!("peers/wasmtime_instance_reuse_tracked/{empty}/2_threads/substrate_pooling_cow"),
        format!(
            "peers/wasmtime_instance_reuse_tracked/{dirty}_large_runtime/1_threads/substrate_pooling_cow"
        ),
        format!("peers/substrate_pooling_cow/{dirty}_test_runtime/2_threads/substrate_pooling_cow"),
        format!(
            "peers/wasmtime_instance_reuse_tracked/{empty}/1_threads/\
             wasmtime_instance_reuse_tracked in bursts"
        ),
        format!("peers/wasmtime_pooling_cow_resident/{empty}/1_threads/raw API of wasmtime"),
        format!("peers/wasmi_instance_reuse_tracked/{empty}/2_threads/wasmtime_pooling_cow"),
        format!("against/wasmi_instance_reuse/{empty}/1_threads/wasmtime_pooling_cow"),
    ] {
        assert!(names.contains(&name), "{name} is not in {names:#?}");
    }
    // One row of the noise floor for each engine and case.
    let null = found.iter().filter(|compare| compare.of.purpose == Purpose::Null).count();
    assert_eq!(null, all.len() * 2);
    // Only comparisons for another reason have the same executor on both sides.
    let of_two = found.iter().filter(|compare| compare.of.purpose == Purpose::Against);
    assert!(of_two.clone().count() > 0);
    assert!(of_two.map(|compare| &compare.of).all(|of| of.subject != of.baseline));
}

const GOOD: &str = "[[rows]]\npurpose = \"peers\"\nexecutors = [\"a_pooling\"]\n\
    cases = [\"call_empty_function\"]\nbaseline = \"b_pooling\"\n";

#[test]
fn an_entry_stands_for_a_row_of_each_combination() {
    let cases = checked_in_cases();
    let all = engines(&["a", "b", "c"].map(MockEngine::new));
    let plan = Plan::default();
    let (found, _) = selected(GOOD, &cases, &all, &plan, None).unwrap();
    let [row] = &found[..] else { panic!("{} rows", found.len()) };
    let name = "peers/a_pooling/call_empty_function_from_test_runtime/1_threads/b_pooling";
    assert_eq!((row.of.name(), row.subject.guest.as_str()), (name.to_owned(), "test-runtime"));
    assert_eq!((row.subject.engine.id(), row.baseline.engine.id()), ("a", "b"));

    let more = GOOD
        .replace("[\"a_pooling\"]", "[\"a_pooling\", \"c_pooling\"]")
        .replace("[\"call", "[\"dirty_1mb_of_memory\", \"call")
        + "threads = [1, 2]\nguests = [\"large-runtime\", \"test-runtime\"]\n";
    let (found, missing) = selected(&more, &cases, &all, &plan, None).unwrap();
    assert_eq!(found.len() + missing.len(), 16);
    assert!(cores() < 2 || missing.is_empty());
    let first = "peers/a_pooling/dirty_1mb_of_memory_from_large_runtime/1_threads/b_pooling";
    assert_eq!(found[0].of.name(), first);

    let (found, _) = selected(&more, &cases, &all, &plan, Some("c_.*/1_threads")).unwrap();
    assert_eq!(found.len(), 4);
    let only_peers = |filter: &str| {
        let filter = Filter::new(Some(filter)).unwrap();
        rows(&more, &cases).unwrap().select(&[Purpose::Peers], &cases, &all, &plan, &filter)
    };
    let error = only_peers("call_emty_function").err().unwrap().to_string();
    assert!(error.contains("no comparison matches 'call_emty_function'"), "{error}");
    assert!(error.contains("near: call_empty_function"), "{error}");
    // Rows of other purposes are left alone.
    let other = rows(&more, &cases).unwrap();
    let (found, _) = other.select(&[Purpose::Null], &cases, &all, &plan, &Filter::All).unwrap();
    assert!(found.is_empty());
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_line() {
    let cases = checked_in_cases();
    let after = GOOD.replace("baseline = \"b_pooling\"", "after = \"dirty_1mb_of_memory\"");
    let all = engines(&["a", "b"].map(MockEngine::new));
    let text = format!("{after}skip = 9\n");
    let (found, _) = selected(&text, &cases, &all, &Plan::default(), None).unwrap();
    assert!(matches!(found[0].of.subject.means, Means::After { skip: 9, burst: 16, .. }));
    assert!(matches!(found[0].of.baseline.means, Means::Bursts { skip: 9, burst: 16 }));
    assert_eq!(found[0].another.as_ref().unwrap().name, "dirty_1mb_of_memory");
    let raw = GOOD.replace("b_pooling", "raw");
    let (found, _) = selected(&raw, &cases, &all, &Plan::default(), None).unwrap();
    assert_eq!(found[0].of.baseline.means, Means::Raw);
    let alone = GOOD.replace("b_pooling", "itself_on_1_thread");
    let swapped = |from: &str, to: &str| GOOD.replace(from, to);
    for (text, said) in [
        (swapped("cases", "case"), "line 4, column 1"),
        (swapped("peers", "pears"), "line 2, column 11"),
        (swapped("a_pooling", "a_poling"), "'a_poling' is no executor"),
        (String::new(), "missing field `rows`"),
        (
            swapped("call_empty", "call_full"),
            "no case 'call_full_function'; near: call_empty_function",
        ),
        (swapped("[\"call_empty_function\"]", "[]"), "'cases' needs at least one entry"),
        (
            format!("{GOOD}threads = [0]\n"),
            "'threads' needs at least one entry, and numbers must be at least 1",
        ),
        (format!("{GOOD}guests = []\n"), "'guests' needs"),
        (format!("{GOOD}guests = [\"core-runtime\"]\n"), "has no guest 'core-runtime'"),
        (format!("{GOOD}after = \"dirty_1mb_of_memory\"\n"), "either 'baseline' or 'after'"),
        (swapped("baseline = \"b_pooling\"\n", ""), "either 'baseline' or 'after'"),
        (format!("{raw}threads = [2]\n"), "'raw' is for one thread"),
        (alone, "is for several threads"),
        (format!("{after}threads = [2]\n"), "'after' is for one thread"),
        (format!("{after}burst = 0\n"), "'burst' must be at least 1"),
        (after.replace("dirty_1mb_of_memory", "call_empty_function"), "another case"),
        (after.replace("dirty_1mb_of_memory", "call_empty_function_with_32_pages"), "same heap"),
        (format!("{GOOD}\n{}", raw.clone() + "threads = [2]\n"), "at line 7 are invalid: 'raw'"),
    ] {
        let error = format!("{:#}", rows(&text, &cases).unwrap_err());
        assert!(error.contains(said), "'{said}' is not in: {error}");
    }
    let error = Rows::load(Path::new("/does/not/exist.toml"), &cases).unwrap_err();
    assert!(error.to_string().contains("cannot read the comparisons in /does/not/exist.toml"));
}

#[test]
fn a_raw_reference_judges_what_runs_in_process_on_one_thread() {
    let place = Place::new("[1, 2]");
    let engine = MockEngine::new("raw").supporting(|strategy| match strategy.instance {
        InstanceFrom::Pooling => Support::unsupported("no pool"),
        _ if strategy.pooled => Support::unsupported("no pool"),
        _ => Support::Native,
    });
    let all: [Arc<dyn MeasuredEngine>; 2] =
        [Arc::new(WithRaw(engine)), Arc::new(MockEngine::new("plain"))];
    let text = "[[rows]]\npurpose = \"overhead\"\ncases = [\"echo\"]\nbaseline = \"raw\"\n\
        [[rows]]\npurpose = \"null\"\ncases = [\"echo\"]\nbaseline = \"itself\"\n";
    let (found, missing) = selected(text, place.cases(), &all, &place.plan(&all), None).unwrap();
    assert!(missing.is_empty());
    assert!(found.iter().all(|compare| compare.of.subject.threads == 1
        && compare.subject.key.strategy.code == CodeFrom::InProcess
        && !(compare.subject.key.engine == "raw"
            && compare.subject.key.strategy.instance == InstanceFrom::Pooling)));
    // Every memory but the gated ones; not the other engine, which has no raw interface.
    let of = |purpose| found.iter().filter(move |compare| compare.of.purpose == purpose);
    let is_judged = |own: &Strategy| {
        let is_pool = own.pooled || own.instance == InstanceFrom::Pooling;
        own.code == CodeFrom::InProcess && !is_pool && own.memory != MemoryFrom::Gated
    };
    let judged = Strategy::all().into_iter().filter(is_judged).count();
    assert_eq!(of(Purpose::Overhead).count(), judged);
    assert!(of(Purpose::Overhead).all(|compare| compare.subject.key.engine == "raw"));
    let null: BTreeSet<&str> = of(Purpose::Null).map(|c| &*c.subject.key.engine).collect();
    assert_eq!((null.len(), of(Purpose::Null).count()), (2, 2));
}

#[test]
fn what_is_asked_for_and_not_there_is_named_with_its_reason() {
    let place = Place::new("[1]");
    let poolless = MockEngine::new("mock").supporting(|strategy| {
        match strategy.to_string().starts_with("pooling") {
            true => Support::unsupported("no pool"),
            false => Support::Native,
        }
    });
    let all = engines([&poolless]);
    let row = |subject: &str, baseline: &str, threads: usize| {
        format!(
            "[[rows]]\npurpose = \"peers\"\nexecutors = [\"{subject}\"]\ncases = [\"echo\"]\n\
             baseline = \"{baseline}\"\nthreads = [{threads}]\n"
        )
    };
    let reuse = "mock_instance_reuse";
    for (text, reason) in [
        (row("none_pooling", "itself", 1), "there is no none_pooling in this build"),
        (row(reuse, "none_pooling", 1), "there is no none_pooling in this build"),
        (row("mock_pooling", "itself", 1), "mock_pooling: no pool"),
        (row(reuse, "mock_pooling", 1), "mock_pooling: no pool"),
        (row(reuse, "itself", cores() + 1), "processors"),
    ] {
        let (found, missing) =
            selected(&text, place.cases(), &all, &place.plan(&all), None).unwrap();
        let [wanted] = &missing[..] else { panic!("{} missing", missing.len()) };
        assert!(found.is_empty());
        assert!(wanted.reason.contains(reason), "'{reason}' is not in: {}", wanted.reason);
    }
}

/// Makes comparisons in this process.
fn run(
    place: &Place,
    engines: &[Arc<dyn MeasuredEngine>],
    compares: Vec<Compare>,
    rounds: usize,
) -> Ran {
    let job = place.job(engines);
    let budget = Budget { rounds, ..job.budget.clone() };
    place.run(engines, Job { cells: Vec::new(), compares, budget, ..job })
}

/// The cells of two mocks, compared.
fn compared(subject: &MockEngine, baseline: &MockEngine, threads: usize) -> Ran {
    let place = Place::new("[1]");
    let cells = [subject, baseline].map(|mock| place.cell(mock, threads));
    let [subject_cell, baseline_cell] = cells;
    let compare = compare_cells(Purpose::Against, subject_cell, baseline_cell);
    run(&place, &engines([subject, baseline]), vec![compare], 15)
}

fn judged(ran: &Ran) -> Judged {
    let book = ran.book();
    let processes: Vec<_> = book.comparisons.values().flatten().collect();
    assert_eq!(processes.iter().map(|made| made.process).collect::<Vec<_>>(), [0, 1, 2]);
    judge(processes, MARGIN).unwrap()
}

#[test]
fn a_mock_against_itself_shows_no_difference() {
    let mock = one_strategy("mock").with_latency(Duration::from_micros(40));
    let ran = compared(&mock, &mock, 1);
    let found = judged(&ran);
    let (low, high) = found.ratio.interval.unwrap();
    assert!(low <= found.ratio.median && found.ratio.median <= high);
    assert!(found.subject.median >= 40_000.0 && found.baseline.median >= 40_000.0);
    assert_eq!(verdict(&ran, (40.0, 40.0)), (1.0, Verdict::Equivalent));
}

/// The verdict on as many rounds as were made, with times that do not depend on this machine.
fn verdict(ran: &Ran, rounds: (f64, f64)) -> (f64, Verdict) {
    let book = ran.book();
    let of = |made: &Comparison| Comparison {
        rounds: vec![rounds; made.rounds.len()],
        noisy: Vec::new(),
        ..made.clone()
    };
    let all: Vec<Comparison> = book.comparisons.values().flatten().map(of).collect();
    let judged = judge(&all, MARGIN).unwrap();
    (judged.ratio.median, judged.verdict)
}

#[test]
fn ratios_are_times_slower_than_the_baseline() {
    let quick = one_strategy("quick").with_latency(Duration::from_micros(40));
    let slow = one_strategy("slow").with_latency(Duration::from_millis(2));
    // A call takes at least its latency, however busy the machine is.
    assert!(judged(&compared(&slow, &quick, 1)).subject.median >= 2e6);
    let ran = compared(&quick, &slow, 1);
    assert!(judged(&ran).baseline.median >= 2e6);
    assert_eq!(verdict(&ran, (52.0, 40.0)), (1.3, Verdict::Slower));
    assert_eq!(verdict(&ran, (40.0, 50.0)), (0.8, Verdict::Faster));
}

#[test]
fn every_kind_of_baseline_can_be_timed() {
    let place = Place::new("[1]");
    let mock = one_strategy("mock").with_latency(Duration::from_micros(100));
    let all: [Arc<dyn MeasuredEngine>; 1] = [Arc::new(WithRaw(mock))];
    let timed = |baseline: &str, threads: usize| {
        let text = format!(
            "[[rows]]\npurpose = \"peers\"\nexecutors = [\"mock_instance_reuse\"]\n\
             cases = [\"echo\"]\nbaseline = \"{baseline}\"\nthreads = [{threads}]\n"
        );
        let (found, missing) =
            selected(&text, place.cases(), &all, &place.plan(&all), None).unwrap();
        assert_eq!((found.len(), missing.len()), (1, 0));
        run(&place, &all, found, 9)
    };
    assert!((0.5..2.0).contains(&judged(&timed("itself", 1)).ratio.median));
    // The raw reference of the mock does nothing.
    assert!(judged(&timed("raw", 1)).ratio.median > 10.0);
    if cores() > 1 {
        let ran = timed("itself_on_1_thread", 2);
        // What else the machine does is not this test's.
        let said = &ran.told.said;
        assert!(ran.came.failed() == 0 || said[0].contains("machine has more to do"), "{said:?}");
    }
}

#[test]
fn a_side_that_is_wrong_or_fails_fails_the_comparison() {
    let right = one_strategy("right");
    let wrong = one_strategy("wrong").answering(|_| Answer::Output(vec![1]));
    let failing = one_strategy("failing").answering(|_| Answer::Fail("a cable".to_owned()));
    for (subject, baseline, reason) in [
        (&right, &wrong, "expected 0x2a000000, got 0x01"),
        (&wrong, &right, "expected 0x2a000000, got 0x01"),
        (&failing, &right, "a cable"),
    ] {
        let ran = compared(subject, baseline, 1);
        assert_eq!((ran.came.comparisons.failed, ran.came.comparisons.measured), (1, 0));
        assert!(ran.told.said[0].contains(reason), "{:?}", ran.told.said);
        assert!(ran.book().comparisons.is_empty());
        // It is not tried again in the other processes.
        assert_eq!(ran.told.begun.len(), 1);
    }
    let raw = WithRaw(one_strategy("raw").answering(|_| Answer::Output(vec![9])));
    let place = Place::new("[1]");
    let all: [Arc<dyn MeasuredEngine>; 1] = [Arc::new(raw)];
    let text = "[[rows]]\npurpose = \"overhead\"\ncases = [\"echo\"]\nbaseline = \"raw\"\n";
    let (found, _) = selected(text, place.cases(), &all, &place.plan(&all), None).unwrap();
    let ran = run(&place, &all, found, 9);
    assert!(ran.told.said[0].contains("expected 0x2a000000, got 0x09"), "{:?}", ran.told.said);
}

/// The input tells the calls of the two kinds apart: a mock returns it.
#[test]
fn a_burst_comes_after_a_call_of_another_kind_and_some_untimed_ones() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let engine = {
        let calls = Arc::clone(&calls);
        one_strategy("mock").with_latency(Duration::from_micros(50)).answering(move |call| {
            calls.lock().unwrap().push(call.input[0]);
            Answer::Output(call.input.to_vec())
        })
    };
    let place = Place::new("[1]");
    let number = Input::Fields(vec![Field::U32(Number::Value(7))]);
    let mut another =
        Case { name: "other".to_owned(), input: number.clone(), ..place.case().clone() };
    another.expect.output = number;
    let place = place.and(another);
    let all = engines([&engine]);
    let text = "[[rows]]\npurpose = \"peers\"\nexecutors = [\"mock_instance_reuse\"]\n\
        cases = [\"echo\"]\nafter = \"other\"\nskip = 9\nburst = 4\n";
    let (found, _) = selected(text, place.cases(), &all, &place.plan(&all), None).unwrap();
    let ran = run(&place, &all, found, 9);
    assert_eq!(ran.came.comparisons.measured, 1, "{:?}", ran.told.said);
    let calls = calls.lock().unwrap();
    let runs: Vec<usize> = calls.split(|input| *input == 7).map(<[u8]>::len).collect();
    // Both cases are opened with two calls each.
    let bursts = runs.iter().filter(|own| **own > 9).count();
    assert!(bursts > 9, "{runs:?}");
    assert!(runs.iter().all(|own| *own > 9 || *own <= 4), "{runs:?}");
}

#[test]
fn the_threads_of_a_side_rest_while_the_other_side_has_its_turn() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let within = [Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0))];
    let (overlapped, together) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let engine = |id, own: usize| {
        let within = within.clone();
        let (overlapped, together) = (Arc::clone(&overlapped), Arc::clone(&together));
        one_strategy(id).answering(move |call| {
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
        })
    };
    let ran = compared(&engine("a", 0), &engine("b", 1), 2);
    // What else the machine does is not this test's.
    let said = &ran.told.said;
    assert!(ran.came.failed() == 0 || said[0].contains("machine has more to do"), "{said:?}");
    assert!(!overlapped.load(Ordering::SeqCst));
    assert_eq!(together.load(Ordering::SeqCst), 2, "both threads of a side call at once");
}

/// The other thread has to come back all the same, or nothing would ever end.
#[test]
fn a_thread_that_fails_ends_the_round_of_all() {
    if cores() < 2 {
        println!("left out: there is one processor");
        return;
    }
    let engine = |id| {
        one_strategy(id).answering(|call| {
            let thread = std::thread::current();
            if thread.name() == Some("crew-1") && call.calls_before > 20 {
                Answer::Fail("a cable".to_owned())
            } else {
                Answer::Output(call.input.to_vec())
            }
        })
    };
    let ran = compared(&engine("a"), &engine("b"), 2);
    assert_eq!(ran.came.comparisons.failed, 1);
    assert!(ran.told.said[0].contains("a cable"), "{:?}", ran.told.said);
}

#[test]
fn comparisons_in_pairs_belong_to_the_run() {
    let place = Place::new("[1]");
    let [one, other] = ["one", "other"].map(one_strategy);
    let [here, there] = [&one, &other].map(|mock| place.cell(mock, 1));
    let contests = [Purpose::Overview, Purpose::Peers]
        .map(|purpose| compare_cells(purpose, here.clone(), there.clone()).of);
    let asked = AtomicI64::new(0);
    let seeds = Mutex::new(BTreeSet::new());
    let pairs = |of: &Match, seed: u64, made: &mut Vec<Comparison>| {
        asked.fetch_add(1, Ordering::Relaxed);
        seeds.lock().unwrap().insert(seed);
        let pair = |process| Comparison {
            of: of.clone(),
            process,
            rounds: vec![(1.0, 2.0); 9],
            noisy: Vec::new(),
        };
        made.extend((0..3).map(pair));
        anyhow::ensure!(of.purpose == Purpose::Overview, "the fourth process died");
        Ok(())
    };
    let engines = engines([&one, &other]);
    let job = || Job { contests: contests.to_vec(), ..place.job(&engines) };
    let (mut lines, mut told) = (Vec::new(), Told::default());
    let came = place.run_with(&pairs, &engines, job(), (&mut lines, &mut told)).unwrap();
    let tally = came.comparisons;
    assert_eq!((tally.measured, tally.failed, tally.marked), (1, 1, 0));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    // The pairs before a failure are kept. The order is that of the header's seed.
    let of_pairs = lines.iter().filter(|line| matches!(line, Line::Comparison(_))).count();
    assert_eq!(of_pairs, 6);
    assert_eq!(seeds.into_inner().unwrap(), BTreeSet::from([job().header.sampling.seed]));

    // A run that goes on makes only what it has not.
    let mut again = job();
    let first = |line: &&Line| !matches!(line, Line::Comparison(own) if own.of == contests[1]);
    lines.iter().filter(first).for_each(|line| again.done.take(line));
    again.done.begun = true;
    let pairs = |of: &Match, _: u64, _: &mut Vec<Comparison>| {
        asked.fetch_add(1, Ordering::Relaxed);
        anyhow::ensure!(of.purpose == Purpose::Overview, "no process could be started");
        Ok(())
    };
    let came = place.run_with(&pairs, &engines, again, (&mut lines, &mut told)).unwrap();
    let tally = came.comparisons;
    assert_eq!((tally.measured, tally.failed, asked.load(Ordering::Relaxed)), (1, 1, 3));
}
