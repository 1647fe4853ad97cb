//! Hot swap, on a mock and on whatever engines this build has.

use crate::command::time::with_longer_limits;
use crate::command::{Folder, touchstone};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use touchstone::case::{self, Case, Guests, digest};
use touchstone::experiment::{Ask, Host, Question, Said, Terms, workload};
use touchstone::lab::{Lab, Refused};
use touchstone::plan::{Random, cores};
use touchstone::record::{self, Experiment, Line, Point, PointRefusal, Status, Tail};
use touchstone::supervise::Stop;
use touchstone::swap::{
    self, Kind, LoadPlan, Messages, Method, Ready, SwapPlan, UnderLoad, random_order,
};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};
use touchstone_executor::harness::mock::{Answer, MockEngine};
use touchstone_executor::{Config, Execution, Support};

/// Two guests that say who they are: a byte after the input's, which is given back.
fn guest(byte: u8) -> Vec<u8> {
    let text = format!(
        r#"(module
            (memory (export "memory") 1)
            (global (export "__heap_base") i32 (i32.const 1024))
            (func (export "answer") (param i32 i32) (result i64)
                (i32.store8 (i32.const 16) (i32.load8_u (local.get 0)))
                (i32.store8 (i32.const 17) (i32.const {byte}))
                (i64.const 0x200000010)))"#
    );
    wat::parse_str(text).unwrap()
}

fn case_text(name: &str, input: &str, output: &str) -> String {
    format!(
        "[case]\nname = \"{name}\"\nguests = [\"{name}\"]\nexport = \"answer\"\nabi = \
         \"substrate\"\ninput = \"{input}\"\nthreads = [1]\nexpect = {{ output = \"{output}\" \
         }}\nanalysis = \"For tests.\"\n"
    )
}

const GOOD: &str = "kinds = [\"first\", \"second\"]\nreplacements = 50\npause_us = 100\n";

/// A folder with two guests and their cases.
fn place() -> (TempDir, Vec<Case>) {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = String::new();
    for (name, byte, input, output) in
        [("first", 1, "0x07", "0x0701"), ("second", 2, "0x08", "0x0802")]
    {
        let wasm = guest(byte);
        std::fs::write(folder.path().join(format!("{name}.wasm")), &wasm).unwrap();
        std::fs::write(folder.path().join(format!("{name}.toml")), case_text(name, input, output))
            .unwrap();
        sums += &format!("{}  {name}.wasm\n", digest(&wasm));
    }
    std::fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    let cases = case::load_all(folder.path()).unwrap();
    (folder, cases)
}

fn plan(folder: &Path, cases: &[Case], text: &str) -> anyhow::Result<SwapPlan> {
    let path = folder.join("swap.data");
    std::fs::write(&path, text).unwrap();
    swap::load(&path, cases)
}

/// Two kinds, and a lab over their guests.
struct Place {
    kinds: Arc<[Kind; 2]>,
    lab: Lab,
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let (folder, cases) = place();
        let plan = plan(folder.path(), &cases, GOOD).unwrap();
        let guests = Guests::in_folder(folder.path());
        let mut lab = Lab::new(guests, Config::default()).without_times();
        let kinds = swap::kinds(plan.kinds.each_ref(), &mut lab.guests).unwrap();
        Self { kinds, lab, folder }
    }

    fn ready(
        &mut self,
        method: Method,
        engine: &Arc<dyn MeasuredEngine>,
    ) -> Result<Ready, Refused> {
        Ready::new(method, engine, &self.kinds, &mut self.lab)
    }

    fn under_load(
        &mut self,
        engine: &Arc<dyn MeasuredEngine>,
        load: LoadPlan,
    ) -> anyhow::Result<UnderLoad> {
        Ok(swap::under_load(self.ready(Method::LoadArtifact, engine)?, load)?)
    }
}

/// Answers as the two guests do: it knows them by what they are given.
fn answer(input: &[u8]) -> Answer {
    Answer::Output(vec![input[0], input[0] - 6])
}

fn mock() -> MockEngine {
    MockEngine::new("mock").answering(|call| answer(call.input))
}

fn shared(engine: &MockEngine) -> Arc<dyn MeasuredEngine> {
    Arc::new(engine.clone())
}

/// The messages that follow the first one, which is sent before.
fn send_all(messages: &mut Messages, order: &[usize]) -> Result<(), Refused> {
    order.iter().try_for_each(|kind| messages.send(*kind))
}

#[test]
fn half_of_the_messages_in_random_order_are_changes() {
    let order = |seed| random_order(&mut Random::new(seed), 1024);
    assert_eq!(order(4), order(4));
    assert_ne!(order(4), order(5));
    let order = order(4);
    assert_eq!(order.len(), 1025);
    for from in (0..1024).step_by(4) {
        let changes = order[from..=from + 4].windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(changes, 2);
    }
    let second = order.iter().sum::<usize>();
    assert!((400..624).contains(&second), "{second}");
}

#[test]
fn the_file_is_read_and_what_is_wrong_in_it_is_said_with_what_to_do() {
    let (folder, cases) = place();
    let read = |text: &str| plan(folder.path(), &cases, text);
    let good = read(GOOD).unwrap();
    assert_eq!((good.load.replacements, good.load.pause), (50, Duration::from_micros(100)));
    assert_eq!(good.kinds.map(|case| case.name.clone()), ["first", "second"]);
    for (from, to, said) in [
        ("replacements = 50\n", "", "missing field `replacements`"),
        ("replacements", "replacement", "unknown field `replacement`"),
        ("replacements = 50", "replacements = 0", "'replacements' must be at least 1"),
        ("\"second\"", "\"third\"", "no case 'third'"),
        ("\"second\"", "\"first\"", "must name two different cases"),
        ("\"first\", ", "", "2"),
    ] {
        let error = format!("{:#}", read(&GOOD.replace(from, to)).unwrap_err());
        assert!(error.contains(said) && error.contains("swap.data"), "'{said}' not in: {error}");
    }
    let error = swap::load(&folder.path().join("none"), &cases).unwrap_err();
    assert!(error.to_string().contains("cannot read"), "{error}");
}

#[test]
fn the_file_of_the_project_names_cases_that_are_there() {
    let cases = case::built_in().unwrap();
    let plan = swap::load(&swap::file(None), &cases).unwrap();
    assert_eq!(plan.load.replacements, 1000);
    let kinds = swap::kinds(plan.kinds.each_ref(), &mut Guests::built()).unwrap();
    assert_ne!(kinds[0].guest.name(), kinds[1].guest.name());
}

#[test]
fn engines_without_modules_and_those_that_execute_alike_are_left_out_with_the_reason() {
    let compiles = |id| shared(&MockEngine::new(id).executing(Execution::Compiled));
    let (engines, left_out) = swap::engines(&[compiles("a"), shared(&mock())]);
    assert_eq!(engines.iter().map(|engine| engine.id()).collect::<Vec<_>>(), ["a"]);
    let (engine, reason) = &left_out[0];
    assert_eq!(engine.id(), "mock");
    assert!(reason.contains("no module to replace"), "{reason}");
    let all = touchstone_runtimes::engines();
    let (engines, left_out) = swap::engines(&all);
    assert_eq!(engines.len() + left_out.len(), all.len());
    for engine in engines {
        let like = engine.executes_like();
        assert!(like.is_none_or(|like| all.iter().all(|other| other.id() != like)));
    }
}

#[test]
fn every_method_answers_every_message_rightly_and_does_what_its_name_says() {
    let mut place = Place::new();
    let order = random_order(&mut Random::new(4), 64);
    // Of each method: what is done at a change, and what is done once.
    for (method, at_a_change, at_once) in [
        (Method::Recompile, ["compile", "load", "instance"].as_slice(), [].as_slice()),
        (Method::LoadArtifact, &["load", "instance"], &["compile"]),
        (Method::Instantiate, &["instance"], &["compile", "load"]),
        (Method::TwoLive, &[], &["compile", "load", "instance"]),
        (Method::Pool, &[], &["compile", "load", "instance"]),
    ] {
        let engine = mock();
        let mut messages = Messages::new(place.ready(method, &shared(&engine)).unwrap()).unwrap();
        messages.send(order[0]).unwrap();
        let before = engine.journal().len();
        send_all(&mut messages, &order[1..]).unwrap();
        let made = order.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
        assert_eq!(made, 32, "{method}");
        let journal = engine.journal()[before..].to_vec();
        let count =
            |what: &str| journal.iter().filter(|line| line.starts_with(what)).count() as u64;
        for what in at_a_change {
            assert_eq!(count(what), made, "{method}: {what}");
        }
        for what in at_once {
            assert_eq!(count(what), 0, "{method}: {what}");
        }
    }
}

#[test]
fn the_methods_of_every_engine_answer_rightly() {
    let order = random_order(&mut Random::new(4), 24);
    let mut engines = touchstone_runtimes::engines();
    engines.push(shared(&mock()));
    for engine in engines {
        // An artifact is an engine's own.
        let mut place = Place::new();
        for method in Method::ALL {
            match place.ready(method, &engine).and_then(Messages::new) {
                Ok(mut messages) => send_all(&mut messages, &order).unwrap(),
                Err(refused) => {
                    assert_eq!(refused.status, Status::Unsupported, "{}: {refused}", engine.id());
                    assert!(!refused.reason.is_empty());
                }
            }
        }
    }
}

/// The points of the comparisons of an engine, in one process.
fn compared(place: &Place, engine: &MockEngine) -> Vec<Point> {
    let folder = place.folder.path();
    let experiment = Experiment::load(record::experiments_folder().join("swap.toml")).unwrap();
    let cases = case::load_all(folder).unwrap();
    let (engines, guests) = (vec![shared(engine)], Guests::in_folder(folder));
    let at = record::Place::default().with("engine", engines[0].id());
    let host = Host { experiment, cases, engines, guests, stop: Stop::default() };
    let question = &Question { place: at, ..Question::default() };
    let scratch = Scratch::new().unwrap();
    let terms = &Terms {
        rounds: 3,
        small: true,
        artifacts: scratch.path().to_owned(),
        file: Some(folder.join("swap.data")),
        ..Terms::default()
    };
    let mut points = Vec::new();
    let mut say = |said: Said| {
        if let Said::Found(line) = said
            && let Line::Point(point) = *line
        {
            points.push(*point);
        }
    };
    let workload = workload("swap").unwrap();
    workload.answer(Ask { host, question, terms }, &mut say).unwrap();
    points
}

/// The place of a point without its engine, and the reason why it has no times.
fn named(point: &Point) -> (String, Option<&PointRefusal>) {
    let names = ["method", "against", "strategy"];
    let names = names.map(|name| point.place.text(name).unwrap_or("none"));
    (names.join(" "), point.refused.as_ref())
}

#[test]
fn each_method_is_compared_with_sorted_messages_and_with_recompiling() {
    let points = compared(&Place::new(), &mock());
    let mut names: Vec<(String, Option<&PointRefusal>)> = points.iter().map(named).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    let all = [
        "instantiate recompile recreate_instance_cow",
        "instantiate sorted recreate_instance_cow",
        "load_artifact recompile recreate_instance_cow",
        "load_artifact sorted recreate_instance_cow",
        "pool recompile pooling_cow",
        "pool sorted pooling_cow",
        "recompile sorted recreate_instance_cow",
        "two_live_instances recompile instance_reuse_tracked",
        "two_live_instances sorted instance_reuse_tracked",
    ];
    assert_eq!(names, all.map(|name| (name.to_owned(), None)));
    for point in points {
        for samples in ["message", "baseline"].map(|metric| &point.values[metric].0) {
            assert!(samples.len() >= 3 && samples.iter().all(|own| own.per_call() > 0.0));
        }
    }
}

#[test]
fn a_method_that_cannot_be_had_is_refused_and_the_others_go_on() {
    let engine = mock().supporting(|strategy| match strategy.to_string().as_str() {
        "interpreted" | "pooling_tracked" => Support::Native,
        _ => Support::unsupported("not this one"),
    });
    let points = compared(&Place::new(), &engine);
    let (measured, refused): (Vec<_>, Vec<_>) =
        points.iter().map(named).partition(|(_, refused)| refused.is_none());
    let mut measured: Vec<String> = measured.into_iter().map(|(name, _)| name).collect();
    measured.retain(|name| name.contains(" sorted "));
    measured.sort();
    let all = ["instantiate", "load_artifact", "pool", "recompile"].map(|method| {
        let strategy = if method == "pool" { "pooling_tracked" } else { "interpreted" };
        format!("{method} sorted {strategy}")
    });
    assert_eq!(measured, all);
    let reason = "two_live_instances with instance_reuse_tracked: not this one";
    for (name, refusal) in refused {
        let refusal = refusal.map(|own| (own.status, &*own.reason));
        assert!(name.starts_with("two_live_instances ") && name.ends_with(" none"), "{name}");
        assert_eq!(refusal, Some((Status::Unsupported, reason)));
    }
}

#[test]
fn a_wrong_answer_a_trap_and_a_failure_are_reasons_with_names() {
    for (bad, status, said) in [
        (Answer::Output(vec![9]), Status::Wrong, "second: expected 0x0802, got 0x09"),
        (
            Answer::Trap(touchstone_executor::Trap {
                kind: touchstone_executor::TrapKind::Unreachable,
                detail: String::new(),
            }),
            Status::Trapped,
            "second: ",
        ),
        (Answer::Fail("a cable".to_owned()), Status::Failed, "a cable"),
    ] {
        // Both kinds are right when they are tried, and the second one is not later.
        let calls = AtomicU64::new(0);
        let engine = mock().answering(move |call| {
            let calls = calls.fetch_add(1, Ordering::SeqCst);
            if calls > 40 && call.input == [8] { bad.clone() } else { answer(call.input) }
        });
        for point in compared(&Place::new(), &engine) {
            let refusal = point.refused.expect("no side is right");
            assert_eq!(refusal.status, status, "{refusal:?}");
            assert!(refusal.reason.contains(said), "{refusal:?}");
        }
    }
}

#[test]
fn a_soak_reads_the_memory_on_the_way() {
    let mut place = Place::new();
    let engine = mock();
    let mut points = Vec::new();
    let ready = place.ready(Method::Instantiate, &shared(&engine)).unwrap();
    assert_eq!(ready.strategy.to_string(), "recreate_instance_cow");
    swap::soak(ready, 20_000, |swaps, kib| points.push((swaps, kib))).unwrap();
    assert_eq!(points.iter().map(|point| point.0).collect::<Vec<_>>()[..3], [1000, 2000, 4000]);
    assert_eq!((points.len(), points[10].0), (11, 20_000));
    assert!(points.iter().all(|point| point.1 > 0));
    // Those of the set-up are an instance of each kind.
    let instances = engine.journal().iter().filter(|line| *line == "instance").count();
    assert_eq!(instances, 20_000 + 2);
}

#[test]
fn under_load_no_call_fails_and_the_last_generation_is_seen() {
    let mut place = Place::new();
    let inputs = Arc::new(Mutex::new(HashSet::new()));
    let engine = {
        let inputs = Arc::clone(&inputs);
        mock().answering(move |call| {
            inputs.lock().unwrap().insert(call.input[0]);
            answer(call.input)
        })
    };
    let (threads, pause) = (cores().min(2), Duration::from_micros(200));
    let load = LoadPlan { threads, replacements: 50, pause };
    let found = place.under_load(&shared(&engine), load).unwrap();
    let UnderLoad { instances_taken, failed, wrong, swapping, still, problem } = found;
    assert_eq!((failed, wrong, problem), (0, 0, None));
    // Each thread sees the first and the last.
    let threads = threads as u64;
    assert!((2 * threads..=threads * 51).contains(&instances_taken), "{instances_taken}");
    assert!(swapping.calls >= instances_taken && still.calls >= threads);
    for Tail { p50_ns, p99_ns, p999_ns, max_ns, .. } in [swapping, still] {
        let all = [p50_ns, p99_ns, p999_ns, max_ns];
        assert!(all.is_sorted() && p50_ns > 0, "{all:?}");
    }
    assert_eq!(*inputs.lock().unwrap(), HashSet::from([7, 8]));
}

#[test]
fn every_engine_is_swapped_under_load() {
    for engine in touchstone_runtimes::engines() {
        let load = LoadPlan { threads: 1, replacements: 10, pause: Duration::from_micros(100) };
        match Place::new().under_load(&engine, load) {
            Ok(found) => assert_eq!(found.problem, None),
            Err(error) => {
                let refused = error.downcast_ref::<Refused>().expect("a reason");
                assert_eq!(refused.status, Status::Unsupported, "{refused}");
            }
        }
    }
}

#[test]
fn calls_that_go_wrong_under_load_are_counted() {
    let engine = MockEngine::new("mock").answering(|call| match call.input {
        [8] => Answer::Output(vec![0]),
        _ => Answer::Fail("a cable".to_owned()),
    });
    // On a busy machine, no call may come between two replacements.
    let first = with_longer_limits(0.1, |pause| {
        let load = LoadPlan { threads: 1, replacements: 3, pause };
        let found = Place::new().under_load(&shared(&engine), load).unwrap();
        let UnderLoad { failed, wrong, swapping, problem, .. } = found;
        assert_eq!(swapping.calls, 0, "{swapping:?}");
        problem.filter(|_| failed > 0 && wrong > 0)
    });
    assert!(first.starts_with("first: ") && first.contains("a cable"), "{first}");
}

#[test]
fn the_command_records_one_run_and_says_what_it_cannot_use() {
    let folder = Folder::new();
    let records = folder.at("swap.jsonl");
    let file = folder.file(
        "swap.toml",
        GOOD.replace("first", "call_empty_function")
            .replace("second", "dirty_1mb_of_memory")
            .replace("50", "5"),
    );
    let run = |arguments: &[&str]| {
        let places = ["swap", "--plan", &*file, "--records", records.to_str().unwrap()];
        touchstone(&[&places, arguments].concat())
    };
    run(&["nowhere"]).refused(&["no method matches 'nowhere'"]);
    let cases = case::built_in().unwrap();
    let plan = swap::load(Path::new(&file), &cases).unwrap();
    let kinds = swap::kinds(plan.kinds.each_ref(), &mut Guests::built()).unwrap();
    let (engines, _) = swap::engines(&touchstone_runtimes::engines());
    let there =
        |engine: &&Arc<dyn MeasuredEngine>| Method::Pool.strategy(&***engine, &kinds).is_ok();
    if let Some(engine) = engines.iter().find(there) {
        let filter = format!("^{}/(pool|under_load)$", engine.id());
        let ran = run(&["--sampling", "quick", "--swaps", "40", &filter]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        for part in ["recompile", "Memory over many swaps", "Swap under load"] {
            assert!(ran.out.contains(part), "'{part}' is not in: {}", ran.out);
        }
        let runs = record::load(&records).unwrap().runs;
        assert_eq!((runs.len(), &*runs[0].0.sampling.name), (1, "swap"));
        let lines = &runs[0].1;
        let of = |name: &str| {
            let points = lines.iter().filter_map(|line| match line {
                Line::Point(point) if point.experiment == name => Some(point),
                _ => None,
            });
            points.collect::<Vec<_>>()
        };
        // Two comparisons in three processes.
        assert_eq!(of("swap").iter().filter(|point| point.refused.is_none()).count(), 6);
        let load = of("swap_load")[0];
        let value = |name: &str| load.values[name].0[0].total;
        assert_eq!((value("replacements"), value("failed"), value("wrong")), (5.0, 0.0, 0.0));
        let swaps = of("swap_memory").into_iter().filter_map(|point| point.place.number("swaps"));
        assert_eq!(swaps.max(), Some(40));
    }
    if let Some(engine) = engines.iter().find(|engine| !there(engine)) {
        let name = format!("{}/pool", engine.id());
        let ran = run(&["--sampling", "quick", "--swaps", "20", &format!("^{name}$")]);
        assert!(ran.code == 0 && ran.out.contains(" refusals; --json prints"), "{}", ran.out);
    }
    folder.file("swap.toml", GOOD);
    run(&[]).refused(&["there is no case 'first'", "swap.toml"]);
}
