//! The parent's side: starting workers, keeping their records, and what becomes of the
//! cell in which one dies.

use super::message::{KEPT, Place, Said, Start};
use super::{IS_WORKER, Stop};
use crate::plan::Plan;
use crate::provenance;
use crate::record::{CellRecord, Ended, Provenance, Record, RecordFile, Status};
use crate::run::Tally;
use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a worker that has closed its end may take to end: one that panics closes it
/// first, and how it ended is to be told.
const LAST_WORDS: Duration = Duration::from_secs(5);

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
    /// How it died, in words; `None` when it said that all is done and left in order.
    death: Option<String>,
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
        death: &str,
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
    fn fail(&mut self, task: &Task, death: &str, begun: bool, came: &mut Came) -> Result<()> {
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
        let (ours, theirs) = UnixStream::pair().context("cannot make a socket for a worker")?;
        let mut command = (self.command)()?;
        command
            .env(IS_WORKER, std::process::id().to_string())
            // Ctrl-C is for the parent, which ends the worker.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)));
        let mut life = Life { ended: HashSet::new(), during: None, death: None };
        let Some(child) = self.stop.spawn(&mut command)? else { return Ok(life) };
        // It holds the worker's end of the socket, whose closing is to be seen.
        drop(command);
        let mut child = Waiting { child, stop: &self.stop };
        let start = Start {
            provenance: self.provenance.clone(),
            plan: self.plan.clone(),
            todo: todo.iter().map(|task| task.id.clone()).collect(),
            place,
        };
        let mut start = serde_json::to_vec(&start).context("a start that JSON cannot hold")?;
        start.push(b'\n');
        ours.set_write_timeout(Some(self.limit)).context("a socket without a timeout")?;
        let pairs: HashSet<&str> =
            todo.iter().filter(|task| task.blank.is_none()).map(|task| task.id.as_str()).collect();
        let mut ours = Link { stream: BufReader::new(ours), limit: self.limit };
        // Who cannot be told is dead or hangs, and is found to be so below.
        let _ = ours.stream.get_mut().write_all(&start);
        let mut deadline = Instant::now() + self.limit;
        let (mut done, mut kept) = (false, false);
        let late = loop {
            let line = match ours.line(deadline)? {
                Heard::Line(line) => line,
                Heard::End => break false,
                Heard::Nothing => break true,
            };
            match Said::parse(&line) {
                Some(Said::Begin(id)) => {
                    life.during = Some(id.to_owned());
                    kept = false;
                    deadline = Instant::now() + self.limit;
                }
                Some(Said::Record(json)) => {
                    self.records.append_line(json)?;
                    kept = true;
                    // A worker that has died since has its record all the same.
                    let _ = writeln!(ours.stream.get_mut(), "{KEPT}");
                }
                Some(Said::End(how, id)) => {
                    let tally = if pairs.contains(id) { &mut came.pairs } else { &mut came.cells };
                    tally.count(how);
                    (self.ended)(id);
                    life.ended.insert(id.to_owned());
                    life.during = None;
                    deadline = Instant::now() + self.limit;
                }
                Some(Said::Broken(reason)) => bail!("{reason}"),
                Some(Said::Done) => done = true,
                None => bail!("a worker said '{}', which means nothing", line.trim_end()),
            }
        };
        let status = child.end(late)?;
        if let Some(id) = life.during.take_if(|_| kept) {
            // Only the word of its end is missing.
            let tally = if pairs.contains(&*id) { &mut came.pairs } else { &mut came.cells };
            tally.count(Ended::Timed);
            life.ended.insert(id);
        }
        life.death = match (late, done && status.success()) {
            (true, _) => {
                Some(format!("took longer than {} s and was killed", self.limit.as_secs_f64()))
            }
            (false, true) => None,
            (false, false) => Some(death(status)),
        };
        Ok(life)
    }
}

/// A death in words.
fn death(status: ExitStatus) -> String {
    match signal_of(status) {
        Some(signal) => format!("was killed by {signal}"),
        None => format!("ended with exit code {}", status.code().unwrap_or_default()),
    }
}

/// The name of the signal that ended a process, if one did.
pub(crate) fn signal_of(status: ExitStatus) -> Option<String> {
    let number = status.signal()?;
    let name = Signal::try_from(number).map(|signal| signal.to_string());
    Some(name.unwrap_or_else(|_| format!("signal {number}")))
}

/// A worker that is not to outlive its parent's interest in it.
struct Waiting<'a> {
    child: Child,
    stop: &'a Stop,
}

impl Waiting<'_> {
    /// Waits for the worker. One that hangs is killed at once, and one that has closed its
    /// end and lives on when [`LAST_WORDS`] are over.
    fn end(&mut self, hangs: bool) -> Result<ExitStatus> {
        self.stop.forget();
        let closed = Instant::now();
        while !hangs && closed.elapsed() < LAST_WORDS {
            if let Some(status) = self.child.try_wait().context("cannot wait for a worker")? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // To one that is ending already this changes nothing.
        let _ = self.child.kill();
        self.child.wait().context("cannot wait for a worker")
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Where a worker cannot be waited for, it ends with this process.
        let _ = self.end(true);
    }
}

/// What comes over the socket.
enum Heard {
    Line(String),
    /// The worker has closed it, or died.
    End,
    /// Nothing until the deadline.
    Nothing,
}

struct Link {
    stream: BufReader<UnixStream>,
    limit: Duration,
}

impl Link {
    fn line(&mut self, deadline: Instant) -> Result<Heard> {
        let left = deadline.saturating_duration_since(Instant::now()).min(self.limit);
        if left.is_zero() {
            return Ok(Heard::Nothing);
        }
        self.stream.get_ref().set_read_timeout(Some(left)).context("a socket without a timeout")?;
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            // A line that a death has cut off was never said.
            Ok(_) if line.last() != Some(&b'\n') => Ok(Heard::End),
            Ok(_) => Ok(String::from_utf8(line).map_or(Heard::End, Heard::Line)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(Heard::Nothing),
                // The worker's end was closed with something unread in it.
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ok(Heard::End),
                _ => Err(error).context("cannot hear a worker"),
            },
        }
    }
}
