//! `touchstone trust`: one file a part.

mod isolation;

use super::Ended;
use anyhow::Result;
use clap::Subcommand;

/// Finds out what a speed is worth, part by part: by running guests, on every executor.
///
/// Each part prints a table, and exits with 1 where something bad was found. With --store,
/// what was found is kept for the report.
#[derive(Debug, clap::Args)]
pub(super) struct Trust {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Isolation(isolation::Isolation),
}

impl Trust {
    pub(super) fn execute(self) -> Result<Ended> {
        match self.part {
            Part::Isolation(isolation) => isolation.execute(),
        }
    }
}
