//! Running the command.

use assert_cmd::assert::Assert;

/// Runs it.
pub(crate) fn checks(arguments: &[&str]) -> Assert {
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_touchstone-checks"))
        .args(arguments)
        .env_remove("TOUCHSTONE_RECORDS")
        .assert()
}

/// Standard output and standard error.
pub(crate) fn texts(ran: &Assert) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&ran.get_output().stdout), text(&ran.get_output().stderr))
}
