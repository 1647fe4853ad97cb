//! How children end, and how much memory they occupy.

use crate::proc::kib;
use nix::sys::signal::Signal;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// The end of a child, displayed as the predicate of a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    Exit(i32),
    /// Ended by this signal: `SIGSEGV`, or `signal 40` for one without a name.
    Signal(String),
    /// Killed for using more than this memory, bytes.
    Memory(u64),
    /// Killed for taking longer than this.
    Time(Duration),
    /// Killed because it closed its connection and did not end for several seconds.
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

/// A process's own memory, bytes; 0 if the kernel does not report it.
pub(super) fn occupied(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| kib(&status, name).unwrap_or(0);
    (field("RssAnon") + field("RssShmem")) << 10
}
