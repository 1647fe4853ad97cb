//! How children end, and how much memory they occupy.

use crate::proc::kib;
use nix::sys::signal::Signal;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// How a child ended. Displayed as the predicate of a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// It exited with this code; 0 means that it ended well.
    Exit(i32),
    /// This signal ended it: `SIGSEGV`, or `signal 40` for one without a name.
    Signal(String),
    /// It was killed because it occupied more than this much memory, bytes.
    Memory(u64),
    /// It was killed because something took longer than this.
    Time(Duration),
    /// It closed its connection, did not end for several seconds, and was killed.
    Hung,
}

impl Death {
    pub(super) fn of(status: ExitStatus) -> Self {
        match status.signal() {
            None => Self::Exit(status.code().unwrap_or_default()),
            Some(number) => Self::Signal(match Signal::try_from(number) {
                Ok(signal) => signal.to_string(),
                Err(_) => format!("signal {number}"),
            }),
        }
    }

    /// Whether the child ended by itself with exit code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(name) => write!(f, "was killed by {name}"),
            Self::Memory(bytes) => write!(f, "used more than {} MiB", bytes >> 20),
            Self::Time(limit) => write!(f, "took longer than {} s", limit.as_secs_f64()),
            Self::Hung => f.write_str("closed its connection and did not end"),
        }
    }
}

/// Memory that a process alone occupies, bytes; 0 where the kernel does not say.
pub(super) fn occupied(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| kib(&status, name).unwrap_or(0);
    (field("RssAnon") + field("RssShmem")) << 10
}
