//! The process that times all executors of an engine at a point, and its parent.

use super::Selection;
use super::writer::{Order, Writer};
use crate::case::Guests;
use crate::lab::{Lab, Opened, Refused, config_for};
use crate::measure::{Crew, Round, RoundPlan, Side, Work, in_turns, probe};
use crate::plan::{Budget, Cell, Plan, Random, shuffled};
use crate::record::{Executor, Reset, ResetKey, ResetPoint, Samples, Setup, Status};
use crate::run::setup;
use crate::solo::{self, Asked, Limits};
use crate::supervise::{Parent, Stop, this_program};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use touchstone_executor::Engine;

/// Longest time of a process, compilation included.
const LIMIT: Duration = Duration::from_secs(300);

/// The message to a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// The point.
    pub point: ResetPoint,
    /// The executors, all of one engine.
    pub executors: Vec<Executor>,
    /// Number of the process within the run, from 0.
    pub process: u32,
    /// How much is sampled.
    pub budget: Budget,
    /// What the interference probe takes on a clean processor, ns.
    pub probe_ns: u64,
    /// The private folder in which processes share artifacts.
    pub artifacts: PathBuf,
}

/// What a process measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The setups of the executors that were timed.
    pub setups: Vec<Setup>,
    /// Their times.
    pub resets: Vec<Reset>,
    /// The executors that were not, with the reasons.
    pub refused: Vec<(Executor, Status, String)>,
}

/// A message from a process: the executor that is opened next, or none when all are open; and
/// what was measured.
pub type FromProcess = solo::FromProcess<Option<Executor>, Measured>;

impl Ask {
    /// Starts a process by a command which calls [`serve`], and waits for what it measures. A
    /// process that takes more than `memory` bytes, or five minutes, is ended. One that ends
    /// early while it opens an executor refuses that one, and another process times the others.
    ///
    /// # Errors
    ///
    /// When no process can be started or watched.
    pub fn put(mut self, arguments: &[&str], memory: u64, stop: &Stop) -> Result<Asked<Measured>> {
        let limits = Limits { memory, time: LIMIT };
        let mut lost: Vec<(Executor, Status, String)> = Vec::new();
        loop {
            let mut opened: Option<Executor> = None;
            let said = |executor| opened = executor;
            let asked: Asked<Measured> =
                solo::ask(&self, this_program(arguments), limits, stop, said)?;
            let refused = match asked {
                Asked::Refused(refused) => refused,
                Asked::Answered(measured) => {
                    lost.extend(measured.refused);
                    return Ok(Asked::Answered(Measured { refused: lost, ..measured }));
                }
                Asked::Stopped => return Ok(Asked::Stopped),
            };
            let before = self.executors.len();
            if let Some(executor) = opened {
                self.executors.retain(|other| *other != executor);
                lost.push((executor, refused.status, refused.reason.clone()));
            }
            if self.executors.len() == before {
                return Ok(Asked::Refused(refused));
            }
            if self.executors.is_empty() {
                return Ok(Asked::Answered(Measured { refused: lost, ..Measured::default() }));
            }
        }
    }
}

/// Serves as a process: measures what the parent asks for.
///
/// # Errors
///
/// When the parent is gone, or a guest is missing.
pub fn serve(
    parent: Parent<Ask, FromProcess>,
    selection: &Selection,
    engines: &[Arc<dyn Engine>],
    mut guests: Guests,
) -> Result<()> {
    solo::serve(parent, |ask: &Ask, opens| {
        probe::calibrated(ask.probe_ns);
        let plan = Plan::new(&[selection.case(&ask.point)], engines, &mut guests)?;
        let is_asked = |cell: &&Cell| ask.executors.contains(&cell.key.executor());
        let cells: Vec<Cell> = plan.cells.iter().filter(is_asked).cloned().collect();
        Ok(measure(ask, selection.order(&ask.point), cells, guests, opens))
    })
}

/// An executor that is ready to be timed.
struct Ready {
    executor: Executor,
    setup: Setup,
    crew: Crew,
}

fn measure(
    ask: &Ask,
    order: Order,
    cells: Vec<Cell>,
    guests: Guests,
    opens: &mut dyn FnMut(Option<Executor>),
) -> Result<Measured, Refused> {
    let Ask { point, budget, .. } = ask;
    let failed = |error: anyhow::Error| Refused::new(Status::Failed, error);
    let mut random =
        Random::new(budget.seed ^ u64::from(ask.process).wrapping_mul(0x9e37_79b9) ^ point.pages);
    let config = config_for(point.threads);
    let mut lab = Lab::new(guests, config).sharing_artifacts(&ask.artifacts)?;
    let looks = Arc::new(AtomicBool::new(false));
    let (mut measured, mut ready) = (Measured::default(), Vec::new());
    for cell in shuffled(cells, &mut random) {
        let executor = cell.key.executor();
        opens(Some(executor.clone()));
        // Every executor has a module of its own, which its instances keep.
        lab.unload();
        let opened = lab.open(&cell).and_then(|opened| {
            let crew = start(&opened, order, point.threads, &looks).map_err(failed)?;
            Ok(Ready { executor: executor.clone(), setup: setup(&cell, &opened), crew })
        });
        match opened {
            Ok(opened) => ready.push(opened),
            Err(Refused { status, reason }) => measured.refused.push((executor, status, reason)),
        }
    }
    lab.unload();
    opens(None);
    let mut sides: Vec<&mut dyn Side> =
        ready.iter_mut().map(|ready| &mut ready.crew as &mut dyn Side).collect();
    let rounds = in_turns(&mut sides, budget, &mut random).map_err(failed)?;
    // Once more on the instances that were timed: what the last calls wrote must be gone.
    looks.store(true, Ordering::Relaxed);
    for (place, Ready { executor, setup, mut crew }) in ready.into_iter().enumerate() {
        if let Err(error) = crew.round(ONE_CALL) {
            let reason = format!("after the timed calls: {error:#}");
            let refused = error.downcast_ref::<Refused>();
            let status = refused.map_or(Status::Failed, |refused| refused.status);
            measured.refused.push((executor, status, reason));
            continue;
        }
        let call = Samples(rounds.iter().map(|round| Round::sample(&round[place])).collect());
        let key = ResetKey { point: *point, executor };
        measured.resets.push(Reset { key, process: ask.process, call });
        measured.setups.push(setup);
    }
    Ok(measured)
}

/// A round of one call.
const ONE_CALL: RoundPlan =
    RoundPlan { calls: 1, batch: 1, step: 1, time: Duration::ZERO, settles: false, probes: false };

/// The threads that make the calls of an executor.
fn start(opened: &Opened, order: Order, threads: usize, looks: &Arc<AtomicBool>) -> Result<Crew> {
    let (opened, looks) = (opened.clone(), Arc::clone(looks));
    Crew::start(
        threads,
        move || Ok(Box::new(Writer::new(&opened, order, &looks)?) as Box<dyn Work>),
    )
}
