//! Processes that die, take too long or too much, and Ctrl-C.

use crate::command::time::LIMIT;
use crate::command::{Folder, command, touchstone};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const GUEST: &str = r#"(module
    (func (export "endless") (loop $again (br $again)))
    (func (export "seven") (result i32) (i32.const 7)))"#;

/// Two combinations of one engine.
const TWO: [&str; 4] = ["--backend", "^wasmi$", "--strategy", "interpreted,instance_reuse"];

fn endless(guest: &str, more: &[&str]) -> Child {
    let run = ["run", guest, "--call", "endless", "--timeout", "31536000"];
    Command::new(env!("CARGO_BIN_EXE_touchstone"))
        .args([&run[..], &TWO, more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The number of a worker of a process, another one than `last`.
fn worker_of(parent: u32, last: u32) -> u32 {
    let is_child = |entry: &Path| -> Option<u32> {
        let stat = std::fs::read_to_string(entry.join("stat")).ok()?;
        let after = stat.rsplit_once(')')?.1;
        let number: u32 = after.split_whitespace().nth(1)?.parse().ok()?;
        let pid: u32 = entry.file_name()?.to_str()?.parse().ok()?;
        (number == parent && pid != last).then_some(pid)
    };
    let began = Instant::now();
    loop {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        if let Some(pid) = entries.filter_map(|entry| is_child(&entry.path())).next() {
            return pid;
        }
        assert!(began.elapsed() < LIMIT, "no worker was started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process runs the guest: until it has used this much processor time.
fn wait_until_busy(pid: u32) {
    let began = Instant::now();
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()
    };
    while ticks().unwrap_or(0) < 100 {
        assert!(began.elapsed() < LIMIT, "the worker does nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn lines(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_crash_is_the_row_of_one_combination() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let child = endless(&guest, &["--json"]);
    let mut last = 0;
    for _ in 0..2 {
        last = worker_of(child.id(), last);
        wait_until_busy(last);
        signal("-KILL", last);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let lines = lines(&output.stdout);
    let strategies: Vec<&str> =
        lines.iter().map(|line| line["strategy"].as_str().unwrap()).collect();
    assert_eq!(strategies, ["interpreted", "instance_reuse"]);
    for line in &lines {
        assert_eq!(line["status"], "crashed", "{line}");
        let reason = "the process of wasmi was killed by SIGKILL in the call";
        assert_eq!(line["reason"], reason, "{line}");
    }
}

#[test]
fn after_a_signal_there_is_what_was_found() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let child = endless(&guest, &[]);
        wait_until_busy(worker_of(child.id(), 0));
        signal(name, child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.starts_with("endless of ") && out.contains("stopped before 2 of 2"), "{out}");
    }
}

#[test]
fn a_process_over_its_memory_is_a_row() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let run = ["run", &guest, "--call", "endless", "--memory-limit", "1", "--json"];
    let ran = touchstone(&[&run[..], &TWO].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let over: Vec<Value> =
        ran.lines().into_iter().filter(|line| line["status"] == "over_limit").collect();
    assert!(!over.is_empty(), "{}", ran.out);
    for line in &over {
        let reason = line["reason"].as_str().unwrap();
        assert!(reason.contains("used more than 1 MiB") && reason.contains("--memory-limit"));
    }
}

/// A compiler that is ended ends its class of artifacts: the others would take as long.
#[cfg(feature = "wasmtime")]
#[test]
fn a_compiler_that_takes_long_is_ended_once() {
    let guest = crate::command::built("large-runtime.wasm");
    let run = ["run", &guest, "--call", "test_empty_return", "--compile-timeout", "0.001"];
    let two = "recreate_instance,recreate_instance_precompiled";
    let ways = ["--backend", "^wasmtime$", "--strategy", two];
    let ran = touchstone(&[&run[..], &ways, &["--json"]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let states: Vec<Value> = ran.lines().iter().map(|line| line["status"].clone()).collect();
    assert_eq!(states[0], "over_limit", "{}", ran.out);
    assert_eq!(states[1], "not_run", "{}", ran.out);
    assert!(ran.out.contains("the compiler of wasmtime took longer than 0.001 s"), "{}", ran.out);
}

#[test]
fn engines_can_be_left_out() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let run = ["run", &guest, "--call", "seven", "--strategy", "instance_reuse", "--json"];
    let some = touchstone(&[&run[..], &["--not-engine", "^wasmi"]].concat());
    assert!(some.lines().iter().all(|line| line["backend"] != "wasmi"), "{}", some.out);
    let only = touchstone(&[&run[..], &["--engine", "^wasmi$"]].concat()).lines();
    assert_eq!((only.len(), &only[0]["backend"]), (1, &"wasmi".into()));
    let none = touchstone(&[&run[..], &["--not-engine", "."]].concat());
    none.refused(&["'.' leaves nothing"]);
    for option in ["--not-engine", "--backend"] {
        let ran = touchstone(&[&run[..], &[option, "wasm(i"]].concat());
        ran.refused(&["'wasm(i' is not a regular expression", "unclosed group"]);
    }
}

#[test]
fn a_start_functions_trap_is_a_result_of_the_guest() {
    let folder = Folder::new();
    let guest =
        folder.module(r#"(module (func $start unreachable) (start $start) (func (export "f")))"#);
    let ran = touchstone(&["run", &guest, "--call", "f", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let mut lines = super::lines_for_modules(&ran);
    lines.retain(|line| line["status"] != "unsupported");
    for line in &lines {
        assert_eq!((&line["status"], &line["group"]), (&"trapped".into(), &1.into()), "{line}");
        let reason = line["reason"].as_str().unwrap();
        assert!(reason.contains("unreachable") && reason.ends_with("in the start function"));
    }
    assert_eq!(super::backends_of(&lines), super::backends_for_modules());
}

#[test]
fn equal_results_are_one_line() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    let run = [&["run", &guest, "--call", "seven"], &TWO[..]].concat();
    let out = touchstone(&run).well();
    assert!(out.ends_with("\n\nall 2 combinations on 1 engine: 7: i32\n"), "{out}");
    let out = touchstone(&[&run[..], &["--all"]].concat()).well();
    let rows = out.lines().filter(|line| line.starts_with("wasmi  ")).count();
    assert_eq!(rows, 2, "{out}");
}

#[test]
fn no_terminal_no_escapes() {
    let folder = Folder::new();
    let guest = folder.module(GUEST);
    for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1")] {
        let mut command = command();
        command.env(name, value).args(["run", &guest, "--call", "seven"]).args(TWO);
        let output = command.output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    }
}

/// WasmEdge does not limit recursion: the end of its worker is a result as well.
#[test]
fn endless_recursion_is_a_row_of_each_engine() {
    let folder = Folder::new();
    let guest = folder.module(
        r#"(module (global $depth (mut i32) (i32.const 0))
          (func $f (export "f")
            (call $f) (global.set $depth (i32.add (global.get $depth) (i32.const 1)))))"#,
    );
    let engines = ["--backend", "^(wasmi|wasmedge_aot)$", "--strategy", "instance_reuse"];
    let ran = touchstone(&[&["run", &guest, "--call", "f", "--json"][..], &engines].concat());
    let lines = ran.lines();
    assert!(!lines.is_empty());
    for line in lines {
        match line["backend"].as_str() {
            Some("wasmedge_aot") => {
                assert_eq!(line["status"], "crashed", "{line}");
                let reason = line["reason"].as_str().unwrap();
                assert!(reason.contains("was killed by SIG"), "{line}");
            }
            _ => assert_eq!(line["reason"], "call stack exhausted", "{line}"),
        }
    }
}
