//! Parameters as numbers, effects on the memory, `inspect`, and names that are not trusted.

use crate::command::{Folder, touchstone};

const GUEST: &str = r#"(module
    (import "env" "nobody_has_this" (func (param i64)))
    (import "env" "input_len" (func (result i64)))
    (memory (export "memory") 1 3)
    (data (i32.const 8) "abc")
    (func (export "mixed") (param i32 i64 f32 f64) (result i32 i64 f32 f64)
        (local.get 0) (local.get 1) (local.get 2) (local.get 3))
    (func (export "store") (param i32) (i32.store (i32.const 16) (local.get 0)))
    (func (export "sum") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))"#;

/// Few combinations.
const FEW: [&str; 4] = ["--backend", "^wasmi$", "--strategy", "interpreted,instance_reuse"];

fn run(guest: &str, arguments: &[&str]) -> super::Ran {
    touchstone(&[&["run", guest], arguments, &FEW].concat())
}

#[test]
fn parameters_are_numbers_of_their_types() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let out = run(&guest, &["--call", "sum", "--args", "-1", "0xff"]).well();
    assert!(out.contains("all 2 combinations on 1 engine: 254: i32\n"), "{out}");
    let mixed = ["--call", "mixed", "--args", "1", "-2", "2.5", "--args=-inf"];
    let out = run(&guest, &mixed).well();
    assert!(out.contains(": 1: i32, -2: i64, 2.5: f32, -inf: f64\n"), "{out}");
    for (arguments, reason) in [
        (&["--args", "1"][..], "it takes 2 parameters, and 1 are given"),
        (&["--args", "1", "2.5"], "parameter 2 is i32: '2.5' is not an integer"),
        (&["--args", "4294967296", "1"], "parameter 1 is i32: '4294967296' is not an integer from"),
        (&["--args", "1", "2", "--input", "0x00"], "cannot be used with"),
        (&["--args", "1", "2", "--abi", "bytes"], "convention takes --input"),
    ] {
        run(&guest, &[&["--call", "sum"], arguments].concat()).refused(&[reason]);
    }
}

#[test]
fn calls_without_a_result_are_compared_by_their_memory() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let store = ["--call", "store", "--args", "0x04030201"];
    let out = run(&guest, &store).well();
    assert!(out.contains(": no result\nmemory of 65536 bytes, SHA-256 "), "{out}");
    let dump = [&store[..], &["--dump", "0x8,12", "--json"]].concat();
    let lines = run(&guest, &dump).lines();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(line["memory_dump"], "0x616263000000000001020304", "{line}");
        assert_eq!(line["memory_bytes"], 65_536);
        assert_eq!(line["memory_sha256"], lines[0]["memory_sha256"]);
    }
    // A result is compared without the memory, unless that is asked for.
    let sum = ["--call", "sum", "--args", "1", "2", "--json"];
    assert!(run(&guest, &sum).lines()[0]["memory_sha256"].is_null());
    let hash = [&sum[..], &["--hash"]].concat();
    assert!(run(&guest, &hash).lines()[0]["memory_sha256"].is_string());
    let outside = [&store[..], &["--dump", "70000,4"]].concat();
    assert!(run(&guest, &outside).well().contains("lie outside"));
    run(&guest, &[&store[..], &["--dump", "1,0"]].concat()).refused(&["address and length"]);
}

#[test]
fn every_engine_leaves_the_same_memory() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let ran = touchstone(&["run", &guest, "--call", "store", "--args", "7", "--json"]);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
    let lines = ran.lines();
    assert!(lines.iter().all(|line| line["status"] != "returned" || line["group"] == 1));
    assert!(lines.iter().any(|line| line["memory_sha256"].is_string()));
}

#[test]
fn a_module_is_inspected() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let out = touchstone(&["inspect", &guest]).well();
    for part in [
        "env.nobody_has_this  func (i64) -> ()  stub that traps when called",
        "env.input_len        func () -> (i64)  host function",
        "func (i32, i64, f32, f64) -> (i32, i64, f32, f64)",
        "1 page of 65536 bytes, at most 3",
        "1 active, 0 passive segments, 3 bytes",
        "none beyond WebAssembly 2.0",
        "\nengines\n",
    ] {
        assert!(out.contains(part), "'{part}' is not in: {out}");
    }
    let [line] = &touchstone(&["inspect", &guest, "--json"]).lines()[..] else { panic!() };
    assert_eq!(line["exports"][1]["name"], "mixed");
    assert_eq!(line["imports"][1]["answer"], "host_function");
    assert!(line["engines"].as_array().is_some_and(|engines| !engines.is_empty()));

    let shared =
        folder.module("(module (memory 1 1 shared) (func (result v128) (v128.const i64x2 1 2)))");
    let ran = touchstone(&["inspect", &shared, "--json"]);
    assert_eq!((ran.code, &*ran.err), (1, ""));
    let [line] = &ran.lines()[..] else { panic!() };
    assert!(line["refused"].as_str().unwrap().contains("threads"), "{line}");
    let features = line["features"].as_array().unwrap();
    assert!(features.iter().any(|name| name.as_str().unwrap().contains("threads")), "{line}");
    assert!(features.iter().any(|name| name.as_str().unwrap().contains("simd128")), "{line}");
    let text = folder.file("text", "hello");
    touchstone(&["inspect", &text]).refused(&["not a WebAssembly module"]);
}

/// A constant expression may read a global of the module itself: no garbage collection.
#[test]
fn globals_of_the_module_are_constants() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module (global $a i32 (i32.const 4))
            (global $b i32 (i32.add (global.get $a) (i32.const 8)))
            (func (export "f") (result i32) (global.get $b)))"#,
    );
    let [line] = &touchstone(&["inspect", &guest, "--json"]).lines()[..] else { panic!() };
    assert_eq!(line["features"], serde_json::json!(["extended constant expressions"]));
    super::everywhere(&[&guest, "--call", "f"], "0x0c000000");
}

#[test]
fn text_has_the_digest_of_its_module_with_a_mark_or_without() {
    let folder = Folder::new();
    let module = folder.module(GUEST);
    let sha256 = touchstone::case::digest(&std::fs::read(&module).unwrap());
    for (name, text) in [("a.wat", GUEST.to_owned()), ("b.wat", format!("\u{feff}{GUEST}"))] {
        let text = folder.file(name, text);
        let [line] = &touchstone(&["inspect", &text, "--json"]).lines()[..] else { panic!() };
        assert_eq!(line["sha256"], *sha256);
        let call = ["--call", "sum", "--args", "1", "2"];
        let out = run(&text, &call).well();
        assert!(out.contains(&sha256), "{out}");
        let ran = run(&text, &[&call[..], &["--json"]].concat());
        assert!(ran.lines().iter().all(|line| line["guest_sha256"] == *sha256), "{}", ran.out);
    }
}

#[test]
fn numbers_with_a_hyphen_are_values_and_options_behind_them_are_options() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let mixed = ["--call", "mixed", "--args", "-0x1", "-2", "-inf", "-nan", "--all"];
    let out = run(&guest, &mixed).well();
    let shown = "-1: i32, -2: i64, -inf: f32, NaN (0xfff8000000000000): f64";
    assert!(out.contains(shown) && out.contains("backend"), "{out}");
}

#[test]
fn names_of_a_guest_are_harmless_and_short() {
    let folder = Folder::new();
    let long = "x".repeat(5000);
    let guest = folder.module(&format!(
        r#"(module (func (export "a\1b[2Jb")) (func (export "{long}")) (func (export "")))"#
    ));
    let refused = run(&guest, &["--call", "nobody"]);
    let listed = run(&guest, &[]);
    let inspected = touchstone(&["inspect", &guest]);
    for text in [&refused.err, &listed.out, &inspected.out] {
        assert!(!text.contains('\x1b') && !text.contains(&"x".repeat(100)), "{text}");
        assert!(text.contains("\\u{1b}[2J"), "{text}");
    }
    let near = run(&guest, &["--call", "q"]).err;
    assert!(!near.contains("near: \n") && !near.trim_end().ends_with("near:"), "{near}");
}

#[test]
fn the_last_value_of_a_variable_counts() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module
            (import "wasi_snapshot_preview1" "environ_get" (func $env (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write"
              (func $w (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "\00\02\00\00\07\00\00\00")
            (func (export "_start")
              (drop (call $env (i32.const 256) (i32.const 512)))
              (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64)))))"#,
    );
    let out = run(&guest, &["--env", "A=1", "--env", "B=2", "--env", "A=3", "--hex"]).well();
    assert!(out.contains(&touchstone::record::hex(b"A=3\0B=2")), "{out}");
}

#[test]
fn files_without_an_end_and_folders_are_refused() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    for command in [&["inspect", "/dev/zero"][..], &["run", "/dev/zero", "--call", "f"]] {
        touchstone(command).refused(&["cannot read /dev/zero", "it is a device"]);
    }
    run(&guest, &["--call", "sum", "--input", "@/dev/zero"]).refused(&["it is a device"]);
    touchstone(&["show", "--records", "/dev/zero"]).refused(&["it is a device"]);
    let here = folder.at("").display().to_string();
    touchstone(&["inspect", &here]).refused(&["it is a folder"]);
}
