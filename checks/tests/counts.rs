//! Counts: operators by every means, usage, and the gate over both.

#[path = "../../tests/fixtures/command.rs"]
mod command;

use command::{Folder, touchstone as checks};
use std::collections::BTreeMap;
use std::path::Path;
use touchstone::plan::{Filter, Plan};
use touchstone::record::{
    self, Book, CellKey, Count, Line, Metric, Observations, Sample, Samples, Sampling,
};
use touchstone::run;
use touchstone_checks::count::{self, compare};
use touchstone_executor::guest::{GuestModule, HeapPages, OPERATORS};
use touchstone_executor::{Abi, Config, Execution, Instance, Outcome, Strategy, Support};

/// Every kind of control flow, with counts known by hand.
const FLOW: &str = r#"(module
    (memory (export "memory") 1)
    (table funcref (elem $five))
    (func $five (result i32) (i32.const 5))
    (func (export "empty"))
    (func (export "nothing_that_counts") (nop) (block (loop)) (return))
    (func (export "constant") (result i32) (i32.const 5))
    (func (export "call") (result i32) (call $five))
    (func (export "indirect") (result i32) (call_indirect (result i32) (i32.const 0)))
    (func (export "if") (param i32) (result i32)
      (if (result i32) (local.get 0)
        (then (i32.add (i32.const 1) (i32.const 2)))
        (else (i32.const 3))))
    (func (export "loop") (param i32)
      (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
    (func (export "table") (param i32) (result i32)
      (block (block (block (br_table 0 1 2 (local.get 0)))
        (return (i32.const 1)))
        (return (i32.add (i32.const 1) (i32.const 1))))
      (i32.const 3))
    (func (export "fill") (param i32)
      (memory.fill (i32.const 0) (i32.const 1) (local.get 0)))
    (func (export "dead") (br 0) (drop (i32.const 1)) (unreachable)))"#;

/// Export, parameter, operators.
const COUNTS: [(&str, Option<i32>, u64); 15] = [
    ("empty", None, 0),
    ("nothing_that_counts", None, 0),
    ("constant", None, 1),
    // The call, the entry, the constant.
    ("call", None, 3),
    ("indirect", None, 4),
    ("if", Some(1), 5),
    ("if", Some(0), 3),
    ("loop", Some(1), 5),
    ("loop", Some(100), 500),
    ("table", Some(0), 3),
    ("table", Some(1), 5),
    ("table", Some(7), 3),
    ("fill", Some(0), 4),
    ("fill", Some(60_000), 4),
    ("dead", None, 1),
];

#[test]
fn operators_of_known_code_are_what_they_are_on_every_engine_and_strategy() {
    let wasm = wat::parse_str(FLOW).unwrap();
    let guest = GuestModule::new("flow", &wasm, HeapPages::default()).unwrap();
    let counting = guest.counting().unwrap();
    let mut means = 0;
    for engine in touchstone_runtimes::engines() {
        let mut compiled = BTreeMap::new();
        for strategy in Strategy::all() {
            for metered in [false, true] {
                let guest = if metered { &guest } else { &counting };
                let runs =
                    !matches!(engine.support_for(strategy, guest), Support::Unsupported { .. });
                let native = engine.execution() == Execution::Native;
                if !runs || native || (metered && !engine.has_meter()) {
                    continue;
                }
                means += 1;
                let name = format!("{} {strategy}, metered: {metered}", engine.id());
                let config = Config { metered, ..Config::default() };
                let class = (engine.artifact_class(strategy), metered);
                let compile = || engine.compile(guest, strategy, &config).expect(&name);
                let artifact = compiled.entry(class).or_insert_with(compile).clone();
                let module = engine.load(guest, &artifact, strategy, &config).expect(&name);
                let instance = &mut *module.new_instance().expect(&name);
                let counter = (!metered).then(|| module.export(OPERATORS, Abi::Plain).unwrap());
                // Twice: a reset in place resets the counter.
                for (export, param, operators) in COUNTS.into_iter().chain(COUNTS) {
                    let handle = module.export(export, Abi::Plain).unwrap();
                    let input = param.map_or(Vec::new(), |param| param.to_le_bytes().to_vec());
                    instance.prepare().expect(&name);
                    let before = read(instance, counter);
                    let outcome =
                        instance.invoke(handle, &input, &mut Vec::new(), None).expect(&name);
                    assert_eq!(outcome, Outcome::Returned, "{name} {export}");
                    let count = read(instance, counter) - before - 1;
                    assert_eq!(count, operators, "{name}: {export} of {param:?}");
                    if !metered {
                        assert_eq!(before, 0, "{name}");
                    }
                    instance.finish().expect(&name);
                }
            }
        }
    }
    println!("{means} means of counting");
    assert!(means > 0);
}

fn read(instance: &mut dyn Instance, counter: Option<touchstone_executor::ExportId>) -> u64 {
    let Some(counter) = counter else { return instance.operators().unwrap() };
    let mut count = Vec::new();
    assert_eq!(instance.invoke(counter, &[], &mut count, None).unwrap(), Outcome::Returned);
    u64::from_le_bytes(count.try_into().unwrap())
}

#[test]
fn a_component_and_a_guest_that_counts_already_are_refused() {
    let wasm = wat::parse_str(FLOW).unwrap();
    let guest = GuestModule::new("flow", &wasm, HeapPages::default()).unwrap();
    let error = guest.counting().unwrap().counting().unwrap_err();
    assert!(error.to_string().contains(OPERATORS), "{error}");
    let built = std::fs::read(command::built("json-component.wasm")).unwrap();
    let component = GuestModule::new("component", &built, HeapPages::default()).unwrap();
    assert!(component.counting().unwrap_err().to_string().contains("component"));
}

/// Counts as they might be stored.
fn counts() -> Book {
    let sampling = Sampling::untimed("counts", 0);
    let count = Count {
        case: "case".to_owned(),
        guest: "guest".to_owned(),
        guest_sha256: "0".to_owned(),
        metrics: BTreeMap::from([(Metric::Operators, 1000), (Metric::GuestBytes, 5000)]),
        counted_by: vec!["somebody".to_owned()],
    };
    let cell = CellKey {
        case: "case".to_owned(),
        guest: "guest".to_owned(),
        engine: "a".to_owned(),
        strategy: Strategy::INTERPRETED,
        threads: 1,
    };
    let metrics = [
        (Metric::PageFaults, 100.0),
        (Metric::SystemCalls, 2.0),
        (Metric::Signals, 0.0),
        (Metric::ArtifactBytes, 100_000.0),
    ];
    let metrics = metrics.map(|(metric, value)| (metric, one(value))).into();
    let observations = Observations { cell, process: 0, probe_ns: 0, metrics };
    let lines = vec![Line::Count(count), Line::Observations(observations)];
    Book::of(run::header(sampling, &[], &Plan::default()), lines)
}

fn one(value: f64) -> Samples {
    Samples(vec![Sample::single(value)])
}

/// Changes a metric of the only case.
fn set_count(book: &mut Book, metric: Metric, value: u64) {
    book.counts.values_mut().next().unwrap().metrics.insert(metric, value);
}

/// Changes a metric of the only cell.
fn set_cell(book: &mut Book, metric: Metric, value: f64) {
    book.cells.values_mut().next().unwrap()[0].metrics.insert(metric, one(value));
}

#[test]
fn growth_of_one_per_cent_closes_the_gate_and_nothing_else_does() {
    let changed = |change: &dyn Fn(&mut Book)| {
        let mut now = counts();
        change(&mut now);
        let verdict = compare(&counts(), &now);
        (verdict.grown.len(), verdict.shrunk.len(), verdict.compared)
    };
    assert_eq!(changed(&|_| {}), (0, 0, 6));
    for (metric, value) in
        [(Metric::Operators, 1010), (Metric::Operators, 1001), (Metric::GuestBytes, 5050)]
    {
        assert_eq!(changed(&|now| set_count(now, metric, value)), (1, 0, 6), "{metric}");
    }
    for (metric, value) in [
        (Metric::ArtifactBytes, 101_000.0),
        (Metric::PageFaults, 101.0),
        (Metric::SystemCalls, 2.25),
        (Metric::Signals, 0.25),
    ] {
        assert_eq!(changed(&|now| set_cell(now, metric, value)), (1, 0, 6), "{metric}");
    }
    assert_eq!(changed(&|now| set_count(now, Metric::Operators, 990)), (0, 1, 6));
    let within = 100.0 + 1.0 / 32.0;
    assert_eq!(changed(&|now| set_cell(now, Metric::PageFaults, within)), (0, 0, 6));
    let uncounted = |now: &mut Book| {
        now.cells.values_mut().next().unwrap()[0].metrics.remove(&Metric::SystemCalls);
    };
    assert_eq!(changed(&uncounted), (0, 0, 5));
}

#[test]
fn events_that_only_one_process_had_do_not_close_the_gate() {
    let changed = |metric, value| {
        let mut now = counts();
        set_cell(&mut now, metric, value);
        compare(&counts(), &now)
    };
    let cell = counts().name(counts().cells.keys().next().unwrap());
    for metric in [Metric::PageFaults, Metric::SystemCalls, Metric::Signals] {
        let mut verdict = changed(metric, 200.0);
        let pattern = verdict.grown_cells().unwrap();
        assert!(Filter::new(Some(&pattern)).unwrap().matches(&cell), "{pattern}");
        verdict.keep_grown_in(&changed(metric, 201.0));
        assert!(!verdict.is_open(), "it grew in both: {metric}");
        verdict.keep_grown_in(&compare(&counts(), &counts()));
        assert!(verdict.is_open() && verdict.grown_cells().is_none(), "{metric}");
    }
    // The size of code is the same in each process.
    let mut verdict = changed(Metric::ArtifactBytes, 101_000.0);
    assert_eq!(verdict.grown_cells(), None);
    verdict.keep_grown_in(&compare(&counts(), &counts()));
    assert!(!verdict.is_open());
}

#[test]
fn counts_of_another_kernel_or_processor_are_not_compared_but_operators_are() {
    let mut now = counts();
    now.header.machine.kernel = "another".to_owned();
    now.header.machine.cpu = "another".to_owned();
    set_cell(&mut now, Metric::PageFaults, 1e6);
    let verdict = compare(&counts(), &now);
    assert!(verdict.is_open());
    assert_eq!((verdict.compared, verdict.left_out.len()), (2, 2), "{:?}", verdict.left_out);
    set_count(&mut now, Metric::Operators, 1001);
    assert!(!compare(&counts(), &now).is_open());
}

#[test]
fn a_gate_that_compares_nothing_is_closed_and_says_why() {
    let mut now = counts();
    now.header.machine.kernel = "another".to_owned();
    now.header.machine.cpu = "another".to_owned();
    now.counts.clear();
    let mut stored = counts();
    stored.counts.clear();
    let verdict = compare(&stored, &now);
    assert!(!verdict.is_open() && verdict.grown.is_empty());
    assert!(verdict.left_out[0].contains("another"), "{:?}", verdict.left_out);
    now.cells.clear();
    let verdict = compare(&stored, &now);
    assert!(!verdict.is_open());
    assert_eq!(verdict.left_out, ["nothing of what was counted is stored"]);
}

#[test]
fn a_case_that_is_new_closes_the_gate_and_a_cell_that_is_new_does_not() {
    let mut now = counts();
    let (key, seen) = now.cells.first_key_value().unwrap();
    let (key, seen) = (CellKey { engine: "new".to_owned(), ..key.clone() }, seen.clone());
    now.cells.insert(key, seen);
    assert!(compare(&counts(), &now).is_open());
    let new = now.counts.values().next().unwrap().clone();
    now.counts.insert(("new".to_owned(), "guest".to_owned()), new);
    let verdict = compare(&counts(), &now);
    assert_eq!((verdict.grown.len(), verdict.grown[0].stored), (1, None));
}

/// The filter of the command's tests: two cases by operators, one call by usage.
const FEW: &str = "^call_empty_function_from_test_runtime$|^serde_json_small_from_json_module$|\
                   ^call_empty_function_from_test_runtime/[a-z0-9]+_instance_reuse_tracked/";

#[test]
fn three_runs_count_the_same_and_the_gate_sees_a_planted_regression() {
    let can_count = |engine: &std::sync::Arc<dyn touchstone_executor::adapter::MeasuredEngine>| {
        engine.has_meter() || engine.execution() == Execution::Interpreted
    };
    if !touchstone_runtimes::engines().iter().any(can_count) {
        return;
    }
    let folder = Folder::new();
    let run = || checks(&["costs", FEW]).well();
    let first = run();
    assert!(first.contains("operators"), "{first}");
    assert_eq!(run(), first);
    assert_eq!(run(), first);

    // The stored counts, and a copy with one count a hundredth lower.
    let stored = record::default_path(record::COUNTS);
    let gate = |path: &Path| checks(&["gate", FEW, "--counts", path.to_str().unwrap()]);
    let out = gate(&stored);
    assert_eq!(out.code, 0, "{}{}", out.out, out.err);
    assert!(out.out.contains("nothing grew"), "{}", out.out);
    let (header, mut lines) = record::load(&stored).unwrap().runs.pop().unwrap();
    for line in &mut lines {
        if let Line::Count(count) = line
            && (&*count.case, &*count.guest) == ("serde_json_small", "json_module")
        {
            let operators = count.metrics.get_mut(&Metric::Operators).unwrap();
            *operators -= *operators / 100;
        }
    }
    let planted = folder.at("counts.jsonl");
    count::store(&planted, &header, &lines).unwrap();
    let out = gate(&planted).found(&["grown", "serde_json_small_from_json_module", "make costs"]);
    assert!(out.contains("+1.0"), "{out}");
}

#[test]
fn events_that_grow_in_each_process_close_the_gate() {
    if !touchstone_runtimes::engines().iter().any(|engine| engine.id() == "wasmtime") {
        return;
    }
    let (mut header, mut lines) =
        record::load(record::default_path(record::COUNTS)).unwrap().runs.pop().unwrap();
    // As if they were of this kernel, and no call had a page fault.
    header.machine = counts().header.machine;
    for line in &mut lines {
        if let Line::Observations(seen) = line {
            seen.metrics.insert(Metric::PageFaults, one(0.0));
        }
    }
    let folder = Folder::new();
    let planted = folder.at("counts.jsonl");
    count::store(&planted, &header, &lines).unwrap();
    let cell = "^call_empty_function_from_test_runtime/wasmtime_recreate_instance/";
    let out = checks(&["gate", cell, "--counts", planted.to_str().unwrap()]).found(&[
        "grown",
        "page faults",
        "wasmtime_recreate_instance",
    ]);
    assert!(out.contains("1 counts grew"), "{out}");
}

#[test]
fn counts_that_cannot_be_read_are_named_with_what_to_do() {
    let folder = Folder::new();
    let path = folder.at("counts.jsonl");
    let gate = || checks(&["gate", "--counts", path.to_str().unwrap()]);
    gate().refused(&["cannot read the counts", "make costs"]);
    std::fs::write(&path, "{").unwrap();
    gate().refused(&["holds no run", "make costs"]);
    let mut header = counts().header;
    header.schema = 999;
    count::store(&path, &header, &[]).unwrap();
    gate().refused(&["layout version 999", "make costs"]);
    assert_eq!(checks(&["costs", "--store", "some"]).code, 2);
    checks(&["costs", "no_such_case"]).refused(&["matches no case"]);
}
