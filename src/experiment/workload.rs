//! The part of an experiment that is its own: the questions, and how one is answered.

use crate::case::{self, Case, Guests};
use crate::experiment::Asked;
use crate::lab::{Lab, Refused, config_for};
use crate::plan::cores;
use crate::record::{Executor, Experiment, Line, Place, Point, Prevailing, WorkFacts};
use crate::supervise::Stop;
use crate::swap::{self, LoadPlan, Method, Ready};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::Strategy;
use touchstone_executor::adapter::MeasuredEngine;

pub struct Host {
    pub experiment: Experiment,
    pub cases: Vec<Case>,
    pub engines: Vec<Arc<dyn MeasuredEngine>>,
    pub guests: Guests,
    /// Asked between two measurements.
    pub stop: Stop,
}

impl Host {
    /// The built-in cases and guests, with the engines. Fails if the cases cannot be read.
    pub(super) fn new(
        experiment: Experiment,
        engines: &[Arc<dyn MeasuredEngine>],
        stop: Stop,
    ) -> Result<Self> {
        let (cases, guests) = (case::built_in()?, Guests::built());
        Ok(Self { experiment, cases, engines: engines.to_vec(), guests, stop })
    }

    /// The engine of a name. Fails if this build has none.
    pub fn engine(&self, name: &str) -> Result<&Arc<dyn MeasuredEngine>> {
        let engine = self.engines.iter().find(|engine| engine.id() == name);
        engine.ok_or_else(|| anyhow::anyhow!("this build has no engine {name}"))
    }

    /// A question for each engine that the filter selects under each of some strategies.
    pub fn executors(&self, asked: &Asked, strategies: &[Strategy]) -> Vec<Question> {
        let all = self.engines.iter();
        let all = all.flat_map(|engine| {
            let engine = engine.id().to_owned();
            strategies.iter().map(move |own| Executor { engine: engine.clone(), strategy: *own })
        });
        let own = all.filter(|executor| asked.filter.matches(&executor.to_string()));
        let question = |own: Executor| Question { place: Place::of(&own), ..Question::default() };
        own.map(question).collect()
    }

    /// The engine and the strategy of a question. Fails if it names none, or none of this build.
    pub fn executor(&self, question: &Question) -> Result<(Arc<dyn MeasuredEngine>, Strategy)> {
        let executor = question.place.executor().context("the question names no executor")?;
        Ok((Arc::clone(self.engine(&executor.engine)?), executor.strategy))
    }

    pub fn point(&self, place: Place, process: u32) -> Point {
        Point::new(&self.experiment.name, place, process)
    }
}

pub struct Ask<'a> {
    pub host: Host,
    pub question: &'a Question,
    pub terms: &'a Terms,
}

impl Ask<'_> {
    /// Prepares a swap method for the messages of the data file, on the engine of the question.
    pub fn swapping(&mut self, method: Method) -> Result<(LoadPlan, Ready), Refused> {
        let engine = self.host.engine(self.question.place.text("engine").unwrap_or_default())?;
        let plan = swap::load(&swap::file(self.terms.file.as_deref()), &self.host.cases)?;
        let kinds = swap::kinds(plan.kinds.each_ref(), &mut self.host.guests.clone())?;
        let mut lab = Lab::new(self.host.guests.clone(), config_for(cores()));
        Ok((plan.load, Ready::new(method, engine, &kinds, &mut lab)?))
    }
}

/// The points that one process measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The values that all of its points have.
    pub place: Place,
    /// Number of the process within the run, from 0; `None` if the points have numbers of rounds.
    pub process: Option<u32>,
    /// The executors that are measured in turns; empty where the place has one.
    pub executors: Vec<Executor>,
    /// A filter of executors, which the workload reads on the way.
    pub filter: Option<String>,
}

impl Default for Question {
    fn default() -> Self {
        let (place, executors) = (Place::default(), Vec::new());
        Self { place, process: Some(0), executors, filter: None }
    }
}

impl Question {
    /// The process of points that have no other number.
    pub fn number(&self) -> u32 {
        self.process.unwrap_or(0)
    }
}

/// Options that all questions of a run share.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Terms {
    /// Seed of orders, arrival times and messages.
    pub seed: u64,
    pub rounds: usize,
    /// `true` if everything is done once and small, to see that it works.
    pub small: bool,
    /// How much longer some calls of a host under load take, for tests.
    pub stall: Duration,
    /// The machine's prevailing state.
    pub state: Prevailing,
    /// The private folder in which processes share artifacts.
    pub artifacts: PathBuf,
    /// A data file in place of the project's.
    pub file: Option<PathBuf>,
}

#[derive(Default)]
pub struct Planned {
    pub works: Vec<WorkFacts>,
    pub questions: Vec<Question>,
    /// Points that are left out, as far as that is known without running anything.
    pub refused: Vec<Line>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Said {
    /// The next step, for the progress display.
    Step(String),
    /// The executor that is opened next, or none when all are open. If the process ends meanwhile,
    /// that executor is refused, and the question is asked again without it.
    Opens(Option<Executor>),
    /// Values so far, which are recorded if the process ends.
    SoFar(BTreeMap<String, u64>),
    Found(Box<Line>),
}

impl Said {
    pub fn point(point: Point) -> Self {
        Self::Found(Box::new(Line::Point(Box::new(point))))
    }
}

pub type Say<'a> = dyn FnMut(Said) + 'a;

pub trait Workload: Sync {
    /// The questions of a run. Fails if a data file is wrong or nothing is selected.
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned>;

    /// Answers a question: says each point and setup that it finds.
    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused>;

    /// Data files beside the declaration on which the questions and answers depend.
    fn files(&self, _asked: &Asked) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Longest time of a process, compilation included.
    fn limit(&self) -> Duration {
        Duration::from_secs(120)
    }

    /// `true` if questions are answered in the process of the command, because the workload has
    /// child processes of its own.
    fn runs_here(&self) -> bool {
        false
    }
}
