//! `touchstone trust`: what the speeds are worth.

mod conformance;

pub(super) use conformance::Scripts;

use super::Ended;
use anyhow::Result;

/// Finds out whether executors run WebAssembly as its specification says, and what calls
/// and guests can do to each other and to the host.
#[derive(Debug, clap::Args)]
pub(super) struct Trust {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    Conformance(conformance::Conformance),
}

impl Trust {
    pub(super) fn execute(self) -> Result<Ended> {
        match self.part {
            Part::Conformance(part) => part.execute(),
        }
    }
}
