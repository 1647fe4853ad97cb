//! Modules as people have them: imports of any kind, constructors, newer features, text.

use crate::command::{Folder, touchstone};
use serde_json::Value;
use std::collections::BTreeSet;

/// Runs an export on all engines. Returns the lines.
fn lines(file: &str, export: &str, more: &[&str]) -> Vec<Value> {
    let ran = touchstone(&[&["run", file, "--call", export, "--json"], more].concat());
    assert!(ran.err.is_empty(), "{}", ran.err);
    ran.lines()
}

/// Engines with this status.
fn engines<'a>(lines: &'a [Value], status: &str) -> BTreeSet<&'a str> {
    let with = lines.iter().filter(|line| line["status"] == status);
    with.map(|line| line["backend"].as_str().unwrap()).collect()
}

/// Engines that run anybody's module.
fn all() -> BTreeSet<String> {
    let plain = touchstone_executor::guest::GuestModule::new(
        "plain",
        &wat::parse_str(r#"(module (memory 1) (func (export "f")))"#).unwrap(),
        touchstone_executor::guest::HeapPages::default(),
    );
    let plain = plain.unwrap();
    let runs = |engine: &dyn touchstone_executor::adapter::MeasuredEngine| {
        let mut ways = touchstone_executor::Strategy::all().into_iter();
        ways.any(|way| engine.support_for(way, &plain).is_supported())
    };
    let engines = touchstone_runtimes::engines();
    engines.iter().filter(|engine| runs(&***engine)).map(|engine| engine.id().to_owned()).collect()
}

/// Every engine returns this under some strategy, and none anything else.
#[track_caller]
fn everywhere(file: &str, export: &str, output: &str) -> Vec<Value> {
    let lines = lines(file, export, &[]);
    assert_eq!(engines(&lines, "returned"), all().iter().map(String::as_str).collect());
    for line in &lines {
        match line["status"].as_str().unwrap() {
            "returned" => assert_eq!(line["output"], output, "{line}"),
            status => assert_eq!(status, "unsupported", "{line}"),
        }
    }
    lines
}

/// As Emscripten links them: memory, table and stack come from outside, under any name.
#[test]
fn imported_memories_tables_and_globals_are_there_and_clean_in_each_call() {
    let folder = Folder::new();
    let module = folder.module(
        r#"(module (type $t (func (result i32)))
            (import "a" "b" (memory 1 4)) (import "env" "f" (func $missing))
            (import "env" "__indirect_function_table" (table 3 funcref))
            (import "env" "__stack_pointer" (global $stack (mut i32)))
            (import "env" "__memory_base" (global $base i32))
            (import "env" "__table_base" (global $first i32))
            (elem (global.get $first) $answer)
            (data (global.get $base) "\28")
            (func $answer (result i32) (i32.load8_u (global.get $base)))
            (func (export "f") (result i32)
              (global.set $stack (i32.sub (global.get $stack) (i32.const 16)))
              (i32.store (global.get $stack)
                (i32.add (i32.load (global.get $stack)) (call_indirect (type $t) (i32.const 1))))
              (i32.store8 (global.get $base) (i32.const 7))
              (table.set (i32.const 1) (ref.null func))
              (i32.add (i32.load (global.get $stack))
                (i32.sub (i32.const 65520) (global.get $stack)))))"#,
    );
    everywhere(&module, "f", "0x28000000");
}

#[test]
fn constant_expressions_that_compute_run_everywhere() {
    let folder = Folder::new();
    let module = folder.module(
        r#"(module (memory 1) (data (i32.add (i32.const 1) (i32.const 7)) "\2a")
            (func (export "f") (result i32) (i32.load8_u (i32.const 8))))"#,
    );
    everywhere(&module, "f", "0x2a000000");
}

#[test]
fn a_feature_that_an_engine_lacks_is_named_with_the_engines_that_have_it() {
    let folder = Folder::new();
    let module = folder.module(
        r#"(module (memory 1) (memory $b 1)
            (func (export "f") (result i32)
              (i32.store $b (i32.const 0)
                (i32.add (i32.load $b (i32.const 0)) (i32.const 1)))
              (i32.load $b (i32.const 0))))"#,
    );
    let lines = lines(&module, "f", &[]);
    let known = touchstone_runtimes::engines();
    let has = |engine: &str| {
        let engine = known.iter().find(|known| known.id() == engine).unwrap();
        engine.capabilities().features.has(touchstone_executor::Feature::MultiMemory)
    };
    let returned = engines(&lines, "returned");
    assert!(returned.iter().all(|engine| has(engine)));
    for line in &lines {
        let engine = line["backend"].as_str().unwrap();
        let reason = line["reason"].as_str().unwrap_or_default();
        match line["status"].as_str().unwrap() {
            "returned" => assert_eq!(line["output"], "0x01000000", "{line}"),
            _ if has(engine) => assert!(reason.contains("more than one memory"), "{line}"),
            status => {
                assert_eq!(status, "unsupported", "{line}");
                let named = returned.iter().all(|engine| reason.contains(engine));
                assert!(named && reason.contains("more than one memory, which"), "{line}");
            }
        }
    }
}

#[test]
fn a_feature_that_no_engine_is_given_is_named() {
    let folder = Folder::new();
    let threads = folder.module(r#"(module (memory 1 1 shared) (func (export "f")))"#);
    touchstone(&["run", &threads, "--call", "f"]).refused(&["it uses threads", "without threads"]);
    let atomic = folder
        .module(r#"(module (import "env" "memory" (memory 1 1 shared)) (func (export "f")))"#);
    touchstone(&["run", &atomic, "--call", "f"]).refused(&["it uses threads"]);
}

#[test]
fn constructors_are_called_before_the_export_and_once() {
    let folder = Folder::new();
    let text = |call: &str| {
        format!(
            r#"(module (import "env" "absent" (func $absent))
                (memory 1) (global $made (mut i32) (i32.const 0))
                (func $ctors (export "_initialize") {call}
                  (if (global.get $made) (then unreachable))
                  (i32.store8 (i32.const 9) (i32.const 2)) (global.set $made (i32.const 40)))
                (func (export "__wasm_call_ctors") unreachable)
                (func (export "f") (result i32)
                  (i32.store8 (i32.const 9) (i32.add (i32.load8_u (i32.const 9)) (global.get $made)))
                  (i32.load8_u (i32.const 9)))
                (func (export "_start")))"#
        )
    };
    let module = folder.module(&text(""));
    for line in everywhere(&module, "f", "0x2a000000") {
        assert_eq!(line["constructors"], serde_json::json!(["_initialize"]), "{line}");
        // Pre-initialised, it has an image.
        if cfg!(feature = "wizer") {
            assert!(!line["reason"].to_string().contains("start function"), "{line}");
        }
    }
    // A program calls them itself; asked for by name, one is called once.
    for export in ["_start", "_initialize"] {
        for line in everywhere(&module, export, "0x") {
            assert!(line["constructors"].is_null(), "{line}");
        }
    }
    // What Wizer cannot run is called at each instantiation.
    let tables = r#"(table 1 externref)
        (func (export "_initialize") (table.set (i32.const 0) (ref.null extern))
          (i32.store8 (i32.const 9) (i32.const 42)))"#;
    let other = folder.module(&format!(
        r#"(module (memory 1) {tables}
             (func (export "f") (result i32) (i32.load8_u (i32.const 9))))"#
    ));
    let lines = lines(&other, "f", &["--backend", "^wasmi$"]);
    assert_eq!(engines(&lines, "returned").len(), 1, "{lines:?}");
    assert!(lines.iter().any(|line| line["output"] == "0x2a000000"), "{lines:?}");
}

#[test]
fn text_is_a_module_too() {
    let folder = Folder::new();
    let text = r#"(module (func (export "f") (result i32) (i32.const 42)))"#;
    everywhere(&folder.file("module.wat", text), "f", "0x2a000000");
    everywhere(&folder.file("text", format!(";; a comment\n{text}")), "f", "0x2a000000");
    let wrong = folder.file("wrong.wat", "(module\n  (func (export \"f\") i32.bad))");
    touchstone(&["run", &wrong, "--call", "f"]).refused(&["wrong.wat:2:22"]);
}

/// As `--preload` of Wasmtime does, on every engine.
#[test]
fn libraries_answer_imports() {
    let folder = Folder::new();
    let main = folder.file(
        "main.wat",
        r#"(module (import "math" "twice" (func $twice (param i32) (result i32)))
             (import "text" "first" (func $first (result i32)))
             (memory 1) (data (i32.const 8) "A")
             (func (export "f") (result i32) (call $twice (call $first))))"#,
    );
    let math = r#"(module (func (export "twice") (param i32) (result i32)
        (i32.add (local.get 0) (local.get 0))))"#;
    let math = format!("math={}", folder.file("math.wat", math));
    let text = r#"(module (import "env" "memory" (memory 1))
        (func (export "first") (result i32) (i32.load8_u (i32.const 8))))"#;
    let text = format!("text={}", folder.file("text.wat", text));
    let lines = lines(&main, "f", &["--link", &math, "--link", &text]);
    assert_eq!(engines(&lines, "returned"), all().iter().map(String::as_str).collect());
    for line in &lines {
        assert!(line["status"] == "unsupported" || line["output"] == "0x82000000", "{line}");
        assert_eq!(line["linked"], "math, text");
    }
    let component = format!("math={}", folder.file("component.wat", "(component)"));
    let other = format!("math={}", folder.file("other.txt", "nothing"));
    for (libraries, words) in [
        (vec!["math=/nope"], ["--link math=/nope cannot be used", "/nope"]),
        (vec![&*other], ["cannot link 'math'", "not a WebAssembly module"]),
        (vec![&*component], ["cannot link 'math'", "it is a component"]),
        (vec![&*math, &*math], ["cannot be linked", "two of them are called 'math'"]),
        (vec!["math"], ["'math' is not NAME=FILE", "--link"]),
        (
            vec![&*math, &*math.replacen("math=", "text=", 1)],
            ["imports text.first as (func (result i32))", "does not export"],
        ),
    ] {
        let options = libraries.iter().flat_map(|library| ["--link", library]);
        let all: Vec<_> = ["run", &*main, "--call", "f"].into_iter().chain(options).collect();
        touchstone(&all).refused(&words);
    }
}
