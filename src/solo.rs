//! A measurement in a process of its own: a question, messages on the way, and an answer or the
//! reason why there is none.

use crate::lab::Refused;
use crate::proc;
use crate::record::Status;
use crate::supervise::{Child, Death, Heard, Parent, Stop};
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::{Duration, Instant};

/// A message from the process: `P` on the way, and `A` or a refusal at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromProcess<P, A> {
    Progress(P),
    Answer(A),
    Refused(Refused),
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory, bytes.
    pub memory: u64,
    /// Time, compilation included.
    pub time: Duration,
}

/// Starts a process by a command which calls [`serve`], and waits for its answer; `None` after
/// Ctrl-C. A process that takes more than its limits is ended. `progress` gets what it says on the
/// way.
pub fn ask<Q, P, A>(
    question: &Q,
    command: Command,
    limits: Limits,
    stop: &Stop,
    mut progress: impl FnMut(P),
) -> Result<Option<A>, Refused>
where
    Q: Serialize,
    P: DeserializeOwned + Send + 'static,
    A: DeserializeOwned + Send + 'static,
{
    let Some(mut child) = stop.spawn(command)? else { return Ok(None) };
    child.limit_memory(limits.memory);
    child.send(question);
    let began = Instant::now();
    loop {
        match next(&mut child, began, limits.time) {
            Ok(FromProcess::Progress(now)) => progress(now),
            Ok(FromProcess::Answer(answer)) => return Ok(Some(answer)),
            Ok(FromProcess::Refused(refused)) => return Err(refused),
            Err(_) if stop.asked() => return Ok(None),
            Err(refused) => return Err(refused),
        }
    }
}

/// A process that goes on after its first message.
pub type Serving<Q, P> = Child<Q, FromProcess<P, ()>>;

/// Starts a process that goes on after its first message, until it is dropped.
pub fn start<Q, P>(
    question: &Q,
    command: Command,
    time: Duration,
    stop: &Stop,
) -> Result<(Serving<Q, P>, P), Refused>
where
    Q: Serialize,
    P: DeserializeOwned + Send + 'static,
{
    let mut child = stop.spawn(command)?.context("the run was stopped")?;
    child.send(question);
    match next(&mut child, Instant::now(), time)? {
        FromProcess::Progress(first) => Ok((child, first)),
        FromProcess::Answer(()) => Err(Refused::new(Status::Failed, "the process ended")),
        FromProcess::Refused(refused) => Err(refused),
    }
}

/// The next message until `time` after `began`.
fn next<Q, M>(child: &mut Child<Q, M>, began: Instant, time: Duration) -> Result<M, Refused>
where
    Q: Serialize,
    M: DeserializeOwned + Send + 'static,
{
    let (status, reason) = match child.receive(began + time)? {
        Heard::Message(message) => return Ok(message),
        Heard::Ended(Death::Memory(limit)) => {
            (Status::OverBudget, format!("they take more than {} MiB", limit >> 20))
        }
        Heard::Ended(death) => (Status::Failed, format!("the process {death}")),
        Heard::Silent => (Status::OverBudget, format!("it takes more than {} s", time.as_secs())),
    };
    Err(Refused { status, reason })
}

/// Serves as a process that was started with an option: hears the question, and says what `answer`
/// makes of it. `answer` gets a function for messages on the way. Fails if no parent asks.
pub fn serve<Q, P, A>(
    option: &str,
    answer: impl FnOnce(&Q, &mut dyn FnMut(P)) -> Result<A, Refused>,
) -> Result<()>
where
    Q: DeserializeOwned,
    P: Serialize,
    A: Serialize,
{
    let parent = Parent::<Q, FromProcess<P, A>>::join()?;
    let mut parent = parent.with_context(|| format!("{option} is for this program's own use"))?;
    let Some(question) = parent.hear()? else { return Ok(()) };
    // A parent that is gone ends this process.
    let answered = answer(&question, &mut |now| drop(parent.say(&FromProcess::Progress(now))));
    parent.say(&answered.map_or_else(FromProcess::Refused, FromProcess::Answer))
}

/// Memory that is available on this machine, bytes; 8 GiB if the kernel does not say.
pub fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    proc::kib(&text, "MemAvailable").map_or(8 << 30, |kib| kib << 10)
}
