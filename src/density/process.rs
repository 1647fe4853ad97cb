//! The process of one number of instances, and its parent.

use super::live;
use crate::case::{Case, Guests};
use crate::lab::{Lab, Refused, config_for};
use crate::plan::{Cell, Plan};
use crate::record::{CellKey, Density};
use crate::solo::{self, Asked, Limits};
use crate::supervise::{Parent, Stop};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::{Config, Engine};

/// Longest time of a process, compilation included.
const LIMIT: Duration = Duration::from_secs(120);

/// The message to a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// The cell whose call is made.
    pub cell: CellKey,
    /// Live instances.
    pub instances: u64,
    /// Seed of the order of calls.
    pub seed: u64,
    /// The private folder in which processes share artifacts.
    pub artifacts: PathBuf,
}

/// A message from a process: the number of instances so far, and what was measured.
pub type FromProcess = solo::FromProcess<u64, Box<Density>>;

impl Ask {
    /// Starts a process by a command which calls [`serve`], and waits for what it measures. A
    /// process that takes more than `memory` bytes, or two minutes, is ended.
    ///
    /// # Errors
    ///
    /// When no process can be started or watched.
    pub fn put(&self, command: Command, memory: u64, stop: &Stop) -> Result<Asked<Box<Density>>> {
        let mut made = 0;
        let limits = Limits { memory, time: LIMIT };
        let asked = solo::ask(self, command, limits, stop, |instances: u64| made = instances)?;
        let Asked::Refused(Refused { status, reason }) = asked else { return Ok(asked) };
        let reason = format!("{} live instances: after {made} of them, {reason}", self.instances);
        Ok(Asked::Refused(Refused { status, reason }))
    }
}

/// Serves as a process: measures what the parent asks for.
///
/// # Errors
///
/// When the parent is gone, or asks for what the cases and engines do not have.
pub fn serve(
    parent: Parent<Ask, FromProcess>,
    mut cases: Vec<Case>,
    engines: &[Arc<dyn Engine>],
    mut guests: Guests,
) -> Result<()> {
    solo::serve(parent, |ask, made| {
        cases.retain(|case| case.name == ask.cell.case);
        let plan = Plan::new(&cases, engines, &mut guests)?;
        let mut cells = plan.cells.iter();
        let cell = cells.find(|cell| cell.key == ask.cell).context("there is no such cell")?;
        Ok(measure(ask, cell, guests, made).map(Box::new))
    })
}

fn measure(
    ask: &Ask,
    cell: &Cell,
    guests: Guests,
    made: &mut dyn FnMut(u64),
) -> Result<Density, Refused> {
    // One more is opened, to compare its output, and kept by the lab.
    let instances = u32::try_from(ask.instances).unwrap_or(u32::MAX).saturating_add(2);
    let config = Config { instances, ..config_for(1) };
    let mut lab = Lab::new(guests, config).sharing_artifacts(&ask.artifacts)?;
    let opened = lab.open(cell)?;
    let mut said = Instant::now();
    let progress = |instances| {
        if said.elapsed() >= Duration::from_millis(100) {
            said = Instant::now();
            made(instances);
        }
    };
    let names = (cell.key.case.as_str(), cell.key.guest.as_str());
    live(&opened, cell.key.executor(), names, ask.instances, ask.seed, progress)
}
