//! Follows the workers. Every engine runs in its own process, which is ended at its limits. The
//! death of a process is the answer of its current combination.

use super::answer::{Answer, State};
use super::row::Row;
use super::worker::{Ask, Call, FromWorker, Step, Task};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::solo::FromProcess;
use touchstone::supervise::{Child, Death, Heard, Stop, this_program};
use touchstone::terminal::progress::Progress;
use touchstone_executor::text::{abridged, harmless};
use touchstone_executor::{Strategy, Support};

/// Time beyond a call's deadline that a runtime may take to stop the guest.
const GRACE: Duration = Duration::from_secs(30);
/// No limit.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Examined bytes of a worker's output.
const PRINTED: u64 = 4096;
/// Characters of it in a reason.
const QUOTED: usize = 200;

/// Limits of workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Time to compile, and time to load without the guest's own.
    pub(super) compile: Duration,
    /// Time of a call; `None` for no limit.
    pub(super) call: Option<Duration>,
    /// Memory, bytes.
    pub(super) memory: u64,
}

/// Called when rows have new answers.
type Answered<'a> = &'a mut dyn FnMut(&mut [Row]) -> Result<()>;

/// The parent of all workers of a run.
pub(super) struct Workers {
    pub(super) call: Call,
    pub(super) limits: Limits,
    pub(super) stop: Stop,
    /// The private folder: files of the call, compiled code, output of workers.
    pub(super) folder: PathBuf,
}

/// The current work of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Compiling,
    Loading,
    Calling,
}

impl Phase {
    /// The time limit, if the runtime can stop a call itself and if not.
    fn limit(self, limits: Limits, has_deadline: bool) -> Duration {
        let call = limits.call.map_or(FOREVER, |call| match has_deadline {
            true => call.saturating_add(GRACE),
            false => call,
        });
        match self {
            Self::Compiling => limits.compile,
            // Loading may run a start function.
            Self::Loading => limits.compile.saturating_add(call),
            Self::Calling => call,
        }
        .min(FOREVER)
    }
}

impl Workers {
    /// The same workers for another call.
    pub(super) fn with_call(&self, call: Call) -> Self {
        Self { call, limits: self.limits, stop: self.stop.clone(), folder: self.folder.clone() }
    }

    /// Answers the rows by engine. `show` gets each answered row with its place, in order.
    pub(super) fn call_all(
        &self,
        rows: &mut [Row],
        progress: &Progress,
        show: &mut dyn FnMut(&mut Row, usize) -> Result<()>,
    ) -> Result<()> {
        let mut next = 0;
        let mut answered = |rows: &mut [Row]| -> Result<()> {
            while let Some(row) = rows.get_mut(next).filter(|row| row.answer.is_some()) {
                show(row, next)?;
                next += 1;
            }
            Ok(())
        };
        let mut start = 0;
        while start < rows.len() && !self.stop.asked() {
            let engine = rows[start].engine.id();
            let of_engine = rows[start..].iter().take_while(|row| row.engine.id() == engine);
            let end = start + of_engine.count();
            self.engine(rows, start..end, progress, &mut answered)?;
            start = end;
        }
        // After Ctrl-C, rows behind an unanswered one may have an answer.
        for (place, row) in rows.iter_mut().enumerate().skip(next) {
            if row.answer.is_some() {
                show(row, place)?;
            }
        }
        Ok(())
    }

    fn engine(
        &self,
        rows: &mut [Row],
        places: Range<usize>,
        progress: &Progress,
        answered: Answered<'_>,
    ) -> Result<()> {
        for place in places.clone() {
            if let Support::Unsupported { reason } = &rows[place].support {
                rows[place].answer = Some(Answer::nothing(State::Unsupported, reason));
                progress.next(rows[place].name());
            }
        }
        loop {
            answered(rows)?;
            let left = places.clone().filter(|place| rows[*place].answer.is_none());
            let left: Vec<usize> = left.collect();
            if left.is_empty() || self.stop.asked() {
                return Ok(());
            }
            self.life(rows, &left, progress, answered)?;
        }
    }

    /// Follows one process until it ends. At least one row has an answer then.
    fn life(
        &self,
        rows: &mut [Row],
        left: &[usize],
        progress: &Progress,
        answered: Answered<'_>,
    ) -> Result<()> {
        let engine = Arc::clone(&rows[left[0]].engine);
        let limit = |phase: Phase| phase.limit(self.limits, engine.capabilities().deadline);
        let strategies: Vec<Strategy> = left.iter().map(|place| rows[*place].strategy).collect();
        let place_of = |strategy| {
            let place = strategies.iter().position(|known| *known == strategy);
            place.map(|index| left[index]).context("a worker named another strategy")
        };
        let task = Task::Call { engine: engine.id().to_owned(), strategies: strategies.clone() };
        let (mut child, mut printed) = match self.start(task) {
            Ok(Some(started)) => started,
            Ok(None) => return Ok(()),
            // Other engines have answers, or will.
            Err(error) => {
                for place in left {
                    let reason = format!("{error:#}");
                    rows[*place].answer = Some(Answer::nothing(State::Failed, &reason));
                }
                return Ok(());
            }
        };
        let mut at = (left[0], Phase::Loading);
        let mut deadline = Instant::now() + limit(at.1);
        let death = loop {
            let step = match child.receive(deadline) {
                Ok(Heard::Message(FromProcess::Progress(step))) => step,
                Ok(Heard::Message(FromProcess::Answer(_))) => break None,
                Ok(Heard::Message(FromProcess::Refused(_, reason))) => break Some(Err(reason)),
                Ok(Heard::Ended(death)) => break Some(Ok(death)),
                Ok(Heard::Silent) => {
                    child.kill()?;
                    break Some(Ok(Death::Time(limit(at.1))));
                }
                Err(error) => {
                    child.kill()?;
                    break Some(Err(format!("its process cannot be understood: {error:#}")));
                }
            };
            at = match step {
                Step::Compiles(strategy) => {
                    let place = place_of(strategy)?;
                    progress.next(rows[place].name());
                    (place, Phase::Compiling)
                }
                Step::Loads(strategy) => (place_of(strategy)?, Phase::Loading),
                Step::Calls(strategy) => (place_of(strategy)?, Phase::Calling),
                Step::Answers(strategy, answer) => {
                    let place = place_of(strategy)?;
                    rows[place].answer = Some(*answer);
                    answered(rows)?;
                    (place, Phase::Loading)
                }
            };
            deadline = Instant::now() + limit(at.1);
        };
        drop(child);
        if self.stop.asked() {
            return Ok(());
        }
        let (place, phase) = at;
        match death {
            Some(death) if rows[place].answer.is_none() => {
                let answer = self.lost(&rows[place], phase, &death, &mut printed);
                rows[place].answer = Some(answer);
            }
            Some(Ok(death)) if place == left[left.len() - 1] => {
                let name = rows[place].name();
                progress.print(&format!("{name}: the process {death} after the calls"));
            }
            _ => {}
        }
        leave_out(rows, place, phase, left, progress);
        Ok(())
    }

    /// Starts a worker; `None` after Ctrl-C. Its output goes to a file, unless the guest's log is
    /// wanted.
    fn start(&self, task: Task) -> Result<Option<(Child<Ask, FromWorker>, File)>> {
        let mut command = Self::command();
        let path = self.folder.join("printed");
        let mut printed = File::options();
        printed.read(true).write(true).create(true).truncate(true);
        let printed = printed.open(&path).with_context(|| format!("cannot make {path:?}"))?;
        if !self.call.log {
            command.stderr(printed.try_clone().context("cannot share a file")?);
        }
        let Some(mut child) = self.stop.spawn(command)? else { return Ok(None) };
        child.limit_memory(self.limits.memory);
        child.send(&self.ask(task));
        Ok(Some((child, printed)))
    }

    /// The command that starts a worker.
    pub(super) fn command() -> Command {
        let mut command = this_program(&["run", "--worker"]);
        command.stdout(std::process::Stdio::null());
        command
    }

    /// The question for a task.
    pub(super) fn ask(&self, task: Task) -> Ask {
        Ask { call: self.call.clone(), task, artifacts: self.folder.clone() }
    }

    /// The answer of a row whose process died or was ended.
    fn lost(
        &self,
        row: &Row,
        phase: Phase,
        death: &Result<Death, String>,
        printed: &mut File,
    ) -> Answer {
        let engine = row.engine.id();
        let (who, doing) = match phase {
            Phase::Compiling => (format!("the compiler of {engine}"), ""),
            Phase::Loading => (format!("the process of {engine}"), " while it loaded the module"),
            Phase::Calling => (format!("the process of {engine}"), " in the call"),
        };
        let death = match death {
            Ok(death) => death,
            Err(reason) => return Answer::nothing(State::Failed, reason),
        };
        match (death, phase) {
            (Death::Time(_), Phase::Calling) => {
                Answer::nothing(State::Stopped, "the call did not end, and its process was ended")
            }
            (Death::Time(_), _) => Answer::nothing(
                State::OverLimit,
                &format!("{who} {death}{doing} (--compile-timeout SECONDS)"),
            ),
            (Death::Memory(_), _) => Answer::nothing(
                State::OverLimit,
                &format!("{who} {death}{doing} (--memory-limit MIB)"),
            ),
            _ => {
                let said = said(printed).map_or_else(String::new, |said| format!(": {said}"));
                Answer::nothing(State::Crashed, &format!("{who} {death}{doing}{said}"))
            }
        }
    }
}

/// Leaves out rows whose answer would equal the last one: other strategies of an engine run the
/// same code, and those of an artifact class compile the same.
fn leave_out(rows: &mut [Row], last: usize, phase: Phase, left: &[usize], progress: &Progress) {
    let class = |row: &Row| row.engine.artifact_class(row.strategy);
    let state = rows[last].answer.as_ref().map(|answer| answer.state);
    let (like, why) = match (state, phase) {
        (Some(State::Stopped), _) => (None, "was stopped already"),
        (Some(State::Crashed | State::OverLimit), Phase::Compiling) => {
            (Some(class(&rows[last])), "compiles the same code and did not come through")
        }
        _ => return,
    };
    let reason = format!("{} {why}", rows[last].name());
    for place in left {
        let row = &mut rows[*place];
        if row.answer.is_none() && like.is_none_or(|like| class(row) == like) {
            row.answer = Some(Answer::nothing(State::NotRun, &reason));
            progress.next(row.name());
        }
    }
}

/// The first two lines of a worker's output.
fn said(printed: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    printed.seek(SeekFrom::Start(0)).ok()?;
    printed.take(PRINTED).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
    (!lines.is_empty()).then(|| harmless(&abridged(&lines.join(" "), QUOTED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_cannot_stop_a_call_is_ended_at_the_deadline() {
        let second = Duration::from_secs(1);
        let limits = Limits { compile: 5 * second, call: Some(second), memory: 1 };
        assert_eq!(Phase::Calling.limit(limits, false), second);
        assert_eq!(Phase::Calling.limit(limits, true), second + GRACE);
        assert_eq!(Phase::Compiling.limit(limits, true), 5 * second);
        assert_eq!(Phase::Loading.limit(limits, false), 6 * second);
        let unlimited = Limits { call: None, ..limits };
        assert_eq!(Phase::Loading.limit(unlimited, true), FOREVER);
        let _ = Instant::now() + FOREVER;
    }
}
