//! The command line: one file a check.
//!
//! Exit codes are those of `touchstone`: 0 when all is well; 1 when a check failed; 2 when
//! the input or the command cannot be used.
//! Each command returns `true` when all is well.

mod conformance;
mod counts;
mod features;
mod hostile;
mod isolation;
mod store;
mod survival;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use touchstone::terminal::complain;
use touchstone_checks::conformance::run::take_steps;
use touchstone_checks::engines;
use touchstone_checks::features::serve;
use touchstone_checks::hostile::attack_in_this_process;
use touchstone_checks::survival::Job;

/// Checks the executors of this build: conformance, features, isolation, hostile guests, survival
/// of records, and counts of the costs of calls.
///
/// Each check prints a table, and exits with 1 if a check failed. --store keeps the findings for
/// the report.
#[derive(Debug, Parser)]
#[command(name = "touchstone-checks", version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Conformance(conformance::Conformance),
    Features(features::Features),
    Isolation(isolation::Isolation),
    Hostile(hostile::Hostile),
    Survival(survival::Survival),
    Costs(counts::Costs),
    Gate(counts::Gate),
    /// Serve as a child of `conformance`
    #[command(hide = true)]
    Steps,
    /// Serve as a child of `hostile`
    #[command(hide = true)]
    Attacks,
    /// Serve as a child of `features`
    #[command(hide = true)]
    Feature,
    /// Serve as a run of `survival`
    #[command(hide = true)]
    Survivor {
        job: String,
    },
}

pub(crate) fn main() -> ExitCode {
    let well = match Arguments::parse().command {
        Command::Conformance(check) => check.execute(),
        Command::Features(check) => check.execute(),
        Command::Isolation(check) => check.execute(),
        Command::Hostile(check) => check.execute(),
        Command::Survival(check) => check.execute(),
        Command::Costs(check) => check.execute(),
        Command::Gate(check) => check.execute(),
        Command::Steps => take_steps(&engines()).map(|()| true),
        Command::Attacks => attack_in_this_process(&touchstone_runtimes::engines()).map(|()| true),
        Command::Feature => serve(&engines()).map(|()| true),
        Command::Survivor { job } => Job::parse(&job)
            .and_then(|job| job.execute(&survival::command))
            .map(|failed| failed == 0),
    };
    match well {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
