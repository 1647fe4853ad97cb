//! WASI preview 1, the same for all backends and deterministic: two clean calls with the same
//! input have the same output.
//!
//! | resource | what the guest gets |
//! |---|---|
//! | arguments, environment | those of [`Settings`] |
//! | standard input | the input of the call |
//! | standard output | the output of the call under `Abi::Wasi`; else dropped |
//! | standard error | lines in the host's log, level info, target `stderr` |
//! | clocks | start at a fixed time and advance by a fixed step with each reading |
//! | random bytes | a generator with a fixed seed |
//! | files | at most one directory, read-only, as `/` |
//!
//! `poll_oneoff` never waits: clocks advance to the requested time. Sockets and writes to the file
//! system are refused with an error code. An address outside the guest's memory is refused with
//! `EFAULT`.
//!
//! Programs of preview 2 are components. A backend that runs them gives them the same: clocks
//! ([`EPOCH`], [`STEP`]), random numbers ([`SEED`]) and [`Lines`] of standard error.
//!
//! [`functions`] is the table of the functions; [`Functions::standard`](crate::Functions::standard)
//! has them.

mod answer;
mod files;
mod guest;
mod poll;
mod stat;
mod state;
mod streams;
#[cfg(test)]
mod tests;

pub use answer::functions;
pub use files::Directory;
pub use state::{EPOCH, SEED, STEP};
pub use streams::{Lines, MOST_OUTPUT};
pub use touchstone_guest::imports::{START, WASI as MODULE, is_command};

pub(crate) use streams::Streams;

/// Settings of programs, beside their input.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The arguments; the first one is the name of the program.
    pub arguments: Vec<String>,
    /// Names and values of environment variables.
    pub environment: Vec<(String, String)>,
    /// The directory that programs see as `/`. Without one there are no files.
    pub directory: Option<Directory>,
}
