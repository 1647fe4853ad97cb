//! `touchstone run`: anybody's module on every backend of this build.

mod difference;
mod limits;
mod parameters;
mod written;

use crate::command::{Folder, Ran, blob, built, touchstone};
use serde_json::Value;
use touchstone_executor::Strategy;
use touchstone_executor::guest::{GuestModule, HeapPages};

/// The answer of the checked-in module to `Core_version`, SCALE-encoded.
const CORE_VERSION: &str = "0x28746f75636873746f6e653c746f75636873746f6e652d636f7265010000003000000000\
    00000018df6acb689907609b0500000037e397fc7c91f5e40200000040fe3ad401f8959a06000000d2bc9897eed08f15\
    03000000bc9d89904f5b923f01000000af2c0297a23e6d3d0b0000000700000001";

/// Whatever a plain export can do wrong.
const GUEST: &str = r#"(module
    (import "env" "nobody_has_this" (func $missing (param i32) (result i32)))
    (memory (export "memory") 1)
    (global (export "__heap_base") i32 (i32.const 1024))
    (global $calls (mut i32) (i32.const 0))
    (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "half") (result f64 i64) (f64.const 0.5) (i64.const -1))
    (func (export "count") (result i32)
        (global.set $calls (i32.add (global.get $calls) (i32.const 1))) (global.get $calls))
    (func (export "unreachable") unreachable)
    (func (export "endless") (loop $again (br $again)))
    (func (export "missing") (drop (call $missing (i32.const 1))))
    (func (export "outside") (param i32 i32) (result i64) (i64.const 0x0000_1000_f000_0000))
    (func (export "echo") (param i32 i32) (result i64)
        (i64.or (i64.extend_i32_u (local.get 0))
                (i64.shl (i64.extend_i32_u (local.get 1)) (i64.const 32))))
    (func (export "pages") (result i32) (memory.size))
    (func (export "grow") (result i32)
        (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        (memory.size)))"#;

/// The backends of this build, from the command itself.
fn backends() -> Vec<String> {
    let mut names: Vec<String> = touchstone(&["list", "--json"])
        .lines()
        .iter()
        .map(|line| line["engine"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Those of them that run anybody's module, by every convention: not only code of
/// their own, and not only Substrate's runtimes.
fn backends_for_modules() -> Vec<String> {
    backends_under(&Strategy::all())
}

/// Those of them that have one of the strategies.
fn backends_under(strategies: &[Strategy]) -> Vec<String> {
    let plain = wat::parse_str(r#"(module (func (export "f")))"#).unwrap();
    let plain = GuestModule::new("plain", &plain, HeapPages::default()).unwrap();
    let mut names: Vec<String> = touchstone_runtimes::engines()
        .iter()
        .filter(|engine| {
            strategies.iter().any(|strategy| engine.support_for(*strategy, &plain).is_supported())
        })
        .map(|engine| engine.id().to_owned())
        .collect();
    names.sort();
    names
}

fn backends_of(lines: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = lines.iter().map(|line| line["backend"].as_str().unwrap()).collect();
    names.dedup();
    names.sort_unstable();
    names
}

/// The printed rows of `backends_for_modules`.
fn lines_for_modules(ran: &Ran) -> Vec<Value> {
    let runs = backends_for_modules();
    let mut lines = ran.lines();
    lines.retain(|line| runs.iter().any(|name| line["backend"] == **name));
    lines
}

/// Calls an export everywhere; all must return the output, on every backend.
#[track_caller]
fn everywhere(arguments: &[&str], output: &str) {
    let ran = touchstone(&[&["run"], arguments, &["--json"]].concat());
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
    let lines = ran.lines();
    let returned: Vec<Value> =
        lines.iter().filter(|line| line["status"] == "returned").cloned().collect();
    // A backend with code of its own may have this as well.
    let named = arguments.iter().skip_while(|argument| **argument != "--strategy").nth(1);
    let runs = match named {
        Some(named) => {
            let named: Result<Vec<Strategy>, _> = named.split(',').map(str::parse).collect();
            backends_under(&named.unwrap())
        }
        None => backends_for_modules(),
    };
    let mut names = backends_of(&returned);
    names.retain(|name| runs.iter().any(|known| known == name));
    assert_eq!(names, runs);
    for line in &returned {
        assert_eq!((&line["output"], &line["group"]), (&output.into(), &1.into()), "{line}");
    }
    for line in lines.iter().filter(|line| line["status"] != "returned") {
        assert_eq!(line["status"], "unsupported", "{line}");
        assert!(line["reason"].is_string() && line["output"].is_null(), "{line}");
    }
}

#[test]
fn core_version_is_the_same_on_every_backend() {
    let core = built("core-runtime.wasm");
    everywhere(&[&core, "--call", "Core_version"], CORE_VERSION);
    let folder = Folder::new();
    let packed = folder.file("core.compact.compressed.wasm", blob(&std::fs::read(core).unwrap()));
    everywhere(&[&packed, "--call", "Core_version", "--abi", "substrate"], CORE_VERSION);
}

#[test]
fn the_test_guest_answers_on_every_strategy() {
    let guest = built("test-runtime.wasm");
    everywhere(&[&guest, "--call", "test_count"], "0x2a00000001000000");
    // A small guest, because each command compiles it on every engine.
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    everywhere(&[&guest, "--call", "echo", "--input", "0x00ff10"], "0x00ff10");
    everywhere(&[&guest, "--call", "echo", "--abi", "substrate"], "0x");
}

#[test]
fn inputs_come_from_a_file_hexadecimal_or_text() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let file = folder.file("input", b"from a file");
    let out = touchstone(&["run", &guest, "--call", "echo", "--input", &format!("@{file}")]).well();
    assert!(out.contains("\"from a file\""), "{out}");
    let out = touchstone(&["run", &guest, "--call", "echo", "--input", "text:grüße"]).well();
    assert!(out.contains("0x6772c3bcc39f65 = \"grüße\""), "{out}");
    let numbers = "0x02000000ffffffff";
    let out = touchstone(&["run", &guest, "--call", "add", "--input", numbers]).well();
    assert!(out.contains(": 1: i32\n"), "{out}");
}

#[test]
fn the_convention_is_guessed_and_said() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let out = touchstone(&["run", &guest, "--call", "half"]).well();
    assert!(out.contains("plain (guessed from its signature () -> (f64, i64))"), "{out}");
    assert!(out.contains(": 0.5: f64, -1: i64"), "{out}");
    let out = touchstone(&["run", &guest, "--call", "echo"]).well();
    assert!(out.contains("substrate (guessed from its signature (i32, i32) -> (i64))"), "{out}");
    assert!(out.contains("2049 pages, 2048 of them extra, fixed"), "{out}");

    let asking = folder.module(
        r#"(module
            (import "env" "input_len" (func $len (result i64)))
            (func (export "ask") (if (i64.ne (call $len) (i64.const 3)) (then unreachable))))"#,
    );
    let out = touchstone(&["run", &asking, "--call", "ask", "--input", "text:abc"]).well();
    assert!(out.contains("input (guessed from its signature () -> ())"), "{out}");
    touchstone(&["run", &asking, "--call", "ask"]).found(&["unreachable"]);
}

#[test]
fn each_call_is_on_a_clean_instance() {
    let folder = Folder::new();
    everywhere(&[&folder.module(GUEST), "--call", "count"], "0x01000000");
}

#[test]
fn traps_are_shown_with_their_reason() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    for (export, reason) in [
        ("unreachable", "unreachable executed"),
        ("missing", "called the import env.nobody_has_this, which this host does not have"),
        ("outside", "result of 4096 bytes at 0xf0000000 lies outside the memory"),
    ] {
        // In words for one backend: below, all of them are in one group.
        let one = format!("^{}$", backends_for_modules()[0]);
        let ran = touchstone(&["run", &guest, "--call", export, "--backend", &one]);
        ran.found(&[reason, ": trap: "]);
        let ran = touchstone(&["run", &guest, "--call", export, "--json"]);
        assert_eq!(ran.code, 1);
        let lines = lines_for_modules(&ran);
        assert!(lines.iter().all(|line| line["group"] == 1 && line["status"] == "trapped"));
        assert!(lines.iter().all(|line| line["reason"].as_str().unwrap().contains(reason)));
        assert_eq!(backends_of(&lines), backends_for_modules());
    }
}

#[test]
fn the_ways_out_of_a_missing_import_are_named() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let ways = "--link NAME=FILE answers imports with the exports of another module, --imports \
                zero with zeros\n";
    touchstone(&["run", &guest, "--call", "missing"]).found(&[ways]);
    let strict = ["run", &guest, "--call", "missing", "--imports", "error"];
    touchstone(&strict).found(&["does not have 1 of the module's imports", ways]);
    let out = touchstone(&["run", &guest, "--call", "unreachable"]).out;
    assert!(!out.contains(ways), "{out}");
}

#[test]
fn an_endless_loop_is_stopped() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let ran = touchstone(&["run", &guest, "--call", "endless", "--timeout", "0.1", "--all"]);
    let stopped = "stopped: still running after 0.1 s";
    let out = ran.found(&[stopped, "--timeout SECONDS", "left out: ", "was stopped already"]);
    // Once for each backend, and not for each strategy; and once in the summary.
    assert_eq!(out.matches(stopped).count(), backends_for_modules().len() + 1, "{out}");
}

#[test]
fn a_start_function_is_stopped_too() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module (func $start (loop $again (br $again))) (start $start)
            (func (export "f")))"#,
    );
    let ran = touchstone(&["run", &guest, "--call", "f", "--timeout", "0.2", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let stopped = ran.lines().iter().filter(|line| line["status"] == "stopped").count();
    assert_eq!(stopped, backends_for_modules().len());
}

#[test]
fn a_memory_bomb_stops_at_the_limit() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    everywhere(&[&guest, "--call", "grow", "--max-pages", "20"], "0x14000000");
    // A gigabyte each: not on all of them.
    let some = ["--strategy", "interpreted,recreate_instance,instance_reuse_cow"];
    everywhere(&[&[&*guest, "--call", "grow"], &some[..]].concat(), "0x00400000");
    everywhere(&[&guest, "--call", "pages", "--extra-pages", "6"], "0x07000000");
    touchstone(&["run", &guest, "--call", "pages", "--extra-pages", "6", "--max-pages", "5"])
        .refused(&[
            "7 pages",
            "more than the limit of 5 pages; raise the limit with --max-pages 7",
        ]);
}

#[test]
fn a_guests_log_is_shown_once_for_each_combination() {
    let guest = built("test-runtime.wasm");
    let arguments = ["run", &guest, "--call", "test_log", "--input", "text:hello\x1b[2J"];
    let few = ["--strategy", "interpreted,recreate_instance", "--backend", "^(wasmi|wasmtime)$"];
    let quiet = touchstone(&[&arguments[..], &few].concat());
    assert_eq!((quiet.code, &*quiet.err), (0, ""));
    let ran = touchstone(&[&arguments[..], &["--log", "--json"]].concat());
    assert_eq!(ran.code, 0);
    let returned = ran.lines().iter().filter(|line| line["status"] == "returned").count();
    assert_eq!(ran.err.lines().count(), returned, "{}", ran.err);
    for line in ran.err.lines() {
        assert!(line.ends_with("] info test: hello\\u{1b}[2J"), "{line}");
    }
}

#[test]
fn strategies_and_backends_can_be_chosen() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let first = &backends()[0];
    let chosen = ["--strategy", "instance_reuse,recreate_instance", "--strategy", "pooling"];
    let backend = ["--backend", &format!("^{first}$")];
    let arguments = [&["run", &guest, "--call", "pages", "--json"], &chosen[..], &backend].concat();
    let ran = touchstone(&arguments);
    let lines = ran.lines();
    let strategies: Vec<_> = lines.iter().map(|line| line["strategy"].as_str().unwrap()).collect();
    assert_eq!(strategies, ["instance_reuse", "recreate_instance", "pooling"]);
    assert!(lines.iter().all(|line| line["backend"] == **first));
    // What was named and cannot be had is a row with its reason.
    for line in &lines {
        assert_eq!(line["status"] == "returned", line["reason"].is_null(), "{line}");
    }

    let run = ["run", &guest, "--call", "pages"];
    touchstone(&[&run[..], &["--strategy", "poling"]].concat())
        .refused(&["there is no strategy 'poling'; near: pooling"]);
    touchstone(&[&run[..], &["--backend", "v9"]].concat())
        .refused(&["no backend of this build matches 'v9'", first]);
}

#[test]
fn a_refusal_for_this_module_is_a_row_with_its_reason() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module (memory (export "memory") 1) (data $once "x")
            (func (export "f") (data.drop $once)))"#,
    );
    let ran = touchstone(&["run", &guest, "--call", "f", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut refused = lines_for_modules(&ran);
    refused.retain(|line| line["status"] == "unsupported");
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|line| line["reason"].as_str().unwrap().contains("data.drop")));
    let ran = touchstone(&["run", &guest, "--call", "f", "--strategy", "instance_reuse"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("data.drop"), "{}", ran.out);
    assert!(ran.err.contains("error: none of the chosen combinations"), "{}", ran.err);
}

#[test]
fn what_is_no_usable_module_is_refused_in_words() {
    let folder = Folder::new();
    let whole = wat::parse_str(GUEST).unwrap();
    let refused = |name: &str, content: &[u8], parts: &[&str]| {
        let file = folder.file(name, content);
        let err = touchstone(&["run", &file, "--call", "add"]).refused(parts);
        assert!(err.contains(name), "{err}");
    };
    refused("cut.wasm", &whole[..whole.len() - 5], &["does not validate", "offset"]);
    refused("text.wasm", b"hello", &["not a WebAssembly module", "text file"]);
    refused("wat.wasm", b"(module)\n(fun)", &["wat.wasm:2:"]);
    refused("empty.wasm", b"", &["the file is empty"]);
    refused("component.wasm", b"\0asm\x0d\0\x01\0", &["component"]);
    let packed = blob(&whole);
    refused("blob.wasm", &packed[..packed.len() / 2], &["cannot unpack the compressed blob"]);
    touchstone(&["run", "/does/not/exist", "--call", "f"])
        .refused(&["cannot read /does/not/exist", "No such file"]);
}

#[test]
fn what_cannot_be_called_is_refused_in_words() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let run = |arguments: &[&str]| touchstone(&[&["run", &guest], arguments].concat());
    run(&["--call", "ad"]).refused(&["no exported function 'ad'", "near: add"]);
    run(&["--call", "memory_of_it"]).refused(&["no exported function"]);
    run(&["--call", "zzzzzzzzzzzz"]).refused(&["there are add, half, count"]);
    run(&["--call", "add", "--abi", "substrate"]).refused(&["signature (i32, i32) -> (i32)"]);
    run(&["--call", "add", "--abi", "input"]).refused(&["needs () -> ()"]);
    run(&["--call", "add", "--abi", "wasi"]).refused(&["needs () -> ()"]);
    run(&["--call", "add", "--env", "NAME"]).refused(&["expected NAME=VALUE"]);
    run(&["--call", "add", "--dir", "/does/not/exist"]).refused(&["/does/not/exist"]);
    run(&["--call", "add", "--abi", "other"])
        .refused(&["substrate, input, bytes, plain, wasi, wapc, typed, codec"]);
    run(&["--call", "add"]).refused(&["8 bytes of parameters", "the input has 0"]);
    run(&["--call", "echo", "--input", "0x123"]).refused(&["--input", "whole bytes"]);
    run(&["--call", "echo", "--input", "0xzz"]).refused(&["--input", "not a hexadecimal"]);
    run(&["--call", "echo", "--input", "hello"]).refused(&["none of @FILE, 0xHEX, text:TEXT"]);
    run(&["--call", "echo", "--input", "@/does/not/exist"]).refused(&["cannot read the input"]);
    run(&["--call", "echo", "--timeout", "0"]).refused(&["'0' is not a number of seconds above 0"]);
    run(&["--call", "echo", "--timeout", "1e99"]).refused(&["not a number of seconds"]);
    let shown = run(&[]);
    assert_eq!(shown.code, 2);
    assert!(shown.out.contains("  add (i32, i32) -> (i32)\n"), "{}", shown.out);
    assert!(shown.err.starts_with("error: ") && shown.err.contains("--call"), "{}", shown.err);
}

#[test]
fn a_program_of_wasi_reads_its_input() {
    // BLAKE3 of "abc", as its authors publish it.
    let digest = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85\n";
    let digest = format!("0x{}", touchstone::record::hex(digest.as_bytes()));
    let module = built("blake3.wasm");
    everywhere(&[&module, "--call", "_start", "--input", "text:abc"], &digest);
}

#[test]
fn a_program_of_wasi_gets_arguments_variables_and_a_directory() {
    const PROGRAM: &str = r#"(module
        (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "environ_get" (func $env (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "path_open"
            (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read"
            (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write"
            (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        ;; Three buffers, and the path.
        (data (i32.const 0) "\80\00\00\00\11\00\00\00\c0\00\00\00\06\00\00\00\00\01\00\00\04\00\00\00")
        (data (i32.const 32) "file")
        (func (export "_start")
            (drop (call $args (i32.const 64) (i32.const 128)))
            (drop (call $env (i32.const 64) (i32.const 192)))
            (call $exit (call $open (i32.const 3) (i32.const 0) (i32.const 32) (i32.const 4)
                (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 40)))
            unreachable)
        (func (export "show")
            (drop (call $args (i32.const 64) (i32.const 128)))
            (drop (call $env (i32.const 64) (i32.const 192)))
            (drop (call $open (i32.const 3) (i32.const 0) (i32.const 32) (i32.const 4)
                (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 40)))
            (drop (call $read (i32.load (i32.const 40)) (i32.const 16) (i32.const 1)
                (i32.const 44)))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 3) (i32.const 44)))))"#;
    let (folder, shared) = (Folder::new(), Folder::new());
    let module = folder.module(PROGRAM);
    shared.file("file", "text");
    let directory = shared.at("").display().to_string();
    let given = ["--args=--x", "--env", "A=b=c", "--dir", &directory];
    let output = format!("0x{}", touchstone::record::hex(b"module.wasm\0--x\0\0A=b=c\0text"));
    everywhere(&[&[&module, "--call", "show", "--abi", "wasi"], &given[..]].concat(), &output);
    // Of `_start` the convention is guessed, and no file means another exit code than 0.
    everywhere(&[&[&module, "--call", "_start"], &given[..]].concat(), "0x");
    touchstone(&["run", &module, "--call", "_start", "--backend", "^wasmi$"])
        .found(&["exited with code 8"]);
}

#[cfg(feature = "wizer")]
#[test]
fn a_module_is_pre_initialised_for_all_backends() {
    const GUEST: &str = r#"(module
        (memory (export "memory") 1)
        (global $calls (mut i32) (i32.const 0))
        (func (export "init") (global.set $calls (i32.const 5)))
        (func (export "count") (result i32)
            (global.set $calls (i32.add (global.get $calls) (i32.const 1))) (global.get $calls)))"#;
    let folder = Folder::new();
    let module = folder.module(GUEST);
    everywhere(&[&module, "--init", "init", "--call", "count"], "0x06000000");
    touchstone(&["run", &module, "--init", "count", "--call", "count"])
        .refused(&["'count' is () -> (i32)"]);
}
