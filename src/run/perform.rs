//! Performs tasks in this process.

use super::worker::{Done, Scope, Task};
use crate::case::{Case, Guests};
use crate::lab::{Lab, Opened, Refused, config_for};
use crate::measure::{Caller, Crew, InBursts, Raw, measure, probe, turns};
use crate::plan::{Budget, Cell, Compare, Names, Random, cores};
use crate::record::{CellKey, Match, Means, Setup};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use touchstone_executor::Support;
use touchstone_executor::adapter::{MeasuredEngine, RawCall};

pub struct Performer {
    names: Names,
    lab: Lab,
    budget: Budget,
    random: Random,
}

impl Performer {
    /// A performer of some cases and engines, on up to `threads` threads. Shares artifacts with
    /// other processes of the run through a private folder. Fails if the folder is not private.
    pub fn new(
        cases: &[Case],
        engines: &[Arc<dyn MeasuredEngine>],
        guests: Guests,
        budget: Budget,
        process: u32,
        artifacts: &Path,
        threads: usize,
    ) -> Result<Self> {
        let most = cases.iter().flat_map(|case| case.threads.iter().copied()).max().unwrap_or(1);
        let mut lab = Lab::new(guests, config_for(most.min(cores()).max(threads)));
        lab.watch = (|| probe::probe().clean, budget.retry);
        Ok(Self {
            names: Names::new(cases, engines),
            lab: lab.sharing_artifacts(artifacts)?,
            random: Random::new(budget.seed ^ u64::from(process).wrapping_mul(0x9e37_79b9)),
            budget,
        })
    }

    /// Performs a task. `before_calls` runs when all is loaded, before the guest's first call.
    pub fn perform(&mut self, task: &Task, before_calls: &mut dyn FnMut()) -> Done {
        let done = match task {
            Task::Cell(key) => self.cell(key, before_calls),
            Task::Compare(of) => self.names.compare(of).map_err(of_case).and_then(|compare| {
                before_calls();
                self.compare(&compare).map_err(of_case)
            }),
        };
        done.unwrap_or_else(|(refused, scope)| Done::Refused {
            refusal: Box::new(task.refused(refused, scope)),
        })
    }

    fn cell(
        &mut self,
        key: &CellKey,
        before_calls: &mut dyn FnMut(),
    ) -> Result<Done, (Refused, Scope)> {
        let cell = self.names.cell(key).map_err(of_case)?;
        self.lab.load(&cell).map_err(|refused| (refused, Scope::Module))?;
        before_calls();
        let opened = self.lab.open(&cell).map_err(of_case)?;
        let metrics = measure(&cell, &opened, &self.budget).map_err(of_case)?;
        Ok(Done::Measured { setup: Box::new(setup(&cell, &opened)), metrics })
    }

    fn compare(&mut self, compare: &Compare) -> Result<Done> {
        self.lab.unload();
        let mut subject = self.side(compare, true)?;
        // Both sides are loaded separately, even if they are the same.
        self.lab.unload();
        let mut baseline = self.side(compare, false)?;
        let (rounds, noisy) = turns(&mut subject, &mut baseline, &self.budget, &mut self.random)?;
        Ok(Done::Compared { rounds: rounds.into_iter().map(rounded).collect(), noisy })
    }

    /// One side of a comparison, its output checked.
    fn side(&mut self, compare: &Compare, is_subject: bool) -> Result<Crew> {
        let (side, cell) = match is_subject {
            true => (&compare.of.subject, &compare.subject),
            false => (&compare.of.baseline, &compare.baseline),
        };
        let opened = match side.means {
            Means::Limited => self.lab.limited().open(cell)?,
            _ => self.lab.open(cell)?,
        };
        let another = match (&side.means, &compare.another) {
            (Means::After { .. }, Some(case)) => Some(opened.loaded.clone().open(case)?),
            _ => None,
        };
        let raw = match side.means {
            Means::Raw => {
                let call = RawCall {
                    strategy: cell.key.strategy,
                    config: &self.lab.config,
                    export: &cell.case.export,
                    input: &opened.input,
                };
                let raw = cell.engine.raw(&opened.loaded.guest, &call)?;
                let raw = raw.context("there is no raw reference")?;
                Some(Arc::new(parking_lot::Mutex::new(Some(raw))))
            }
            _ => None,
        };
        let means = side.means.clone();
        Crew::start_from(0, side.threads, move || {
            Ok(match &means {
                Means::Raw => {
                    let call = raw.as_ref().and_then(|raw| raw.lock().take());
                    Box::new(Raw::new(call.context("one thread has the raw interface")?, &opened)?)
                }
                Means::After { skip, burst, .. } | Means::Bursts { skip, burst } => {
                    Box::new(InBursts::new(&opened, another.clone(), *skip, *burst)?)
                }
                _ => Box::new(Caller::new(&opened)?),
            })
        })
    }
}

/// One side of a comparison, opened by the performer of this process.
pub fn perform_side(performer: &mut Performer, of: &Match, is_subject: bool) -> Result<Crew> {
    let compare = performer.names.compare(of)?;
    performer.side(&compare, is_subject)
}

fn of_case(error: impl Into<Refused>) -> (Refused, Scope) {
    (error.into(), Scope::Case)
}

pub(crate) fn setup(cell: &Cell, opened: &Opened) -> Setup {
    let effective = opened.loaded.effective.iter();
    Setup {
        executor: cell.key.executor(),
        guest: cell.key.guest.clone(),
        emulated: match &opened.loaded.support {
            Support::Emulated { how } => Some((*how).to_owned()),
            _ => None,
        },
        effective: effective.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).collect(),
    }
}

/// Rounds both times to five significant digits, more than they have.
fn rounded((subject, baseline): (f64, f64)) -> (f64, f64) {
    let round = |ns: f64| {
        let digits = 4 - ns.abs().max(1.0).log10().floor() as i32;
        let scale = 10_f64.powi(digits.clamp(0, 3));
        (ns * scale).round() / scale
    };
    (round(subject), round(baseline))
}
