//! The command line: one file per command.
//!
//! Exit codes: 0 on success; 1 when a comparison or a check found a difference, or a cell or
//! guest failed; 2 when the input or the command is invalid; 130 when it was stopped.

mod bench;
mod cases;
mod compare;
mod costs;
mod interference;
mod list;
mod peers;
mod repeat;
mod report;
mod run;
mod show;
mod swap;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Compares WebAssembly executors side by side: runtimes, instantiation
/// strategies, threads and payloads, on the same guests.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Bench),
    Compare(compare::Compare),
    List(list::List),
    Show(show::Show),
    Report(report::Report),
    Run(run::Run),
    Peers(peers::Peers),
    Swap(swap::Swap),
    Cases(cases::Cases),
    Repeat(repeat::Repeat),
    Interference(interference::Interference),
    Costs(costs::Costs),
    Gate(costs::Gate),
}

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Without complaints.
    Well,
    /// Something differs or failed.
    Badly,
    /// Stopped by a signal.
    Stopped,
}

pub(crate) fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Bench(bench) => bench.execute(),
        Command::Compare(compare) => compare.execute(),
        Command::List(list) => list.execute(),
        Command::Show(show) => show.execute(),
        Command::Report(report) => report.execute(),
        Command::Run(run) => run.execute(),
        Command::Peers(peers) => peers.execute(),
        Command::Swap(swap) => swap.execute(),
        Command::Cases(cases) => cases.execute(),
        Command::Repeat(repeat) => repeat.execute(),
        Command::Interference(interference) => interference.execute(),
        Command::Costs(costs) => costs.execute(),
        Command::Gate(gate) => gate.execute(),
    };
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Badly) => ExitCode::from(1),
        Ok(Ended::Stopped) => ExitCode::from(130),
        Err(error) => {
            touchstone::terminal::complain(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
