//! Performs tasks in this process.

use super::task::{Done, Names, Task};
use crate::case::{Case, Guests};
use crate::lab::{Lab, Opened, Refused, config_for};
use crate::measure::{Caller, Crew, InBursts, Raw, Side, Work, measure, turns};
use crate::plan::{Budget, Cell, Compare, Random, cores};
use crate::record::{Contender, Means, Purpose, Refusal, Setup, Status};
use crate::swap;
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use touchstone_executor::{MeasuredEngine, RawCall, Support};

/// Performs tasks, one after the other.
pub struct Performer {
    cases: Vec<Arc<Case>>,
    engines: Vec<Arc<dyn MeasuredEngine>>,
    lab: Lab,
    budget: Budget,
    random: Random,
}

impl Performer {
    /// A performer of some cases and engines. Shares artifacts with other processes of the run
    /// through a private folder. Fails if the folder is not private.
    pub fn new(
        cases: &[Case],
        engines: &[Arc<dyn MeasuredEngine>],
        guests: Guests,
        budget: Budget,
        process: u32,
        artifacts: &Path,
    ) -> Result<Self> {
        let most = cases.iter().flat_map(|case| case.threads.iter().copied()).max().unwrap_or(1);
        let lab = Lab::new(guests, config_for(most.min(cores())));
        Ok(Self {
            cases: cases.iter().cloned().map(Arc::new).collect(),
            engines: engines.to_vec(),
            lab: lab.sharing_artifacts(artifacts)?,
            random: Random::new(budget.seed ^ u64::from(process).wrapping_mul(0x9e37_79b9)),
            budget,
        })
    }

    /// Compiles the guests of some tasks' cells on all processors.
    pub fn compile_ahead(&mut self, tasks: &[Task]) {
        let names = Names { cases: &self.cases, engines: &self.engines };
        let keys = tasks.iter().filter_map(|task| match task {
            Task::Cell(key) => names.cell(key).ok(),
            Task::Compare(_) => None,
        });
        self.lab.compile_ahead(&keys.collect::<Vec<Cell>>());
    }

    /// Performs a task. `before_calls` runs when everything is loaded, just before the first call
    /// of the guest.
    pub fn perform(&mut self, task: &Task, before_calls: &mut dyn FnMut()) -> Done {
        let names = Names { cases: &self.cases, engines: &self.engines };
        match task {
            Task::Cell(key) => {
                let cell = match names.cell(key) {
                    Ok(cell) => cell,
                    Err(error) => return failed(task, &error),
                };
                self.cell(task, &cell, before_calls)
            }
            Task::Compare(of) => {
                let done = names.compare(of).and_then(|compare| {
                    before_calls();
                    self.compare(&compare)
                });
                done.unwrap_or_else(|error| failed(task, &error))
            }
        }
    }

    fn cell(&mut self, task: &Task, cell: &Cell, before_calls: &mut dyn FnMut()) -> Done {
        if let Err(refused) = self.lab.load(cell) {
            return refuse(task, refused, Scope::Module);
        }
        before_calls();
        let opened = match self.lab.open(cell) {
            Ok(opened) => opened,
            Err(refused) => return refuse(task, refused, Scope::Case),
        };
        match measure(cell, &opened, &self.budget) {
            Ok(metrics) => Done::Measured { setup: Box::new(setup(cell, &opened)), metrics },
            Err(error) => failed(task, &error),
        }
    }

    fn compare(&mut self, compare: &Compare) -> Result<Done> {
        self.lab.unload();
        if compare.of.purpose == Purpose::Swap {
            let seed = self.random.next_number();
            let (mut subject, mut baseline) = swap::sides(&mut self.lab, compare, seed)?;
            return self.in_turns(&mut subject, &mut baseline);
        }
        let mut subject = self.side(compare, &compare.of.subject, &compare.subject)?;
        // Both sides are loaded separately, even if they are the same.
        self.lab.unload();
        let mut baseline = self.side(compare, &compare.of.baseline, &compare.baseline)?;
        self.in_turns(&mut subject, &mut baseline)
    }

    fn in_turns(&mut self, subject: &mut dyn Side, baseline: &mut dyn Side) -> Result<Done> {
        let (rounds, noisy) = turns(subject, baseline, &self.budget, &mut self.random)?;
        Ok(Done::Compared { rounds: rounds.into_iter().map(rounded).collect(), noisy })
    }

    /// One side of a comparison, its output checked.
    fn side(&mut self, compare: &Compare, side: &Contender, cell: &Cell) -> Result<Crew> {
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
                    config: self.lab.config(),
                    export: &cell.case.export,
                    input: &opened.input,
                };
                let raw = cell
                    .engine
                    .raw(&opened.loaded.guest, &call)?
                    .context("there is no raw reference")?;
                Some(Arc::new(parking_lot::Mutex::new(Some(raw))))
            }
            _ => None,
        };
        let means = side.means.clone();
        Crew::start(side.threads, move || -> Result<Box<dyn Work>> {
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

/// One side of a comparison, opened by the performer of this process. Fails if the task is no
/// comparison or the side is refused.
pub fn perform_side(performer: &mut Performer, task: &Task, is_subject: bool) -> Result<Crew> {
    let Task::Compare(of) = task else { anyhow::bail!("a cell has no sides") };
    let names = Names { cases: &performer.cases, engines: &performer.engines };
    let compare = names.compare(of)?;
    match is_subject {
        true => performer.side(&compare, &compare.of.subject, &compare.subject),
        false => performer.side(&compare, &compare.of.baseline, &compare.baseline),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Module,
    Case,
    Cell,
}

fn failed(task: &Task, error: &anyhow::Error) -> Done {
    match error.downcast_ref::<Refused>() {
        Some(refused) => refuse(task, refused.clone(), Scope::Case),
        None => refuse(task, Refused::new(Status::Failed, format!("{error:#}")), Scope::Cell),
    }
}

/// The refusal of a task. A failure concerns one cell; other reasons hold more widely.
fn refuse(task: &Task, refused: Refused, scope: Scope) -> Done {
    let scope = if refused.status.is_failure() { Scope::Cell } else { scope };
    let (engine, strategy, guest) = task.module();
    let (case, threads) = match task {
        Task::Cell(cell) => (cell.case.clone(), cell.threads),
        Task::Compare(of) => (of.case.clone(), of.subject.threads),
    };
    Done::Refused {
        refusal: Box::new(Refusal {
            engine: engine.to_owned(),
            strategy: Some(strategy),
            guest: Some(guest.to_owned()),
            case: (scope != Scope::Module).then_some(case),
            threads: (scope == Scope::Cell).then_some(threads),
            status: refused.status,
            reason: refused.reason,
        }),
    }
}

/// The complete setup of an opened cell.
pub(crate) fn setup(cell: &Cell, opened: &Opened) -> Setup {
    Setup {
        executor: cell.key.executor(),
        guest: cell.key.guest.clone(),
        emulated: match &opened.loaded.support {
            Support::Emulated { how } => Some((*how).to_owned()),
            _ => None,
        },
        effective: opened
            .loaded
            .effective
            .iter()
            .map(|(key, value)| (key.to_owned(), Some(value.to_owned())))
            .collect(),
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
