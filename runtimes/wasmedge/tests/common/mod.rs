//! A test in a process of its own: the test's program, started again with a variable that names the
//! engine.

use std::process::{Command, Output, Stdio};

/// Runs the test `one_engine` of this program for an engine, which it finds in a variable. Panics
/// if the program has no such test.
pub(crate) fn in_a_process(variable: &str, engine: &str) -> Output {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["one_engine", "--exact", "--nocapture", "--test-threads=1"])
        .env(variable, engine)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("running 1 test"), "no such test");
    output
}
