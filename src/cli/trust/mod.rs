//! `touchstone trust`: one file a part.

mod conformance;
mod hostile;
mod isolation;
mod survival;

pub(super) use conformance::Scripts;
pub(super) use hostile::HostileGuests;
pub(super) use survival::Survivor;

use super::Ended;
use super::output::{print, short};
use anyhow::Result;
use clap::Subcommand;
use std::path::PathBuf;
use touchstone::record;
use touchstone::trust::{self, Findings, Found};

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

/// What every part is told about keeping what it finds.
#[derive(Debug, clap::Args)]
struct Keep {
    /// Replace the stored findings; not with a filter
    #[arg(long, conflicts_with = "filter")]
    store: bool,
    /// Folder of the findings [default: `trust` beside the records]
    #[arg(long, value_name = "DIR")]
    trust: Option<PathBuf>,
}

impl Keep {
    /// Stores what was found, if that was asked for, and says where.
    fn keep<T: Findings>(self, findings: T) -> Result<()> {
        if !self.store {
            return Ok(());
        }
        let folder = self.trust.unwrap_or_else(|| trust::beside(&record::default_path()));
        print(&format!("wrote {}\n", short(&Found::here(findings).store(&folder)?)))
    }
}
