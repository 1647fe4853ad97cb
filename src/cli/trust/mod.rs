//! `touchstone trust`: one file a part.

mod conformance;
mod hostile;
mod isolation;
mod survival;

pub(super) use conformance::Scripts;
pub(super) use hostile::HostileGuests;
pub(super) use survival::Survivor;

use super::Ended;
use anyhow::Result;
use clap::Subcommand;

/// Finds out what a speed is worth, part by part: whether executors run WebAssembly as its
/// specification says, whether calls see anything of the ones before, what hostile guests
/// do to the host, and what survives when a run does not.
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
    Conformance(conformance::Conformance),
    Isolation(isolation::Isolation),
    Hostile(hostile::Hostile),
    Survival(survival::Survival),
}

impl Trust {
    pub(super) fn execute(self) -> Result<Ended> {
        match self.part {
            Part::Conformance(part) => part.execute(),
            Part::Isolation(part) => part.execute(),
            Part::Hostile(part) => part.execute(),
            Part::Survival(part) => part.execute(),
        }
    }
}
