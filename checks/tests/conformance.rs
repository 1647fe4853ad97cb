//! Verdicts of the conformance driver on every engine that runs modules.

mod command;

use command::{checks, texts};
use std::collections::BTreeSet;
use touchstone_checks::conformance::drive::{Verdict, drive};
use touchstone_checks::conformance::script::read;
use touchstone_checks::conformance::suite::{Group, Source, sources};
use touchstone_checks::engines;
use touchstone_executor::adapter::MeasuredEngine;
use wasmparser::WasmFeatures;

/// Lines of assertions that hold, then of those that fail.
const SCRIPT: &str = r#"(module
  (import "spectest" "print_i32" (func $print (param i32)))
  (import "spectest" "global_i32" (global $given i32))
  (memory 1)
  (global $count (mut i32) (i32.const 0))
  (global (export "given") i32 (global.get $given))
  (func (export "count") (result i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (call $print (global.get $count)) (global.get $count))
  (func (export "nan") (param f32) (result f32) (f32.div (local.get 0) (local.get 0)))
  (func (export "divide") (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0))))
(assert_return (invoke "count") (i32.const 1))
(invoke "count")
(assert_return (invoke "count") (i32.const 3))
(assert_return (invoke "nan" (f32.const 0)) (f32.const nan:canonical))
(assert_return (invoke "nan" (f32.const 2)) (f32.const 1))
(assert_trap (invoke "divide" (i32.const 1) (i32.const 0)) "integer divide by zero")
(assert_trap (invoke "load" (i32.const -1)) "out of bounds memory access")
(assert_return (invoke "count") (i32.const 4))
(assert_return (get "given") (i32.const 666))
(assert_invalid (module (func (result i32))) "type mismatch")
(assert_trap (module (func $f (unreachable)) (start $f)) "unreachable")
(assert_return (invoke "count") (i32.const 7))
(assert_return (invoke "nan" (f32.const 2)) (f32.const nan:canonical))
(assert_trap (invoke "load" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "load" (i32.const -1)) "unreachable")
(assert_malformed (module quote "(func") "unexpected end")
(module (import "other" "f" (func)))
(assert_return (invoke "count") (i32.const 1))
"#;

fn source(text: &'static str) -> Source {
    let group = Group { name: "wasm-v1", features: WasmFeatures::WASM1, old: false };
    Source { group, name: "mine".to_owned(), text }
}

/// Line and verdict of each assertion.
fn verdicts(engine: &dyn MeasuredEngine, text: &'static str) -> Vec<(usize, Verdict)> {
    let script = read(&source(text)).unwrap();
    let mut verdicts = Vec::new();
    drive(engine, &script, &BTreeSet::new(), |step, verdict| {
        if let Some(verdict) = verdict.filter(|_| script.steps[step].assertion) {
            verdicts.push((script.steps[step].line, verdict));
        }
        Ok(())
    })
    .unwrap();
    verdicts
}

#[test]
fn right_and_wrong_are_told_apart_on_every_engine() {
    let mut driven = 0;
    for engine in engines() {
        driven += 1;
        let seen = verdicts(&*engine, SCRIPT);
        let words = |verdict: &Verdict| match verdict {
            Verdict::Passed => "passed",
            Verdict::Refused => "refused",
            Verdict::Failed(_) => "failed",
            Verdict::Unsupported(_) => "unsupported",
            Verdict::NotDriven(_) => "not driven",
        };
        let found: Vec<_> = seen.iter().map(|(line, verdict)| (*line, words(verdict))).collect();
        let mut expected: Vec<_> =
            [13, 15, 16, 17, 18, 19, 20, 21].map(|line| (line, "passed")).into();
        expected.push((22, "refused"));
        expected.push((23, "passed"));
        expected.extend([24, 25, 26, 27].map(|line| (line, "failed")));
        expected.extend([28, 30].map(|line| (line, "not driven")));
        assert_eq!(found, expected, "{}: {seen:?}", engine.id());
    }
    println!("{driven} engines");
}

#[test]
fn all_scripts_can_be_read_into_steps() {
    let sources = sources();
    assert!(sources.len() > 400, "{}", sources.len());
    let mut names: Vec<_> = sources.iter().map(Source::id).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), sources.len());
    let source = sources.iter().find(|source| source.id() == "wasm-v1/i32").unwrap();
    let script = read(source).unwrap();
    assert!(script.steps.iter().filter(|step| step.assertion).count() > 400);
}

/// The command, with child processes.
#[test]
fn the_command_counts_a_script() {
    let engines = engines();
    let Some(engine) = engines.first() else { return };
    let ran = checks(&["conformance", &format!("^{}/wasm-v1/i64$", engine.id())]).success();
    let (text, _) = texts(&ran);
    let line = text.lines().find(|line| line.starts_with("wasm-v1")).unwrap();
    let (passed, driven) = line.split_whitespace().nth(1).unwrap().split_once('/').unwrap();
    assert_eq!(passed, driven, "{text}");
    assert!(driven.parse::<u64>().unwrap() > 300, "{text}");
}
