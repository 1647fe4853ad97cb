//! The side of the command, which asks and records, and the side of the processes that answer.

use super::workload;
use super::workload::{Ask, Host, Planned, Question, Said, Terms, Workload};
use crate::case::{self, Guests};
use crate::files::read_whole;
use crate::lab::Refused;
use crate::measure::probe::{self, Calibration};
use crate::plan::{Filter, Plan};
use crate::record::{
    Coordinate, Executor, Experiment, Header, Line, Point, RecordFile, Samples, Sampling, Sink,
    Status,
};
use crate::run::{digest_of, goes_on, going_on, header, starting_again};
use crate::solo::{self, Limits};
use crate::supervise::{Stop, this_program};
use crate::terminal::{Progress, complain};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use touchstone_executor::adapter::{MeasuredEngine, Scratch};

/// The message to a process: the experiment, the question and its terms.
type Asking = (String, Question, Terms);

/// Serves as a process: answers what the parent asks. Fails if there is no parent that asks.
pub fn serve(experiments: &[Experiment], engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    solo::serve("--worker", |(name, question, terms): &Asking, say| {
        let experiment = experiments.iter().find(|own| own.name == *name);
        let experiment = experiment.context("there is no such experiment")?.clone();
        let workload = workload(name).context("this build cannot measure it")?;
        probe::calibrated(terms.state);
        let host = Host::new(experiment, engines, Stop::default())?;
        workload.answer(Ask { host, question, terms }, say)
    })
}

#[derive(Debug, Default)]
pub struct Asked {
    pub filter: Filter,
    /// Values of dimensions in place of the declared ones.
    pub values: BTreeMap<String, Vec<Coordinate>>,
    pub processes: u32,
    pub seed: Option<u64>,
    /// Memory that a process may occupy, bytes; half of the available memory if `None`.
    pub memory: Option<u64>,
    /// The options that every process gets.
    pub terms: Terms,
}

impl Asked {
    /// The values of a dimension: those that are asked for, or the declared ones.
    pub fn values(&self, experiment: &Experiment, dimension: &str) -> Vec<Coordinate> {
        let declared = || experiment.dimension(dimension).map(|own| own.values.clone());
        self.values.get(dimension).cloned().or_else(declared).unwrap_or_default()
    }

    pub fn numbers(&self, experiment: &Experiment, dimension: &str) -> Vec<u64> {
        self.values(experiment, dimension).iter().filter_map(Coordinate::number).collect()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ran {
    /// Ctrl-C came first.
    pub stopped: bool,
    pub failed: bool,
}

pub struct Session<'a> {
    pub experiments: Vec<(&'a Experiment, &'a dyn Workload)>,
    pub engines: &'a [Arc<dyn MeasuredEngine>],
    /// Arguments that make this program serve as a process.
    pub worker: &'a [&'a str],
    pub asked: Asked,
    pub stop: &'a Stop,
}

type Questions<'a> = (&'a Experiment, &'a dyn Workload, Planned);

impl<'a> Session<'a> {
    fn host(&self, experiment: &Experiment) -> Result<Host> {
        Host::new(experiment.clone(), self.engines, self.stop.clone())
    }

    fn plan(&self) -> Result<Vec<Questions<'a>>> {
        let plan = |(experiment, workload): &(&'a Experiment, &'a dyn Workload)| {
            let planned = workload.plan(&mut self.host(experiment)?, &self.asked)?;
            Ok((*experiment, *workload, planned))
        };
        self.experiments.iter().map(plan).collect()
    }

    /// The digest of the questions, and of the options and data on which the answers depend. A run
    /// with another digest does not go on with the answers of this one.
    fn digest_of(&self, all: &[Questions<'_>]) -> Result<String> {
        let Asked { memory, terms: Terms { seed, rounds, small, stall, .. }, .. } = &self.asked;
        let mut own = Vec::new();
        for (experiment, workload, planned) in all {
            let files = workload.files(&self.asked).into_iter();
            let files = files.map(|file| anyhow::Ok(case::digest(&read_whole(&*file)?)));
            let files = files.collect::<Result<Vec<_>>>()?;
            own.push((&experiment.name, &planned.questions, &experiment.settings, files));
        }
        let guests = Guests::built().list()?;
        digest_of(&(own, guests, seed, rounds, small, stall, memory))
    }

    fn header(&mut self, sampling: &Sampling, seed: u64) -> Result<Header> {
        self.asked.terms.seed = seed;
        let all = self.plan()?;
        let works = all.iter().flat_map(|(_, _, planned)| planned.works.clone()).collect();
        let plan = Plan { works, ..Plan::default() };
        let header = header(Sampling { seed, ..sampling.clone() }, self.engines, &plan);
        Ok(Header { questions: self.digest_of(&all)?, ..header })
    }
}

/// Asks every question and replaces the records in a file when all are answered. A run of the same
/// questions that was killed goes on where it was. Fails if nothing is selected, or a record cannot
/// be written.
pub fn run(
    mut session: Session<'_>,
    sampling: Sampling,
    path: &Path,
    begin: impl FnOnce() -> Result<()>,
) -> Result<(Ran, RecordFile)> {
    let given = session.asked.seed;
    // An invalid option is reported before a file is touched.
    let ours = session.header(&sampling, sampling.seed)?;
    let (mut file, before) = RecordFile::go_on(path)?;
    let before = before.filter(|(old, _)| given.is_none_or(|seed| seed == old.sampling.seed));
    let known = match before {
        Some((old, lines)) if goes_on(&old, &session.header(&sampling, old.sampling.seed)?) => {
            let points = lines.iter().filter_map(point_of).count();
            complain(&going_on(&old.run, &format!("{points} points were measured")));
            lines
        }
        _ => {
            session.asked.terms.seed = sampling.seed;
            if file.clear()? {
                complain(&starting_again(file.path()));
            }
            file.append(&Line::Run(Box::new(ours)))?;
            Vec::new()
        }
    };
    begin()?;
    Ok((go_on(&session, &mut file, &known)?, file))
}

/// Asks what the `known` lines of a file do not answer, and adds each answer in one step.
fn go_on(session: &Session<'_>, file: &mut RecordFile, known: &[Line]) -> Result<Ran> {
    let all = session.plan()?;
    let questions = || {
        all.iter().flat_map(|(experiment, workload, planned)| {
            planned.questions.iter().map(|question| (*experiment, *workload, question))
        })
    };
    let refused = all.iter().flat_map(|(_, _, planned)| planned.refused.clone());
    let (before, refused): (Vec<Line>, Vec<Line>) = refused.partition(|line| known.contains(line));
    file.append_all(&refused)?;
    let reasons = before.iter().chain(&refused).filter_map(point_of);
    let skipped = reasons.filter_map(|point| point.refused);
    let skipped = skipped.filter(|refused| refused.status == Status::Skipped);
    for reason in skipped.map(|refused| refused.reason).collect::<BTreeSet<_>>() {
        complain(&format!("skipped: {reason}"));
    }
    let mut points: Vec<Point> = known.iter().filter_map(point_of).collect();
    if let (true, Some(last)) = (file.was_torn, points.last().cloned()) {
        // A kill may have cut off the end of the last answer: it is asked again, and the new points
        // replace those in the file.
        for (experiment, _, question) in questions() {
            if answers_it(&last, experiment, question) {
                points.retain(|point| !answers_it(point, experiment, question));
            }
        }
    }
    let setup =
        |line: &_| if let Line::Setup(own) = line { Some(own.executor.clone()) } else { None };
    let mut setups: BTreeSet<Executor> = known.iter().filter_map(setup).collect();
    let artifacts = Scratch::new()?;
    let (state, folder) =
        (Calibration::default().state(probe::CALIBRATION), artifacts.path().to_owned());
    let terms = Terms { state, artifacts: folder, ..session.asked.terms.clone() };
    let progress = Progress::new(questions().count(), true);
    let failed = points.iter().any(|point| {
        let mut own = all.iter().filter(|(experiment, ..)| experiment.name == point.experiment);
        own.any(|(experiment, ..)| is_failure(experiment, point))
    });
    let mut ran = Ran { failed, stopped: false };
    for (experiment, workload, question) in questions() {
        if session.stop.asked() {
            return Ok(Ran { stopped: true, ..ran });
        }
        let is_known = is_answered(&points, experiment, question);
        if is_known || is_beyond(experiment, question, &points) {
            progress.next(String::new());
            continue;
        }
        progress.next(format!("{}: {}", experiment.name, question.place));
        let mut own = Answer {
            progress: &progress,
            experiment,
            question,
            setups: &mut setups,
            lines: Vec::new(),
            so_far: BTreeMap::new(),
            opens: None,
        };
        if !ask(session, workload, &terms, &mut own) {
            return Ok(Ran { stopped: true, ..ran });
        }
        let lines = own.lines;
        let new: Vec<Point> = lines.iter().filter_map(point_of).collect();
        ran.failed |= new.iter().any(|point| is_failure(experiment, point));
        points.extend(new);
        file.append_all(&lines)?;
    }
    Ok(ran)
}

fn point_of(line: &Line) -> Option<Point> {
    if let Line::Point(point) = line { Some((**point).clone()) } else { None }
}

fn answers_it(point: &Point, experiment: &Experiment, question: &Question) -> bool {
    point.experiment == experiment.name
        && question.process.is_none_or(|process| process == point.process)
        && point.place.has(&question.place)
}

/// `true` if there is a whole answer: where executors are measured in turns, a point of each.
fn is_answered(points: &[Point], experiment: &Experiment, question: &Question) -> bool {
    let mut own = points.iter().filter(|point| answers_it(point, experiment, question));
    if question.executors.is_empty() {
        return own.next().is_some();
    }
    let executors: BTreeSet<Executor> = own.filter_map(|point| point.place.executor()).collect();
    question.executors.iter().all(|executor| executors.contains(executor))
}

/// The metrics of a point that should be 0 and are not, each with its sum.
fn wrong(experiment: &Experiment, point: &Point) -> Vec<(String, f64)> {
    let should_be_0 = |name: &str| experiment.metric(name).is_some_and(|own| own.zero);
    let own = point.values.iter().filter(|(name, _)| should_be_0(name));
    let sum = |own: &Samples| own.0.iter().map(|sample| sample.total).sum::<f64>();
    let own = own.map(|(name, samples)| (name.clone(), sum(samples)));
    own.filter(|(_, sum)| *sum > 0.0).collect()
}

fn is_failure(experiment: &Experiment, point: &Point) -> bool {
    point.refused.as_ref().is_some_and(|refused| refused.status.is_failure())
        || !wrong(experiment, point).is_empty()
}

/// The lines of an answer, as they come.
struct Answer<'a> {
    progress: &'a Progress,
    experiment: &'a Experiment,
    question: &'a Question,
    setups: &'a mut BTreeSet<Executor>,
    lines: Vec<Line>,
    so_far: BTreeMap<String, u64>,
    opens: Option<Executor>,
}

impl Answer<'_> {
    fn hear(&mut self, said: Said) {
        match said {
            Said::Step(step) => {
                self.progress.add(1);
                self.progress.next(step);
            }
            Said::Opens(executor) => self.opens = executor,
            Said::SoFar(values) => self.so_far = values,
            Said::Found(line) => self.found(*line),
        }
    }

    fn found(&mut self, line: Line) {
        match &line {
            Line::Setup(setup) if !self.setups.insert(setup.executor.clone()) => return,
            Line::Point(point) => {
                if let Some(refused) = &point.refused
                    && !matches!(refused.status, Status::Unsupported | Status::NotAsked)
                {
                    self.progress.print(&format!("{}: {}", point.place, refused.reason));
                }
                for (name, sum) in wrong(self.experiment, point) {
                    self.progress.print(&format!("{}: {sum} {name}", point.place));
                }
            }
            _ => {}
        }
        self.lines.push(line);
    }

    fn refused(&mut self, executor: Option<&Executor>, refused: Refused) {
        let question = self.question;
        let place = executor.map_or_else(|| question.place.clone(), |own| question.place.at(own));
        let mut point = Point::new(&self.experiment.name, place, question.number());
        for (name, value) in std::mem::take(&mut self.so_far) {
            point = point.value(&name, value as f64);
        }
        self.found(Line::Point(Box::new(point.refused(refused.status, refused.reason))));
    }
}

/// `true` if a smaller number was refused, and larger ones are left out.
fn is_beyond(experiment: &Experiment, question: &Question, points: &[Point]) -> bool {
    experiment.dimensions.iter().filter(|dimension| dimension.ends).any(|dimension| {
        let name = [&dimension.name];
        let number = question.place.number(&dimension.name);
        points.iter().any(|point| {
            point.refused.is_some()
                && point.experiment == experiment.name
                && point.place.without(name) == question.place.without(name)
                && point.place.number(&dimension.name) < number
        })
    })
}

/// Asks a process, or answers in this one; `false` if the run was stopped. A process that ends
/// while it opens an executor refuses that one, and another process measures the others.
fn ask(
    session: &Session<'_>,
    workload: &dyn Workload,
    terms: &Terms,
    own: &mut Answer<'_>,
) -> bool {
    let memory = session.asked.memory.unwrap_or_else(|| solo::available_memory() / 2);
    let limits = Limits { memory, time: workload.limit() };
    let (mut left, mut refusals) = (own.question.clone(), Vec::new());
    loop {
        own.opens = None;
        let answered = match workload.runs_here() {
            true => {
                let host = session.host(own.experiment).map_err(Refused::from);
                let answered = host.and_then(|host| {
                    let ask = Ask { host, question: &left, terms };
                    workload.answer(ask, &mut |said| own.hear(said))
                });
                if session.stop.asked() { Ok(None) } else { answered.map(Some) }
            }
            false => {
                let ask: Asking = (own.experiment.name.clone(), left.clone(), terms.clone());
                let command = this_program(session.worker);
                solo::ask(&ask, command, limits, session.stop, |said| own.hear(said))
            }
        };
        let refused = match answered {
            Ok(Some(())) => break,
            Ok(None) => return false,
            Err(refused) => refused,
        };
        let Some(opened) = own.opens.take().filter(|opened| left.executors.contains(opened)) else {
            if left.executors.is_empty() {
                refusals.push((None, refused.clone()));
            }
            let all = left.executors.into_iter();
            refusals.extend(all.map(|executor| (Some(executor), refused.clone())));
            break;
        };
        left.executors.retain(|executor| *executor != opened);
        refusals.push((Some(opened), refused));
        // What the process found so far, the next one finds again.
        own.lines.clear();
        if left.executors.is_empty() {
            break;
        }
    }
    for (executor, refused) in refusals {
        own.refused(executor.as_ref(), refused);
    }
    true
}
