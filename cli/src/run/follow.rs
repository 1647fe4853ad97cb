//! Follows the workers. Every engine runs in its own process, which is ended at its limits. The
//! death of a process is the answer of its current combination.

use super::Run;
use super::answer::{Answer, State};
use super::worker::{Ask, Call, FromWorker, Phase, Step};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::features::support_for;
use touchstone::plan::Filter;
use touchstone::solo::FromProcess;
use touchstone::supervise::{Child, Death, Heard, Stop, this_program};
use touchstone::terminal::Progress;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::guest::text::{abridged, harmless};
use touchstone_executor::{Execution, Strategy, Support};

/// Time beyond a call's deadline that a runtime may take to stop the guest.
const GRACE: Duration = Duration::from_secs(30);
/// Longest time limit.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Examined bytes of a worker's output.
const PRINTED: u64 = 4096;
/// Characters of it in a reason.
const QUOTED: usize = 200;

#[derive(Clone)]
pub(super) struct Row {
    pub(super) engine: Arc<dyn MeasuredEngine>,
    pub(super) strategy: Strategy,
    pub(super) support: Support,
    /// `None` until there is one.
    pub(super) answer: Option<Answer>,
}

impl Row {
    /// The requested combinations: of engines that --backend matches and --not-engine does not.
    /// Without names all that the backends support, even if refused for this module. The baseline
    /// is included only for guests that it contains. Fails if an expression is invalid, or no
    /// engine is left.
    pub(super) fn choose(run: &Run, guest: &GuestModule) -> Result<Vec<Self>> {
        let (backend, strategies) = (run.backend.as_deref(), &run.strategy);
        let all_engines = touchstone_runtimes::engines();
        let name = |engine: &Arc<dyn MeasuredEngine>| engine.id().to_owned();
        let filter = Filter::new(backend)?;
        let mut engines = filter.select("no backend of this build", all_engines.clone(), name)?;
        if let Some(text) = &run.not_engine {
            engines = Filter::new(Some(text))?.without(engines, name)?;
        }
        let all = Strategy::all();
        let ways = if strategies.is_empty() { &all[..] } else { strategies };
        let mut rows = Vec::new();
        for engine in engines {
            let has_code = || all.iter().any(|way| engine.support_for(*way, guest).is_supported());
            if backend.is_none() && engine.execution() == Execution::Native && !has_code() {
                continue;
            }
            let has =
                |way: &&Strategy| !strategies.is_empty() || engine.support(**way).is_supported();
            rows.extend(ways.iter().filter(has).map(|strategy| Self {
                engine: Arc::clone(&engine),
                strategy: *strategy,
                support: support_for(&*engine, *strategy, guest, &all_engines),
                answer: None,
            }));
        }
        Ok(rows)
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.engine.id(), self.strategy)
    }

    /// Its state; `None` without an answer.
    pub(super) fn state(&self) -> Option<State> {
        self.answer.as_ref().map(|answer| answer.state)
    }

    fn give(&mut self, state: State, reason: &str) {
        self.answer = Some(Answer::nothing(state, reason));
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Time to compile, and time to load without the guest's own.
    pub(super) compile: Duration,
    pub(super) call: Duration,
    /// Memory, bytes.
    pub(super) memory: u64,
}

impl Limits {
    /// The time limit of a phase, if the runtime can stop a call itself and if not.
    fn of(self, phase: Phase, has_deadline: bool) -> Duration {
        let call = if has_deadline { self.call.saturating_add(GRACE) } else { self.call };
        let limit = match phase {
            Phase::Compiling => self.compile,
            // Loading may run a start function.
            Phase::Loading => self.compile.saturating_add(call),
            Phase::Calling => call,
        };
        limit.min(FOREVER)
    }
}

/// The parent of all workers of a run.
#[derive(Clone)]
pub(super) struct Workers {
    pub(super) call: Call,
    pub(super) limits: Limits,
    pub(super) stop: Stop,
    /// The private folder: files of the call, compiled code, output of workers.
    pub(super) folder: PathBuf,
}

impl Workers {
    /// Answers the rows by engine. After Ctrl-C, some have no answer.
    pub(super) fn call_all(&self, rows: &mut [Row], progress: &Progress) -> Result<()> {
        for rows in rows.chunk_by_mut(|a, b| a.engine.id() == b.engine.id()) {
            for row in &mut *rows {
                if let Support::Unsupported { reason } = &row.support {
                    row.answer = Some(Answer::nothing(State::Unsupported, reason));
                    progress.next(row.name());
                }
            }
            while !self.stop.asked() && rows.iter().any(|row| row.answer.is_none()) {
                self.life(rows, progress)?;
            }
        }
        Ok(())
    }

    /// Follows one process of an engine until it ends. At least one row has an answer then.
    fn life(&self, rows: &mut [Row], progress: &Progress) -> Result<()> {
        let mut left: Vec<&mut Row> = rows.iter_mut().filter(|row| row.answer.is_none()).collect();
        let has_deadline = left[0].engine.capabilities().deadline;
        let limit = |phase| self.limits.of(phase, has_deadline);
        let (mut child, mut printed) = match self.start(&left) {
            Ok(Some(started)) => started,
            Ok(None) => return Ok(()),
            // Other engines have answers, or will.
            Err(error) => {
                left.iter_mut().for_each(|row| row.give(State::Failed, &format!("{error:#}")));
                return Ok(());
            }
        };
        // Between two rows, the process ends the last one or loads the next one.
        let (mut at, mut phase) = (0, None);
        let death = loop {
            let time = limit(phase.unwrap_or(Phase::Loading));
            let step = match child.receive(Instant::now() + time) {
                Ok(Heard::Message(FromProcess::Progress(step))) if at < left.len() => step,
                Ok(Heard::Message(FromProcess::Answer(()))) if at > 0 => break None,
                Ok(Heard::Message(FromProcess::Refused(refused))) => {
                    break Some(Err(refused.reason));
                }
                Ok(Heard::Message(_)) => break Some(Err("its process skips rows".to_owned())),
                Ok(Heard::Ended(death)) => break Some(Ok(death)),
                Ok(Heard::Silent) => {
                    child.kill()?;
                    break Some(Ok(Death::Time(time)));
                }
                Err(error) => {
                    child.kill()?;
                    break Some(Err(format!("its process cannot be understood: {error:#}")));
                }
            };
            match step {
                Step::Begins(now) => {
                    if now == Phase::Compiling {
                        progress.next(left[at].name());
                    }
                    phase = Some(now);
                }
                Step::Answers(answer) => {
                    left[at].answer = Some(*answer);
                    (at, phase) = (at + 1, None);
                }
            }
        };
        drop(child);
        if self.stop.asked() {
            return Ok(());
        }
        match (death, phase.or((at == 0).then_some(Phase::Loading))) {
            (Some(death), Some(phase)) => {
                left[at].answer = Some(lost(left[at], phase, death, &mut printed));
                leave_out(&mut left[at..], phase, progress);
            }
            (Some(Ok(death)), None) if at == left.len() => {
                let name = left[at - 1].name();
                progress.print(&format!("{name}: the process {death} after the calls"));
            }
            _ => leave_out(&mut left[at - 1..], Phase::Calling, progress),
        }
        Ok(())
    }

    /// Starts a worker; `None` after Ctrl-C. Its output goes to a file, unless the log is wanted.
    fn start(&self, left: &[&mut Row]) -> Result<Option<(Child<Ask, FromWorker>, File)>> {
        let mut command = this_program(&["run", "--worker"]);
        command.stdout(Stdio::null());
        let path = self.folder.join("printed");
        let mut printed = File::options();
        printed.read(true).write(true).create(true).truncate(true);
        let printed = printed.open(&path).with_context(|| format!("cannot make {path:?}"))?;
        if !self.call.log {
            command.stderr(printed.try_clone().context("cannot share a file")?);
        }
        let Some(mut child) = self.stop.spawn(command)? else { return Ok(None) };
        child.limit_memory(self.limits.memory);
        child.send(&Ask {
            call: self.call.clone(),
            engine: left[0].engine.id().to_owned(),
            strategies: left.iter().map(|row| row.strategy).collect(),
            artifacts: self.folder.clone(),
        });
        Ok(Some((child, printed)))
    }
}

/// The answer of a row whose process died, was ended, or failed with a reason.
fn lost(row: &Row, phase: Phase, death: Result<Death, String>, printed: &mut File) -> Answer {
    let engine = row.engine.id();
    let death = match death {
        Ok(death) => death,
        Err(reason) => return Answer::nothing(State::Failed, &reason),
    };
    let words = match phase {
        Phase::Compiling => format!("the compiler of {engine} {death}"),
        Phase::Loading => format!("the process of {engine} {death} while it loaded the module"),
        Phase::Calling => format!("the process of {engine} {death} in the call"),
    };
    let (state, words) = match (death, phase) {
        (Death::Time(_), Phase::Calling) => {
            (State::Stopped, "the call did not end, and its process was ended".to_owned())
        }
        (Death::Time(_), _) => (State::OverLimit, words + " (--compile-timeout SECONDS)"),
        (Death::Memory(_), _) => (State::OverLimit, words + " (--memory-limit MIB)"),
        _ => {
            let said = said(printed).map_or_else(String::new, |said| format!(": {said}"));
            (State::Crashed, words + &said)
        }
    };
    Answer::nothing(state, &words)
}

/// Leaves out rows whose answer would equal that of the first one: other strategies of an engine
/// run the same code, and those of an artifact class compile the same.
fn leave_out(rows: &mut [&mut Row], phase: Phase, progress: &Progress) {
    let Some((last, others)) = rows.split_first_mut() else { return };
    let class = |row: &Row| row.engine.artifact_class(row.strategy);
    let (is_all, why) = match (last.state(), phase) {
        (Some(State::Stopped), _) => (true, "was stopped already"),
        (Some(State::Crashed | State::OverLimit), Phase::Compiling) => {
            (false, "compiles the same code and did not come through")
        }
        _ => return,
    };
    for row in others.iter_mut().filter(|row| is_all || class(row) == class(last)) {
        row.give(State::NotRun, &format!("{} {why}", last.name()));
        progress.next(row.name());
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
        let limits = Limits { compile: 5 * second, call: second, memory: 1 };
        assert_eq!(limits.of(Phase::Calling, false), second);
        assert_eq!(limits.of(Phase::Calling, true), second + GRACE);
        assert_eq!(limits.of(Phase::Compiling, true), 5 * second);
        assert_eq!(limits.of(Phase::Loading, false), 6 * second);
        let unlimited = Limits { call: Duration::MAX, ..limits };
        assert_eq!(unlimited.of(Phase::Loading, true), FOREVER);
        let _ = Instant::now() + FOREVER;
    }
}
