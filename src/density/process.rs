//! The process of one number of instances, and its parent.

use super::live;
use crate::case::{Case, Guests};
use crate::lab::{Lab, Refused, config_for};
use crate::plan::{Cell, Plan};
use crate::proc;
use crate::record::{CellKey, Density, Status};
use crate::supervise::{Death, Heard, Parent, Stop};
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

/// A message from a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromProcess {
    /// So many instances were made so far.
    Made(u64),
    /// What was measured.
    Measured(Box<Density>),
    /// Why it was not.
    Refused(Status, String),
}

/// How asking ended.
#[derive(Debug)]
pub enum Asked {
    /// With a measurement.
    Measured(Box<Density>),
    /// With a refusal.
    Refused(Refused),
    /// Ctrl-C came first.
    Stopped,
}

impl Ask {
    /// Starts a process by a command which calls [`serve`], and waits for what it measures. A
    /// process that takes more than `memory` bytes, or two minutes, is ended.
    ///
    /// # Errors
    ///
    /// When no process can be started or watched.
    pub fn put(&self, command: Command, memory: u64, stop: &Stop) -> Result<Asked> {
        let Some(mut child) = stop.spawn::<Ask, FromProcess>(command)? else {
            return Ok(Asked::Stopped);
        };
        child.limit_memory(memory);
        child.send(self)?;
        let mut made = 0;
        let deadline = Instant::now() + LIMIT;
        let (status, how) = loop {
            match child.receive(deadline)? {
                Heard::Message(FromProcess::Made(instances)) => made = instances,
                Heard::Message(FromProcess::Measured(density)) => {
                    return Ok(Asked::Measured(density));
                }
                Heard::Message(FromProcess::Refused(status, reason)) => {
                    break (status, reason);
                }
                Heard::Ended(_) if stop.asked() => return Ok(Asked::Stopped),
                Heard::Ended(Death::Memory(limit)) => {
                    break (Status::OverBudget, format!("they take more than {} MiB", limit >> 20));
                }
                Heard::Ended(death) => break (Status::Failed, format!("the process {death}")),
                Heard::Silent => {
                    break (
                        Status::OverBudget,
                        format!("it takes more than {} s", LIMIT.as_secs()),
                    );
                }
            }
        };
        let reason = format!("{} live instances: after {made} of them, {how}", self.instances);
        Ok(Asked::Refused(Refused { status, reason }))
    }
}

/// Serves as a process: measures what the parent asks for.
///
/// # Errors
///
/// When the parent is gone, or asks for what the cases and engines do not have.
pub fn serve(
    mut parent: Parent<Ask, FromProcess>,
    mut cases: Vec<Case>,
    engines: &[Arc<dyn Engine>],
    mut guests: Guests,
) -> Result<()> {
    let Some(ask) = parent.hear()? else { return Ok(()) };
    cases.retain(|case| case.name == ask.cell.case);
    let plan = Plan::new(&cases, engines, &mut guests)?;
    let mut cells = plan.cells.iter();
    let cell = cells.find(|cell| cell.key == ask.cell).context("there is no such cell")?;
    let said = match measure(&ask, cell, guests, &mut parent) {
        Ok(density) => FromProcess::Measured(Box::new(density)),
        Err(Refused { status, reason }) => FromProcess::Refused(status, reason),
    };
    parent.say(&said)
}

fn measure(
    ask: &Ask,
    cell: &Cell,
    guests: Guests,
    parent: &mut Parent<Ask, FromProcess>,
) -> Result<Density, Refused> {
    // One more is opened, to compare its output, and kept by the lab.
    let instances = u32::try_from(ask.instances).unwrap_or(u32::MAX).saturating_add(2);
    let config = Config { instances, ..config_for(1) };
    let mut lab = Lab::new(guests, config).sharing_artifacts(&ask.artifacts)?;
    let opened = lab.open(cell)?;
    let mut said = Instant::now();
    let progress = |made| {
        if said.elapsed() >= Duration::from_millis(100) {
            said = Instant::now();
            // A parent that is gone ends this process.
            let _ = parent.say(&FromProcess::Made(made));
        }
    };
    let names = (cell.key.case.as_str(), cell.key.guest.as_str());
    live(&opened, cell.key.executor(), names, ask.instances, ask.seed, progress)
}

/// Memory that is available on this machine, bytes; 8 GiB if the kernel does not say.
#[must_use]
pub fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    proc::kib(&text, "MemAvailable").map_or(8 << 30, |kib| kib << 10)
}
