//! Output of guests to their standard streams: compared with the result, and shown with it.

use crate::command::{Folder, Ran, touchstone};
use serde_json::Value;

/// Writes the texts at 100 ("out") and 200 ("err") to their streams.
const WRITES: &str = r#"
    (import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "\64\00\00\00\04\00\00\00\c8\00\00\00\04\00\00\00")
    (data (i32.const 100) "out\n")
    (data (i32.const 200) "err\n")
    (func $out (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64))))
    (func $err (drop (call $w (i32.const 2) (i32.const 8) (i32.const 1) (i32.const 64))))
"#;

/// A few engines.
const SOME: [&str; 2] = ["--backend", "^(wasmi|wasmtime|wasmer|tinywasm|wasm3|wasmedge)$"];

fn module(folder: &Folder, rest: &str) -> String {
    folder.module(&format!("(module {WRITES} {rest})"))
}

fn run(guest: &str, more: &[&str]) -> Ran {
    touchstone(&[&["run", guest], more, &SOME].concat())
}

/// The lines of combinations with a result, all of one group.
fn results(ran: &Ran) -> Vec<Value> {
    let mut lines = ran.lines();
    lines.retain(|line| line["group"].is_number());
    assert!(!lines.is_empty() && lines.iter().all(|line| line["group"] == 1), "{}", ran.out);
    lines
}

#[test]
fn output_before_an_exit_or_a_trap_is_part_of_the_result() {
    let folder = Folder::new();
    for (end, status, reason, code) in [
        ("(call $exit (i32.const 3))", "trapped", Some("exited with code 3"), Some(3)),
        ("(unreachable)", "trapped", Some("unreachable executed"), None),
        ("(call $exit (i32.const 0))", "returned", None, None),
        ("", "returned", None, None),
    ] {
        let guest =
            module(&folder, &format!(r#"(func (export "_start") (call $out) (call $err) {end})"#));
        for line in results(&run(&guest, &["--json"])) {
            let (out, err) = (&line["output"], &line["stderr"]);
            assert_eq!((out, err), (&"0x6f75740a".into(), &"0x6572720a".into()), "{line}");
            assert_eq!((&line["status"], &line["exit_code"]), (&status.into(), &code.into()));
            let found = line["reason"].as_str();
            assert!(reason.is_none() || found.is_some_and(|found| found.contains(reason.unwrap())));
        }
        let ran = run(&guest, &["--all"]);
        assert_eq!(ran.code, i32::from(status == "trapped"), "{}", ran.out);
        let standard_output =
            if status == "trapped" { "standard output: \"out\\n\"" } else { ": \"out\\n\"" };
        for part in [standard_output, "  standard error: \"err\\n\"", ", standard error \"err\\n\""]
        {
            assert!(ran.out.contains(part), "{part}: {}", ran.out);
        }
    }
}

/// The sign of 0/0 is that of the engine, and comes out as a letter before the exit.
#[test]
fn output_that_differs_before_an_exit_is_a_difference() {
    let folder = Folder::new();
    let guest = module(
        &folder,
        r#"(func $main (param i32)
            (i32.store8 (i32.const 100) (i32.add (i32.const 65) (i32.wrap_i64 (i64.shr_u
              (i64.reinterpret_f64 (f64.div (f64.const 0)
                (f64.convert_i32_u (i32.sub (local.get 0) (i32.const 1)))))
              (i64.const 63)))))
            (call $out) (call $exit (local.get 0)))
          (func (export "_start") (call $main (i32.const 1)))"#,
    );
    let ran = run(&guest, &["--json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let mut lines = ran.lines();
    lines.retain(|line| line["group"].is_number());
    for line in &lines {
        // Equal output makes rows equal.
        let like = lines.iter().find(|other| other["group"] == line["group"]).unwrap();
        assert_eq!(line["output"], like["output"], "{line}");
        let other = lines.iter().find(|other| other["output"] == line["output"]).unwrap();
        assert_eq!(line["group"], other["group"], "{line}");
    }
    if lines.iter().any(|line| line["group"] == 2) {
        assert!(lines.iter().all(|line| line["difference"] == "nan_bits"), "{}", ran.out);
        let ran = run(&guest, &[]);
        ran.found(&["differ in NaN bits, which the specification allows", "exited with code 1"]);
    }
}

#[test]
fn a_start_function_writes_for_its_program() {
    let folder = Folder::new();
    let start = r#"(func $start (call $out)) (start $start)"#;
    let guest = module(&folder, &format!(r#"{start} (func (export "_start") (call $out))"#));
    for line in results(&run(&guest, &["--json"])) {
        assert_eq!(line["output"], "0x6f75740a6f75740a", "{line}");
    }
    let out = run(&guest, &[]).well();
    assert!(out.contains(": 8 bytes\n    | out\n    | out\n"), "{out}");

    // Of another call's output it is no part, and not lost without a word.
    let plain =
        module(&folder, &format!(r#"{start} (func (export "f") (result i32) (i32.const 7))"#));
    let out = run(&plain, &["--call", "f"]).well();
    assert!(out.contains(": 7: i32\n") && out.contains("--abi wasi shows the output"), "{out}");
}

#[test]
fn an_exit_or_a_trap_in_a_start_function_keeps_the_output() {
    let folder = Folder::new();
    for (end, reason) in [
        ("(call $exit (i32.const 5))", "exited with code 5, in the start function"),
        ("(unreachable)", "unreachable executed, in the start function"),
    ] {
        let start = format!("(func $start (call $out) (call $err) {end}) (start $start)");
        let guest = module(&folder, &format!(r#"{start} (func (export "_start"))"#));
        let ran = run(&guest, &["--json"]);
        for line in results(&ran) {
            let (out, err) = (&line["output"], &line["stderr"]);
            assert_eq!((out, err), (&"0x6f75740a".into(), &"0x6572720a".into()), "{line}");
        }
        run(&guest, &[]).found(&[reason, "standard output: \"out\\n\""]);
    }
}

#[test]
fn a_call_that_is_no_program_shows_what_it_writes() {
    let folder = Folder::new();
    let guest = module(
        &folder,
        r#"(func (export "f") (call $out) (call $err)) (func (export "trap") (call $out) (unreachable))
           (func (export "g") (result i32) (call $out) (i32.const 7))"#,
    );
    for (export, state) in [("f", "returned"), ("g", "returned"), ("trap", "trapped")] {
        for line in results(&run(&guest, &["--call", export, "--json"])) {
            let (stdout, status) = (&line["stdout"], &line["status"]);
            assert_eq!((stdout, status), (&"0x6f75740a".into(), &state.into()), "{line}");
        }
    }
    let out = run(&guest, &["--call", "g"]).well();
    assert!(out.contains(": 7: i32\n  standard output: \"out\\n\"\n"), "{out}");
    run(&guest, &["--call", "trap"]).found(&["standard output: \"out\\n\""]);
}

#[test]
fn output_is_text_where_it_is_text() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_read" (func $r (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 8) "\00\10\00\00\00\04\00\00")
            (func (export "_start")
              (drop (call $r (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 12)))
              (drop (call $w (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 64)))))"#,
    );
    for (input, shown) in [
        ("text:hello", ": \"hello\"\n"),
        ("text:one\ntwo", ": 7 bytes\n    | one\n    | two\n"),
        ("text:\x1b[2Jred\u{202e}", ": \"\\u{1b}[2Jred\\u{202e}\"\n"),
        ("0x00ff", ": 0x00ff\n"),
    ] {
        let out = run(&guest, &["--input", input]).well();
        assert!(out.contains(shown), "{input:?}: {out}");
        assert!(!out.contains('\x1b'), "{out}");
    }
    let out = run(&guest, &["--input", "text:hi\n", "--hex"]).well();
    assert!(out.contains(": 0x68690a\n") && !out.contains("\"hi"), "{out}");
}

#[test]
fn the_memory_after_a_trap_is_shown_if_it_is_asked_for() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module (memory (export "memory") 1)
            (func (export "f") (i32.store (i32.const 16) (i32.const 258)) (unreachable)))"#,
    );
    let ran = run(&guest, &["--call", "f", "--dump", "16,4"]);
    ran.found(&["unreachable executed", "at 0x10: 0x02010000"]);
    for line in results(&run(&guest, &["--call", "f", "--json"])) {
        assert!(line["memory_sha256"].is_null(), "{line}");
    }
}
