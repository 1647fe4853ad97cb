//! A measurement in a process of its own: a question, messages on the way, and an answer or the
//! reason why there is none.

use crate::lab::Refused;
use crate::proc;
use crate::record::Status;
use crate::supervise::{Death, Heard, Parent, Stop};
use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::{Duration, Instant};

/// A message from the process: `P` on the way, and `A` or a refusal at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromProcess<P, A> {
    /// How far it has come.
    Progress(P),
    /// The answer.
    Answer(A),
    /// Why there is none.
    Refused(Status, String),
}

/// How asking ended.
#[derive(Debug)]
pub enum Asked<A> {
    /// With an answer.
    Answered(A),
    /// With a refusal.
    Refused(Refused),
    /// Ctrl-C came first.
    Stopped,
}

/// Limits of a process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory, bytes.
    pub memory: u64,
    /// Time, compilation included.
    pub time: Duration,
}

/// Starts a process by a command which calls [`serve`], and waits for its answer. A process that
/// takes more than its limits is ended. `progress` gets what it says on the way. Fails if a process
/// cannot be watched.
pub fn ask<Q, P, A>(
    question: &Q,
    command: Command,
    limits: Limits,
    stop: &Stop,
    mut progress: impl FnMut(P),
) -> Result<Asked<A>>
where
    Q: Serialize,
    P: DeserializeOwned + Send + 'static,
    A: DeserializeOwned + Send + 'static,
{
    let mut child = match stop.spawn::<Q, FromProcess<P, A>>(command) {
        Ok(Some(child)) => child,
        Ok(None) => return Ok(Asked::Stopped),
        Err(error) => return Ok(Asked::Refused(Refused::new(Status::Failed, error))),
    };
    child.limit_memory(limits.memory);
    child.send(question);
    let deadline = Instant::now() + limits.time;
    let (status, reason) = loop {
        match child.receive(deadline)? {
            Heard::Message(FromProcess::Progress(now)) => progress(now),
            Heard::Message(FromProcess::Answer(answer)) => return Ok(Asked::Answered(answer)),
            Heard::Message(FromProcess::Refused(status, reason)) => break (status, reason),
            Heard::Ended(_) if stop.asked() => return Ok(Asked::Stopped),
            Heard::Ended(Death::Memory(limit)) => {
                break (Status::OverBudget, format!("they take more than {} MiB", limit >> 20));
            }
            Heard::Ended(death) => break (Status::Failed, format!("the process {death}")),
            Heard::Silent => {
                let reason = format!("it takes more than {} s", limits.time.as_secs());
                break (Status::OverBudget, reason);
            }
        }
    };
    Ok(Asked::Refused(Refused { status, reason }))
}

/// Serves as a process: hears the question, and says what `answer` makes of it. `answer` gets a
/// function for messages on the way. Fails if the parent is gone, or asks for something that there
/// is not.
pub fn serve<Q, P, A>(
    mut parent: Parent<Q, FromProcess<P, A>>,
    answer: impl FnOnce(&Q, &mut dyn FnMut(P)) -> Result<Result<A, Refused>>,
) -> Result<()>
where
    Q: DeserializeOwned,
    P: Serialize,
    A: Serialize,
{
    let Some(question) = parent.hear()? else { return Ok(()) };
    // A parent that is gone ends this process.
    let answered = answer(&question, &mut |now| drop(parent.say(&FromProcess::Progress(now))))?;
    parent.say(&match answered {
        Ok(answer) => FromProcess::Answer(answer),
        Err(Refused { status, reason }) => FromProcess::Refused(status, reason),
    })
}

/// Memory that is available on this machine, bytes; 8 GiB if the kernel does not say.
pub fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    proc::kib(&text, "MemAvailable").map_or(8 << 30, |kib| kib << 10)
}
