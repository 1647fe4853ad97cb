//! `touchstone trust`: what a speed is worth, part by part.

mod survival;

pub(super) use survival::Survivor;

use super::Ended;
use anyhow::Result;
use clap::Subcommand;

/// Looks at what a speed is worth: correctness, isolation, and what survives.
///
/// Without --store, nothing is written. Exits with 1 where something is not as it has to
/// be.
#[derive(Debug, clap::Args)]
pub(super) struct Trust {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Survival(survival::Survival),
}

impl Trust {
    pub(super) fn execute(self) -> Result<Ended> {
        match self.part {
            Part::Survival(survival) => survival.execute(),
        }
    }
}
