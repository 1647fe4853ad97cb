//! Hot swap, on a mock and on whatever engines this build has.

#[path = "fixtures/command.rs"]
#[allow(dead_code)]
mod command;
#[path = "fixtures/records.rs"]
#[allow(dead_code)]
mod fixture;

use command::{Folder, touchstone_with};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use touchstone::case::{self, Case};
use touchstone::guests::{Guests, digest};
use touchstone::record::{self, Interval, Record, SwapFound, SwapRecord};
use touchstone::report;
use touchstone::swap::{
    self, Artifacts, Kind, LadderPlan, LoadPlan, Problem, Rung, Step, SwapPlan, changes,
    random_order,
};
use touchstone_executor::mock::{Answer, MockEngine};
use touchstone_executor::{Config, Engine, Support};

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

const GOOD: &str = "messages = 64\nseed = 4\nkinds = [\"first\", \"second\"]\nwithout = \
                    [\"other\"]\nreplacements = 50\npause_us = 100\n";

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

fn plan(folder: &Path, cases: &[Case], text: &str) -> Result<SwapPlan, swap::PlanError> {
    let path = folder.join("swap.data");
    std::fs::write(&path, text).unwrap();
    swap::load(&path, cases)
}

fn two_kinds() -> [Kind; 2] {
    let (folder, cases) = place();
    let plan = plan(folder.path(), &cases, GOOD).unwrap();
    swap::kinds(&plan.kinds, &mut Guests::in_folder(folder.path())).unwrap()
}

/// Answers as the two guests do: it knows them by what they are given.
fn answer(input: &[u8]) -> Answer {
    Answer::Output(vec![input[0], input[0] - 6])
}

fn mock() -> MockEngine {
    MockEngine::new("mock").answering(|call| answer(call.input))
}

fn shared(engine: &MockEngine) -> Arc<dyn Engine> {
    Arc::new(engine.clone())
}

/// No time at all: every rung makes the fewest messages.
fn quick() -> LadderPlan {
    LadderPlan { rounds: 6, pass: Duration::ZERO, rung: Duration::MAX, sees_execution: false }
}

#[test]
fn the_file_is_read_and_what_is_wrong_in_it_is_said_with_what_to_do() {
    let (folder, cases) = place();
    let read = |text: &str| plan(folder.path(), &cases, text);
    let good = read(GOOD).unwrap();
    assert_eq!((good.messages, good.seed, good.replacements), (64, 4, 50));
    assert_eq!(good.pause, Duration::from_micros(100));
    assert_eq!(good.without, ["other"]);
    assert_eq!(good.kinds.map(|case| case.name), ["first", "second"]);
    for (from, to, said) in [
        ("messages = 64\n", "", "missing field `messages`"),
        ("messages", "massages", "unknown field `massages`"),
        ("64", "1", "'messages' is 2 or more"),
        ("replacements = 50", "replacements = 0", "'replacements' is 1 or more"),
        ("\"second\"", "\"third\"", "no case 'third'"),
        ("\"second\"", "\"first\"", "not the same twice"),
        ("\"first\", ", "", "2"),
    ] {
        let error = anyhow::Error::new(read(&GOOD.replace(from, to)).unwrap_err());
        let error = format!("{error:#}");
        assert!(error.contains(said) && error.contains("swap.data"), "'{said}' not in: {error}");
    }
    let error = swap::load(&folder.path().join("none"), &cases).unwrap_err();
    assert!(error.to_string().contains("TOUCHSTONE_SWAP"), "{error}");
}

#[test]
fn the_file_of_the_project_names_cases_that_are_there() {
    let cases = case::load_all(&case::default_folder()).unwrap();
    let plan = swap::load(&swap::default_path(), &cases).unwrap();
    assert_eq!((plan.messages, plan.replacements), (1024, 1000));
    let kinds = swap::kinds(&plan.kinds, &mut Guests::built()).unwrap();
    assert_ne!(kinds[0].file, kinds[1].file);
}

#[test]
fn every_rung_answers_every_message_rightly_and_does_what_its_name_says() {
    let (kinds, config) = (two_kinds(), Config::default());
    let order = random_order(4, 64);
    // Of each rung: what is done at a change, and what is done once.
    for (step, at_a_change, at_once) in [
        (Step::Recompile, ["compile", "load", "instance"].as_slice(), [].as_slice()),
        (Step::LoadArtifact, &["load", "instance"], &["compile"]),
        (Step::Instantiate, &["instance"], &["compile", "load"]),
        (Step::TwoLive, &[], &["compile", "load", "instance"]),
        (Step::Pool, &[], &["compile", "load", "instance"]),
    ] {
        let engine = mock();
        let mut artifacts = Artifacts::default();
        let mut rung = Rung::new(step, &shared(&engine), &kinds, &mut artifacts, &config).unwrap();
        let before = engine.journal().len();
        let (changed, last) = (rung.changes(), rung.last());
        rung.send_all(&order).unwrap();
        let made = rung.changes() - changed;
        assert_eq!(made, changes(&order) + u64::from(order[0] != last), "{step}");
        let journal = engine.journal()[before..].to_vec();
        let count =
            |what: &str| journal.iter().filter(|line| line.starts_with(what)).count() as u64;
        for what in at_a_change {
            assert_eq!(count(what), made, "{step}: {what}");
        }
        for what in at_once {
            assert_eq!(count(what), 0, "{step}: {what}");
        }
    }
}

#[test]
fn the_rungs_of_every_engine_answer_rightly() {
    let (kinds, config) = (two_kinds(), Config::default());
    let order = random_order(4, 24);
    let mut engines = touchstone_runtimes::engines();
    engines.push(shared(&mock()));
    for engine in engines {
        let mut artifacts = Artifacts::default();
        for step in Step::ALL {
            match Rung::new(step, &engine, &kinds, &mut artifacts, &config) {
                Ok(mut rung) => rung.send_all(&order).unwrap(),
                Err(Problem::LeftOut { reason }) => assert!(!reason.is_empty()),
                Err(problem) => panic!("{:#}", anyhow::Error::new(problem)),
            }
        }
    }
}

#[test]
fn a_ladder_has_its_rungs_in_turns_with_enough_changes() {
    let (kinds, config) = (two_kinds(), Config::default());
    let order = random_order(4, 64);
    let mut turns = Vec::new();
    let ladder = swap::ladder(
        &shared(&mock()),
        &kinds,
        &order,
        &config,
        quick(),
        |_| true,
        |step| {
            turns.push(step);
        },
    );
    assert_eq!(turns, [Step::ALL; 7].concat());
    assert_eq!(ladder.iter().map(|(step, _)| *step).collect::<Vec<_>>(), Step::ALL);
    for (step, measured) in ladder {
        let measured = measured.unwrap();
        assert_eq!(measured.rounds.len(), 6, "{step}");
        assert!(measured.changes >= 8, "{step}: {} changes", measured.changes);
        assert!(measured.messages < 64, "{step}: no time, and {} messages", measured.messages);
        assert!(measured.per_swap.interval.is_some());
        for round in &measured.rounds {
            assert!(round.random_changes >= 2 && round.sorted_changes <= 1, "{step}: {round:?}");
        }
        let all: u64 = measured.rounds.iter().map(|round| round.random_changes).sum();
        assert_eq!(all, measured.changes);
    }
}

#[test]
fn a_rung_takes_no_part_in_further_rounds_when_its_time_is_over() {
    let (kinds, config) = (two_kinds(), Config::default());
    let order = random_order(4, 64);
    let plan = LadderPlan { rounds: 100, rung: Duration::ZERO, ..quick() };
    let wanted = |step| step == Step::Recompile;
    let ladder = swap::ladder(&shared(&mock()), &kinds, &order, &config, plan, wanted, |_| {});
    let [(Step::Recompile, Ok(measured))] = &ladder[..] else { panic!("one rung") };
    assert!(measured.rounds.len() < 10, "{} rounds", measured.rounds.len());
    assert!(measured.changes >= 8);
}

#[test]
fn a_rung_that_cannot_be_had_is_left_out_and_the_others_go_on() {
    let (kinds, config) = (two_kinds(), Config::default());
    let engine = mock().supporting(|strategy| match strategy.to_string().as_str() {
        "interpreted" | "pooling_tracked" => Support::Native,
        _ => Support::unsupported("not this one"),
    });
    let order = random_order(4, 64);
    let ladder = swap::ladder(&shared(&engine), &kinds, &order, &config, quick(), |_| true, |_| {});
    let strategies: Vec<String> = ladder
        .into_iter()
        .map(|(_, measured)| match measured {
            Ok(measured) => measured.strategy.to_string(),
            Err(problem) => problem.to_string(),
        })
        .collect();
    let left_out = "instance_reuse_tracked: not this one";
    assert_eq!(
        strategies,
        ["interpreted", "interpreted", "interpreted", left_out, "pooling_tracked"]
    );
}

#[test]
fn a_wrong_answer_a_trap_and_a_failure_are_errors_with_names() {
    let (kinds, config) = (two_kinds(), Config::default());
    for (bad, said) in [
        (Answer::Output(vec![9]), "second gave another output: expected 0x0802, got 0x09"),
        (
            Answer::Trap(touchstone_executor::Trap {
                kind: touchstone_executor::TrapKind::Unreachable,
                detail: String::new(),
            }),
            "second trapped",
        ),
        (Answer::Fail("a cable".to_owned()), "second failed"),
    ] {
        // Both kinds are right when they are tried, and the second one is not later.
        let calls = AtomicU64::new(0);
        let engine = shared(&MockEngine::new("mock").answering(move |call| {
            let calls = calls.fetch_add(1, Ordering::SeqCst);
            if calls > 6 && call.input == [8] { bad.clone() } else { answer(call.input) }
        }));
        let wanted = |step| step == Step::Instantiate;
        let order = random_order(4, 64);
        let ladder = swap::ladder(&engine, &kinds, &order, &config, quick(), wanted, |_| {});
        let [(Step::Instantiate, Err(problem))] = &ladder[..] else { panic!("one problem") };
        let problem = problem.to_string();
        assert_eq!(problem, format!("mock/instantiate: {said}"));
    }
}

#[test]
fn a_soak_looks_at_the_memory_on_the_way() {
    let (kinds, config) = (two_kinds(), Config::default());
    let engine = mock();
    let mut seen = Vec::new();
    let (strategy, points) =
        swap::soak(Step::Instantiate, &shared(&engine), &kinds, &config, 20_000, |made, _| {
            seen.push(made);
        })
        .unwrap();
    assert_eq!(strategy.to_string(), "recreate_instance_cow");
    assert_eq!(seen[..3], [1000, 2000, 4000]);
    assert_eq!((points.len(), points[10].0), (11, 20_000));
    assert!(points.iter().all(|(_, kib)| *kib > 0));
    // Those of the set-up are an instance of each kind.
    let instances = engine.journal().iter().filter(|line| *line == "instance").count();
    assert_eq!(instances, 20_000 + 2);
}

#[test]
fn under_load_no_call_fails_and_the_last_generation_is_seen() {
    let (kinds, config) = (two_kinds(), Config::default());
    let inputs = Arc::new(Mutex::new(HashSet::new()));
    let engine = {
        let inputs = Arc::clone(&inputs);
        mock().answering(move |call| {
            inputs.lock().unwrap().insert(call.input[0]);
            answer(call.input)
        })
    };
    let load = LoadPlan { threads: 3, replacements: 50, pause: Duration::from_micros(200) };
    let seen = swap::under_load(&shared(&engine), &kinds, &config, load).unwrap();
    assert_eq!((seen.failed, seen.wrong, seen.first_problem), (0, 0, None));
    assert_eq!(seen.replacements, 50);
    // Each thread sees the first and the last.
    assert!((6..=3 * 51).contains(&seen.instances_taken), "{}", seen.instances_taken);
    assert!(seen.swapping.calls >= seen.instances_taken && seen.still.calls >= 3);
    for tail in [seen.swapping, seen.still] {
        let all = [tail.p50_ns, tail.p99_ns, tail.p999_ns, tail.max_ns];
        assert!(all.is_sorted() && tail.p50_ns > 0, "{tail:?}");
    }
    assert_eq!(*inputs.lock().unwrap(), HashSet::from([7, 8]));
}

#[test]
fn every_engine_is_swapped_under_load() {
    let (kinds, config) = (two_kinds(), Config::default());
    for engine in touchstone_runtimes::engines() {
        let load = LoadPlan { threads: 2, replacements: 10, pause: Duration::from_micros(100) };
        match swap::under_load(&engine, &kinds, &config, load) {
            Ok(seen) => {
                assert_eq!((seen.failed, seen.wrong), (0, 0), "{:?}", seen.first_problem);
            }
            Err(Problem::LeftOut { .. }) => {}
            Err(problem) => panic!("{:#}", anyhow::Error::new(problem)),
        }
    }
}

#[test]
fn calls_that_go_wrong_under_load_are_counted() {
    let (kinds, config) = (two_kinds(), Config::default());
    let engine = MockEngine::new("mock").answering(|call| match call.input {
        [8] => Answer::Output(vec![0]),
        _ => Answer::Fail("a cable".to_owned()),
    });
    let load = LoadPlan { threads: 2, replacements: 3, pause: Duration::from_millis(2) };
    let seen = swap::under_load(&shared(&engine), &kinds, &config, load).unwrap();
    assert!(seen.failed > 0 && seen.wrong > 0 && seen.swapping.calls == 0, "{seen:?}");
    let first = seen.first_problem.unwrap();
    assert!(
        first.starts_with("mock/under_load: first failed") && first.contains("a cable"),
        "{first}"
    );
}

fn provenance() -> record::Provenance {
    fixture::provenance(0)
}

/// The records of a ladder, a load and a soak of a mock.
fn made() -> Vec<Record> {
    let (kinds, config) = (two_kinds(), Config::default());
    let engine = shared(&mock());
    let order = random_order(4, 64);
    let mut made = Vec::new();
    for (step, measured) in
        swap::ladder(&engine, &kinds, &order, &config, quick(), |_| true, |_| {})
    {
        let measured = measured.unwrap();
        made.push(swap::of_ladder(&*engine, &kinds, step, &measured, &provenance()));
    }
    let load = LoadPlan { threads: 2, replacements: 5, pause: Duration::ZERO };
    let seen = swap::under_load(&engine, &kinds, &config, load).unwrap();
    made.push(swap::of_load(&*engine, &kinds, 2, &seen, &provenance()));
    let seen = swap::soak(Step::Pool, &engine, &kinds, &config, 100, |_, _| {}).unwrap();
    made.push(swap::of_soak(&*engine, &kinds, Step::Pool, &seen, &provenance()));
    made.into_iter().map(|record| Record::Swap(Box::new(record))).collect()
}

#[test]
fn records_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    let made = made();
    fixture::append(&path, &made);
    let loaded = record::load(&path).unwrap();
    assert_eq!(loaded.skipped, []);
    assert_eq!(loaded.records, made);
    let names: Vec<String> = made.iter().map(Record::id).collect();
    assert_eq!(names[0], "swap/mock/recompile");
    assert_eq!(names[5..], ["swap/mock/under_load", "swap/mock/pool/soak"]);
}

fn page(records: &[Record]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fixture::append(&at("records.jsonl"), records);
    report::write(&report::Options {
        records: at("records.jsonl"),
        page: at("BENCHMARK.md"),
        images: at("image"),
        tables: at("tables"),
        costs: at("costs.json"),
        trust: at("trust"),
    })
    .unwrap();
    let page = std::fs::read_to_string(at("BENCHMARK.md")).unwrap();
    let from = page.find("## Hot swap").expect("the section is there");
    let rest = &page[from..];
    rest[..rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3)].to_owned()
}

/// A rung with a message of 200 µs and a swap of so many.
fn rung(name: &str, swap_us: f64, run: &str) -> Record {
    let Record::Swap(record) = made().remove(0) else { panic!("a swap") };
    let interval = |us: f64| Interval {
        median_ns: us * 1e3,
        low_ns: Some(us * 0.9e3),
        high_ns: Some(us * 1.1e3),
    };
    let mut provenance = provenance();
    provenance.run = run.to_owned();
    Record::Swap(Box::new(SwapRecord {
        rung: name.to_owned(),
        rss_before_kib: 1000,
        rss_after_kib: 1012,
        provenance,
        found: SwapFound::Ladder {
            messages: 1024,
            changes: 3500,
            per_message: interval(200.0 + swap_us / 2.0),
            per_sorted_message: interval(200.0),
            per_swap: interval(swap_us),
            per_message_with_swap: interval(200.0 + swap_us),
            rounds: Vec::new(),
        },
        ..*record
    }))
}

#[test]
fn the_report_holds_each_rung_against_recompiling_in_the_same_run() {
    let records =
        [rung("instantiate", 10.0, "a"), rung("recompile", 41_800.0, "a"), rung("pool", -0.5, "b")];
    let section = page(&records);
    let line = |rung: &str| {
        let found = section.lines().find(|line| line.contains(&format!("`{rung}` | `")));
        found.unwrap_or_else(|| panic!("no {rung} in: {section}")).to_owned()
    };
    let instantiate = line("instantiate");
    for part in ["1,024", "3,500", "10.00 µs [9.00 – 11.00]", "| 210.0 µs | 200 × | +12 KiB |"]
    {
        assert!(instantiate.contains(part), "'{part}' is not in: {instantiate}");
    }
    assert!(line("recompile").contains("| 1.00 × |"), "{}", line("recompile"));
    let pool = line("pool");
    assert!(pool.contains("| – |") && pool.contains("not to be seen"), "{pool}");
    assert!(section.find("`recompile` | `") < section.find("`instantiate` | `"), "{section}");
    assert!(section.contains("31.2 s") && section.contains("i7-4770K"));
    assert!(section.contains("There are no records of swaps under load"), "{section}");
}

#[test]
fn the_report_has_tails_and_soaks_and_says_when_there_is_nothing() {
    let section = page(&made());
    assert!(section.contains("| 5 replacements |") && section.contains("| none |"), "{section}");
    assert!(section.contains("* `mock` `pool`: 100 swaps; "), "{section}");
    let none =
        page(&fixture::records([fixture::cell("a", "pooling", "call_empty_function", 1, 1e3)]));
    assert_eq!(none, "## Hot swap\n\nThere are no records of swaps; `make swap` makes them.\n");
}

#[test]
fn the_command_makes_a_record_of_each_rung_and_says_what_it_cannot_use() {
    let folder = Folder::new();
    let (file, records) = (folder.at("swap.toml"), folder.at("records.jsonl"));
    let kinds = "kinds = [\"call_empty_function\", \"dirty_1mb_of_memory\"]\n";
    let rest = GOOD.replace("kinds = [\"first\", \"second\"]\n", kinds).replace("50", "5");
    folder.file("swap.toml", rest);
    let places = [("TOUCHSTONE_SWAP", &*file), ("TOUCHSTONE_RECORDS", &*records)];
    let run = |arguments: &[&str]| touchstone_with(&places, &[&["swap"], arguments].concat());

    run(&["nowhere"]).refused(&["no rung matches 'nowhere'"]);
    let there = touchstone_runtimes::engines().into_iter().find(|engine| {
        ["recreate_instance_cow", "recreate_instance", "interpreted"]
            .iter()
            .any(|name| engine.support(name.parse().unwrap()).is_supported())
    });
    if let Some(engine) = there {
        let rung = format!("^{}/instantiate$", engine.id());
        let load = format!("^{}/under_load$", engine.id());
        for (arguments, found) in [
            (&["--rounds", "2", "--rung-time", "0.01", &rung][..], "with a swap"),
            (&["--swaps", "40", &rung], "KiB at 40"),
            (&["--under-load", &load], "5 replacements, 0 failed, 0 wrong"),
        ] {
            let ran = run(arguments);
            assert_eq!(ran.code, 0, "{}", ran.err);
            assert!(ran.out.contains(found), "{}", ran.out);
        }
        let loaded = record::load(&records).unwrap();
        let names: Vec<String> = loaded.records.iter().map(Record::id).collect();
        let [rung, soak, load] = ["instantiate", "instantiate/soak", "under_load"]
            .map(|rung| format!("swap/{}/{rung}", engine.id()));
        assert_eq!(names, [rung, soak, load]);
        let before = std::fs::read(&records).unwrap();
        assert_eq!(run(&["--swaps", "20", "--no-record", &names[0][5..]]).code, 0);
        assert_eq!(std::fs::read(&records).unwrap(), before);
        let shown = touchstone_with(&places, &["show", "--json", "^swap/"]);
        assert_eq!(shown.lines().len(), 3);
        assert_eq!(shown.lines()[0]["found"]["ladder"].get("rounds"), None);
    }
    folder.file("swap.toml", GOOD);
    run(&[]).refused(&["there is no case 'first'", "swap.toml"]);
}
