//! The passes of a run: cells in several fresh processes, in more with too few clean samples.

use super::resume::Done as Finished;
use super::worker::most_threads;
use super::{Came, Done, FromWorker, Job, Performer, Scope, Tally, Task, ToWorker};
use crate::case::{Case, Guests, first_call};
use crate::lab::{Refused, VERY_LONG};
use crate::measure::probe::{self, Calibration};
use crate::plan::{Random, shuffled};
use crate::record::estimate::PROCESSES;
use crate::record::{Comparison, Line, Match, Metric, Observations, Prevailing};
use crate::record::{Refusal, Sink, Status, worst};
use crate::supervise::{Death, Heard, Stop};
use crate::terminal::Progress;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};

/// Processes of a value of the main page whose spread is judged; that of fewer is often too small.
const FIRST: usize = 6;
/// Half of the width that its interval should have, over the median.
const REACH: f64 = 0.05;
const SECOND: Duration = Duration::from_secs(1);
/// Time of the first probes of a run that is published: a neighbour stays for up to a second.
const FULL: Duration = Duration::from_secs(5);
/// Bytes of an artifact that only the first process makes: that takes WasmEdge's compiler minutes.
const COMPILED_ONCE: u64 = 4 << 20;

pub struct Host<'a> {
    pub cases: &'a [Case],
    pub engines: &'a [Arc<dyn MeasuredEngine>],
    pub guests: &'a dyn Fn() -> Guests,
    /// Makes the command that starts a worker, which must call [`super::serve`].
    pub worker: &'a dyn Fn() -> Result<Command>,
    pub pairs: Pairs<'a>,
    /// Longest time of a task, compilation included.
    pub limit: Duration,
    /// After this time, nothing is measured a second time. The first pass is always made.
    pub until: Option<Instant>,
    pub stop: Stop,
}

/// Makes a comparison in pairs of fresh processes, in the order of a seed, and adds the pairs, also
/// those before a failure.
pub type Pairs<'a> = &'a dyn Fn(&Match, u64, &mut Vec<Comparison>) -> Result<()>;

/// Fails: for runs that have no comparison in pairs of processes.
pub fn no_pairs(of: &Match, _: u64, _: &mut Vec<Comparison>) -> Result<()> {
    bail!("nothing here makes pairs of processes for {}", of.name())
}

pub trait Observer {
    fn begins(&mut self, name: &str);
    /// The run has this many more tasks.
    fn more(&mut self, tasks: usize);
    fn says(&mut self, sentence: &str);
}

impl Observer for Progress {
    fn begins(&mut self, name: &str) {
        self.next(name);
    }

    fn more(&mut self, tasks: usize) {
        self.add(tasks);
    }

    fn says(&mut self, sentence: &str) {
        self.print(sentence);
    }
}

/// Runs a job and records everything. Writes the header unless a run is resumed. Fails if the run
/// cannot begin. Later failures to start a worker or to keep a record are part of the outcome, and
/// finished cells count.
pub fn run(
    mut job: Job,
    host: &Host<'_>,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
) -> Result<Came> {
    let done = std::mem::take(&mut job.done);
    let mut run = Run {
        job: &job,
        host,
        sink,
        observer,
        done,
        broken: BTreeMap::new(),
        deaths: 0,
        calibration: Calibration::default(),
        state: Prevailing::default(),
        artifacts: (0..job.budget.compiling()).map(|_| Scratch::new()).collect::<Result<_, _>>()?,
    };
    if !run.done.begun {
        run.sink.append(&Line::Run(Box::new(job.header.clone())))?;
    }
    for refusal in &job.refusals {
        run.refuse(refusal.clone())?;
    }
    let ended = run.passes().and_then(|()| run.contests()).and_then(|()| match host.stop.asked() {
        true => Ok(()),
        false => run.sink.end(),
    });
    Ok(Came { broken_off: ended.err().map(|error| format!("{error:#}")), ..run.came() })
}

struct Run<'a> {
    job: &'a Job,
    host: &'a Host<'a>,
    sink: &'a mut dyn Sink,
    observer: &'a mut dyn Observer,
    done: Finished,
    /// Failed or unsupported comparisons.
    broken: BTreeMap<Task, Status>,
    deaths: usize,
    calibration: Calibration,
    /// The prevailing state for the last process.
    state: Prevailing,
    /// Private folders for artifacts: one for each of the first processes, which compile, the last
    /// one of them for the next processes, and one for each that measures for the main page, where
    /// these times stand, too. Large artifacts are the first process's.
    artifacts: Vec<Scratch>,
}

impl Run<'_> {
    fn artifacts(&self, process: u32) -> &Path {
        self.artifacts[self.artifacts.len().min(process as usize + 1) - 1].path()
    }

    /// Why a task has no result; `None` unless it was refused or failed.
    fn refused(&self, task: &Task) -> Option<Status> {
        match task {
            Task::Cell(cell) => worst(&self.done.refusals, cell).map(|refusal| refusal.status),
            Task::Compare(_) => self.broken.get(task).copied(),
        }
    }

    /// `true` if a pass after the first one must end.
    fn is_late(&self, process: u32) -> bool {
        process > 0 && self.host.until.is_some_and(|until| Instant::now() >= until)
    }

    /// All passes, until the run is stopped.
    fn passes(&mut self) -> Result<()> {
        let Job { budget, cells, compares, .. } = self.job;
        for process in 0..budget.processes {
            self.pass(process, self.job.tasks())?;
        }
        for extra in 0..budget.extra {
            let mut again = self.job.tasks();
            let wanted = budget.processes as usize;
            again.retain(|task| {
                self.refused(task).is_none() && self.done.clean_processes(task) < wanted
            });
            if again.is_empty() || self.host.stop.asked() || self.is_late(budget.processes) {
                break;
            }
            self.observer.says(&format!(
                "{} of {} have too few clean samples: again, in further processes",
                again.len(),
                cells.len() + compares.len()
            ));
            self.observer.more(again.len());
            self.pass(budget.processes + extra, again)?;
        }
        self.narrow()
    }

    /// Measures what stands on the main page in more processes. Their number follows once from the
    /// spread between the first ones alone, so that it does not depend on the time.
    fn narrow(&mut self) -> Result<()> {
        let Job { budget, main, .. } = self.job;
        let wanted = (FIRST.min(budget.most as usize), REACH, budget.most as usize);
        for further in 0..budget.most {
            let mut again = main.clone();
            again.retain(|task| {
                let seen = self.done.clean_processes(task);
                self.refused(task).is_none() && seen < self.done.wanted(task, wanted)
            });
            if again.is_empty() || self.host.stop.asked() {
                break;
            }
            self.observer.says(&format!("for the page in one process more: {}", again.len()));
            self.observer.more(again.len());
            self.artifacts.push(Scratch::new()?);
            self.pass(budget.processes + budget.extra + further, again)?;
        }
        Ok(())
    }

    /// Makes the comparisons in pairs of processes of their own.
    fn contests(&mut self) -> Result<()> {
        for of in &self.job.contests {
            let task = Task::Compare(of.clone());
            if self.host.stop.asked() || self.done.tasks.contains_key(&task) {
                continue;
            }
            self.observer.begins(&of.name());
            let mut made = Vec::new();
            let ended = (self.host.pairs)(of, self.job.budget.seed, &mut made);
            if self.host.stop.asked() {
                break;
            }
            let lines: Vec<Line> =
                made.into_iter().map(|pair| Line::Comparison(Box::new(pair))).collect();
            self.sink.append_all(&lines)?;
            lines.iter().for_each(|line| self.done.take(line));
            if let Err(error) = ended {
                self.observer.says(&format!("{} failed: {error:#}", of.name()));
                self.broken.insert(task, Status::Failed);
            }
        }
        Ok(())
    }

    /// Runs unfinished tasks, in one process per engine and in random order.
    fn pass(&mut self, process: u32, mut tasks: Vec<Task>) -> Result<()> {
        let mut random = Random::new(self.job.budget.seed.wrapping_add(u64::from(process) << 32));
        tasks.retain(|task| {
            let seen = self.done.tasks.get(task);
            !seen.is_some_and(|seen| seen.contains_key(&process)) && self.refused(task).is_none()
        });
        tasks.sort_by(|a, b| (a.module(), a.case()).cmp(&(b.module(), b.case())));
        let units = tasks.chunk_by(|a, b| a.engine() == b.engine()).map(|unit| {
            let modules = unit.chunk_by(|a, b| (a.module(), a.case()) == (b.module(), b.case()));
            modules.map(<[Task]>::to_vec).collect::<Vec<_>>()
        });
        let units = shuffled(units.collect(), &mut random);
        if self.job.in_process {
            let tasks: Vec<Task> =
                units.into_iter().flat_map(|unit| order(unit, &mut random)).collect();
            return self.here(process, &tasks);
        }
        for unit in units {
            let mut left = order(unit, &mut random);
            while !left.is_empty() && !self.host.stop.asked() && !self.is_late(process) {
                let done = self.life(process, &left)?;
                left.drain(..done);
                left.retain(|task| self.refused(task).is_none());
            }
        }
        Ok(())
    }

    /// Finds the prevailing state for the next process.
    fn look(&mut self) {
        let is_full = self.job.budget.most > 0;
        self.state = self.calibration.state(if is_full { FULL } else { probe::CALIBRATION });
    }

    fn here(&mut self, process: u32, tasks: &[Task]) -> Result<()> {
        self.look();
        probe::calibrated(self.state);
        let guests = (self.host.guests)();
        let budget = self.job.budget.clone();
        let Host { cases, engines, .. } = self.host;
        let (path, threads) = (self.artifacts(process), most_threads(tasks));
        let mut performer = Performer::new(cases, engines, guests, budget, process, path, threads)?;
        for task in tasks {
            if self.host.stop.asked() {
                break;
            }
            if self.refused(task).is_some() {
                continue;
            }
            self.observer.begins(&self.job.name(task));
            let done = performer.perform(task, &mut || {});
            self.keep(process, task, done)?;
        }
        Ok(())
    }

    /// Starts a worker and follows it until it ends. Returns how many tasks are over.
    fn life(&mut self, process: u32, tasks: &[Task]) -> Result<usize> {
        self.look();
        hand_on(self.artifacts(0), self.artifacts(process))?;
        let child = self.host.stop.spawn::<ToWorker, FromWorker>((self.host.worker)()?)?;
        let Some(mut child) = child else { return Ok(0) };
        child.send(&ToWorker {
            budget: self.job.budget.clone(),
            process,
            state: self.state,
            artifacts: self.artifacts(process).to_owned(),
            tasks: tasks.to_vec(),
        });
        let (mut over, mut began, mut budget) = (0, false, None);
        let death = loop {
            // The checked calls, and a second for the rest.
            let first_calls =
                |budget: Duration| first_call(budget) + budget.min(VERY_LONG) + SECOND;
            let limit = budget.map_or(self.host.limit, first_calls);
            match child.receive(Instant::now() + limit) {
                Ok(Heard::Message(FromWorker::Begins(place))) => {
                    if let Some(task) = tasks.get(place) {
                        self.observer.begins(&self.job.name(task));
                    }
                    (budget, began) = (None, true);
                }
                Ok(Heard::Message(FromWorker::Calls(place))) => {
                    budget = tasks.get(place).and_then(|task| self.budget(task));
                }
                Ok(Heard::Message(FromWorker::Ended(place, done))) => {
                    let task = tasks.get(place).context("a worker finished an unknown task")?;
                    self.keep(process, task, *done)?;
                    (over, budget) = (place + 1, None);
                }
                Ok(Heard::Ended(death)) => break death,
                Ok(Heard::Silent) => {
                    child.kill()?;
                    break Death::Time(limit);
                }
                Err(error) => {
                    self.observer.says(&format!("a worker cannot be understood: {error}"));
                    child.kill()?;
                    break Death::Hung;
                }
            }
        };
        drop(child);
        if self.host.stop.asked() || (over == tasks.len() && death.is_success()) {
            return Ok(over);
        }
        let Some(task) = tasks.get(over) else { return Ok(over) };
        anyhow::ensure!(began, "a worker {death} before its first task");
        self.lost(process, task, &death, budget)?;
        Ok(over + 1)
    }

    /// The time budget for a call of a task, if its case has one.
    fn budget(&self, task: &Task) -> Option<Duration> {
        let Task::Cell(key) = task else { return None };
        let cell = self.job.cells.iter().find(|cell| cell.key == *key)?;
        cell.case.budget()
    }

    /// Records that a worker died during a task or was killed.
    fn lost(
        &mut self,
        process: u32,
        task: &Task,
        death: &Death,
        budget: Option<Duration>,
    ) -> Result<()> {
        let (Death::Time(took), Some(budget)) = (death, budget) else {
            self.deaths += 1;
            let reason = format!("the process that ran it {death}");
            let refused = Refused { status: Status::Failed, reason };
            let refusal = Box::new(task.refused(refused, Scope::Cell));
            return self.keep(process, task, Done::Refused { refusal });
        };
        let (engine, strategy, guest) = task.module();
        let reason = format!(
            "the first call on {guest} took longer than {:.1} s, and the case's budget for a call \
             is {:.3} s",
            took.as_secs_f64(),
            budget.as_secs_f64()
        );
        let refused = Refused { status: Status::OverBudget, reason };
        let refusal = task.refused(refused, Scope::Case);
        // Guests of a case do the same work: one that far exceeds the budget refuses all, unless
        // another kept it.
        let is_sibling = |other: &Task| {
            (other.module().0, other.module().1, other.case()) == (engine, strategy, task.case())
        };
        let guest = refusal.guest.filter(|_| self.done.tasks.keys().any(is_sibling));
        self.refuse(Refusal { guest, ..refusal })
    }

    fn keep(&mut self, process: u32, task: &Task, done: Done) -> Result<()> {
        match (task, done) {
            (Task::Cell(cell), Done::Measured { setup, metrics }) => {
                if let Some(setup) = self.done.setups.recorded(*setup) {
                    self.sink.append(&Line::Setup(setup))?;
                }
                let probe_ns = self.state.low;
                let seen = Observations { cell: cell.clone(), process, probe_ns, metrics };
                self.observed(&Line::Observations(seen))?;
            }
            (Task::Compare(of), Done::Compared { rounds, noisy }) => {
                let comparison = Comparison { of: of.clone(), process, rounds, noisy };
                self.observed(&Line::Comparison(Box::new(comparison)))?;
            }
            (_, Done::Refused { refusal }) => {
                if refusal.status.is_failure() {
                    let (name, reason) = (self.job.name(task), &refusal.reason);
                    self.observer.says(&format!("{name} {}: {reason}", refusal.status));
                }
                match task {
                    Task::Cell(_) => self.refuse(*refusal)?,
                    // The refusals of its cells have the same reason.
                    Task::Compare(_) => {
                        self.broken.insert(task.clone(), refusal.status);
                    }
                }
            }
            (task, _) => {
                let name = self.job.name(task);
                self.observer.says(&format!("{name}: an answer to something else"));
            }
        }
        Ok(())
    }

    fn observed(&mut self, line: &Line) -> Result<()> {
        self.sink.append(line)?;
        self.done.take(line);
        Ok(())
    }

    fn refuse(&mut self, refusal: Refusal) -> Result<()> {
        if self.done.refusals.insert(refusal.clone()) {
            self.sink.append(&Line::Refusal(refusal))?;
        }
        Ok(())
    }

    fn came(&self) -> Came {
        let mut came =
            Came { deaths: self.deaths, stopped: self.host.stop.asked(), ..Came::default() };
        let contests = self.job.contests.iter().cloned().map(Task::Compare);
        for task in self.job.tasks().into_iter().chain(contests) {
            let is_cell = matches!(task, Task::Cell(_));
            let tally = if is_cell { &mut came.cells } else { &mut came.comparisons };
            self.count(&task, tally);
        }
        came
    }

    fn count(&self, task: &Task, tally: &mut Tally) {
        if let Some(refused) = self.refused(task) {
            tally.failed += usize::from(refused.is_failure());
            tally.wrong += usize::from(refused.is_wrong());
            tally.left_out += usize::from(!refused.is_failure());
        } else if self.done.tasks.contains_key(task) {
            tally.measured += 1;
            let clean =
                self.done.medians.get(&(task.clone(), Metric::Call)).map_or(0, BTreeMap::len);
            // As on the page; a run may have planned more.
            let needed = PROCESSES.min(self.job.budget.processes as usize);
            tally.marked += usize::from(clean < needed);
        }
    }
}

fn order(unit: Vec<Vec<Task>>, random: &mut Random) -> Vec<Task> {
    let unit = shuffled(unit, random);
    unit.into_iter().flat_map(|tasks| shuffled(tasks, random)).collect()
}

/// Hands the large artifacts of the first process on to another one.
fn hand_on(first: &Path, own: &Path) -> Result<()> {
    if first == own {
        return Ok(());
    }
    for file in std::fs::read_dir(first)? {
        let file = file?;
        let place = own.join(file.file_name());
        if file.metadata()?.len() > COMPILED_ONCE && !place.exists() {
            let failed = "cannot hand compiled code to another process";
            std::fs::hard_link(file.path(), place).context(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_large_artifacts_are_handed_on() {
        let [first, own] = [Scratch::new().unwrap(), Scratch::new().unwrap()];
        let large = File::create(first.path().join("large")).unwrap();
        large.set_len(COMPILED_ONCE + 1).unwrap();
        File::create(first.path().join("small")).unwrap();
        for _ in 0..2 {
            hand_on(first.path(), first.path()).unwrap();
            hand_on(first.path(), own.path()).unwrap();
            let is_there = |name| own.path().join(name).exists();
            assert_eq!(["large", "small"].map(is_there), [true, false]);
        }
    }
}
