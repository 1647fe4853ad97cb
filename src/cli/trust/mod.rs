//! `touchstone trust`: what a speed is worth. One file a part.

mod hostile;

pub(super) use hostile::HostileGuests;

use super::Ended;
use anyhow::Result;

/// Finds out what a speed is worth: whether an executor runs WebAssembly as its
/// specification says, whether a call sees anything of the one before, and what a hostile
/// guest does to the host.
///
/// Without --store, nothing is written. Exits with 1 where something bad was found.
#[derive(Debug, clap::Args)]
pub(super) struct Trust {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    Hostile(hostile::Hostile),
}

impl Trust {
    pub(super) fn execute(self) -> Result<Ended> {
        match self.part {
            Part::Hostile(hostile) => hostile.execute(),
        }
    }
}
