//! The parent's side: starting workers, keeping their records, and what becomes of the
//! cell in which one dies.

use super::message::{FromWorker, Place, Start, ToWorker};
use crate::plan::Plan;
use crate::provenance;
use crate::record::{CellRecord, Ended, Provenance, Record, RecordFile, Status};
use crate::run::Tally;
use crate::supervise::{Death, Heard, Limits, Stop};
use anyhow::{Result, bail};
use std::collections::HashSet;
use std::process::Command;
use std::time::{Duration, Instant};

/// One cell or pair.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name.
    pub id: String,
    /// A cell's record with nothing measured, to be kept with a reason if its worker
    /// dies; pairs have none.
    pub blank: Option<CellRecord>,
    /// Whether it is more than looked up: what progress counts.
    pub counted: bool,
}

/// What one worker does, unless it dies: a backend's cells and pairs.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Its name, for people.
    pub name: String,
    /// What is to be done.
    pub tasks: Vec<Task>,
}

/// A run in worker processes.
pub struct Workers<'a> {
    /// Gives the command that starts a worker: it has to come to [`Worker::join`](
    /// super::Worker::join) and do what that says.
    pub command: &'a dyn Fn() -> Result<Command>,
    /// Where records go; it stays locked for the whole run.
    pub records: &'a mut RecordFile,
    /// Stands in every record.
    pub provenance: Provenance,
    /// How long to sample.
    pub plan: Plan,
    /// How long a cell may take, by the wall clock; so may the start of a worker.
    pub limit: Duration,
    /// Ends the run.
    pub stop: Stop,
    /// Told, in a sentence, what becomes of workers that die.
    pub say: &'a mut dyn FnMut(&str),
    /// Told the name of each cell and pair that has ended, once its record is kept.
    pub ended: &'a mut dyn FnMut(&str),
}

/// What came of a run in workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Came {
    /// The cells; those in which a worker died are among the failed.
    pub cells: Tally,
    /// The pairs.
    pub pairs: Tally,
    /// Workers that did not end in order.
    pub deaths: usize,
    /// Whether the run was ended from outside.
    pub stopped: bool,
}

/// How a worker ended.
struct Life {
    /// What it ended, in whatever way.
    ended: HashSet<String>,
    /// What was in progress when it died.
    during: Option<String>,
    /// How it died; `None` when it said that all is done and left in order.
    death: Option<Death>,
}

impl Workers<'_> {
    /// Runs the units, one after the other.
    ///
    /// # Errors
    ///
    /// When no worker can be started, a record cannot be kept, or a worker says that it
    /// cannot go on.
    pub fn run(mut self, units: &[Unit]) -> Result<Came> {
        let counted = |tasks: &[Task]| tasks.iter().filter(|task| task.counted).count();
        let total = units.iter().map(|unit| counted(&unit.tasks)).sum();
        let started = Instant::now();
        let mut came = Came::default();
        let mut done = 0;
        for unit in units {
            let mut left: Vec<&Task> = unit.tasks.iter().collect();
            while !left.is_empty() && !self.stop.asked() {
                let place = Place { done, total, elapsed: started.elapsed() };
                let life = self.one_life(&left, place, &mut came)?;
                if self.stop.asked() {
                    break;
                }
                let before = left.len();
                left.retain(|task| {
                    let over = life.ended.contains(&task.id);
                    done += usize::from(over && task.counted);
                    !over
                });
                if let Some(death) = &life.death {
                    came.deaths += 1;
                    let (lost, rest) = self.lost(left, before, &life, &unit.name, death);
                    for task in &lost {
                        done += usize::from(task.counted);
                        self.fail(task, death, life.during.is_some(), &mut came)?;
                    }
                    left = rest;
                } else if !left.is_empty() {
                    bail!("a worker left {} of {} undone", left.len(), unit.name);
                }
            }
        }
        came.stopped = self.stop.asked();
        Ok(came)
    }

    /// Of what is left after a death, what is lost with it: the cell in progress; or
    /// all, if there was none and the worker has done nothing, since the next would not
    /// come further.
    fn lost<'t>(
        &mut self,
        left: Vec<&'t Task>,
        before: usize,
        life: &Life,
        unit: &str,
        death: &Death,
    ) -> (Vec<&'t Task>, Vec<&'t Task>) {
        let (lost, rest): (Vec<_>, Vec<_>) = match &life.during {
            Some(id) => left.into_iter().partition(|task| task.id == *id),
            None if left.len() == before => (left, Vec::new()),
            None => (Vec::new(), left),
        };
        let when = match (&life.during, lost.len(), rest.len()) {
            (Some(id), ..) => format!("in {id}"),
            (None, 0, 0) => "after its last cell".to_owned(),
            (None, 0, _) => "between two cells".to_owned(),
            (None, ..) => "before its first cell".to_owned(),
        };
        let then = match rest.len() {
            0 => "nothing of it is left to do".to_owned(),
            left => format!("starting it again for the {left} that are left"),
        };
        (self.say)(&format!("the worker of {unit} {death} {when}; {then}"));
        (lost, rest)
    }

    /// What a worker died in is recorded as failed; of a pair there is no such record.
    fn fail(&mut self, task: &Task, death: &Death, begun: bool, came: &mut Came) -> Result<()> {
        let Some(blank) = &task.blank else {
            came.pairs.count(Ended::Failed);
            return Ok(());
        };
        came.cells.count(Ended::Failed);
        let mut record = blank.clone();
        record.status = Status::Failed;
        record.reason = Some(if begun {
            format!("the process that ran it {death}")
        } else {
            format!("the process that was to run it {death} before its first cell")
        });
        record.provenance.recorded_at = provenance::now();
        self.records.append(&Record::Cell(Box::new(record)))
    }

    /// Starts a worker and follows it until it ends.
    fn one_life(&mut self, todo: &[&Task], place: Place, came: &mut Came) -> Result<Life> {
        let mut life = Life { ended: HashSet::new(), during: None, death: None };
        let child = self.stop.spawn::<ToWorker, FromWorker>((self.command)()?, Limits::default());
        let Some(mut child) = child? else { return Ok(life) };
        let start = Start {
            provenance: self.provenance.clone(),
            plan: self.plan.clone(),
            todo: todo.iter().map(|task| task.id.clone()).collect(),
            place,
        };
        let pairs: HashSet<&str> =
            todo.iter().filter(|task| task.blank.is_none()).map(|task| task.id.as_str()).collect();
        let mut count = |id: &str, how| {
            if pairs.contains(id) { came.pairs.count(how) } else { came.cells.count(how) }
        };
        // One that cannot be told is dead or hangs, and is found to be so below.
        let _ = child.send(&ToWorker::Start(Box::new(start)));
        let mut deadline = Instant::now() + self.limit;
        let (mut done, mut kept) = (false, false);
        let death = loop {
            let message = match child.receive(deadline)? {
                Heard::Message(message) => message,
                Heard::Ended(death) => break death,
                Heard::Silent => {
                    child.kill()?;
                    break Death::Time(self.limit);
                }
            };
            match message {
                FromWorker::Begin(id) => {
                    life.during = Some(id);
                    kept = false;
                    deadline = Instant::now() + self.limit;
                }
                FromWorker::Record(json) => {
                    self.records.append_line(&json)?;
                    kept = true;
                    // A worker that has died since has its record all the same.
                    let _ = child.send(&ToWorker::Kept);
                }
                FromWorker::End(how, id) => {
                    count(&id, how);
                    (self.ended)(&id);
                    life.ended.insert(id);
                    life.during = None;
                    deadline = Instant::now() + self.limit;
                }
                FromWorker::Broken(reason) => bail!("{reason}"),
                FromWorker::Done => done = true,
            }
        };
        if let Some(id) = life.during.take_if(|_| kept) {
            // Only the word of its end is missing.
            count(&id, Ended::Timed);
            life.ended.insert(id);
        }
        life.death = (!(done && death.is_success())).then_some(death);
        Ok(life)
    }
}
