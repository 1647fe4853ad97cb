//! The command line. One file a sub-command; what they share is [`output`].
//!
//! Exit codes: 0 when all is well; 1 when a comparison or a check found a
//! difference, or a guest did not return; 2 when the input or the command
//! cannot be used.

mod costs;
mod output;
mod progress;
mod swap;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Compares WebAssembly executors side by side: runtimes, instantiation
/// strategies, threads and payloads, on the same guests.
///
/// The benchmarks themselves are started with `make bench`, `make quick`, or
/// `cargo bench`; this command shows what there is, what came out, and runs
/// modules of your own.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Swap(swap::Swap),
    Costs(costs::Costs),
    Gate(costs::Gate),
}

/// How a command ended that could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Nothing to complain about.
    Well,
    /// Something differs, or a guest did not return.
    Badly,
}

pub(crate) fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Swap(swap) => swap.execute(),
        Command::Costs(costs) => costs.execute(),
        Command::Gate(gate) => gate.execute(),
    };
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Badly) => ExitCode::from(1),
        Err(error) => {
            output::complain(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
