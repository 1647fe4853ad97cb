//! Tests that are a process of their own, because they end it or spend what it has.

use std::process::{Command, ExitStatus, Stdio};

/// Runs the test of this name once more, as the only one of a process: `None`
/// there, and how that process ended here.
pub(super) fn alone(name: &str) -> Option<(ExitStatus, String)> {
    const ASKED: &str = "TOUCHSTONE_TEST_ALONE";
    if std::env::var_os(ASKED).is_some() {
        return None;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", name])
        .env(ASKED, "1")
        .stdout(Stdio::null())
        .output()
        .unwrap();
    Some((output.status, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The same for tests that come to their end.
pub(super) fn passes(name: &str) -> bool {
    match alone(name) {
        Some((status, said)) => {
            assert!(status.success(), "{status}: {said}");
            true
        }
        None => false,
    }
}
