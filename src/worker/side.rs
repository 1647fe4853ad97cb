//! The worker's side.

use super::message::{KEPT, Place, Said, Start};
use crate::plan::Plan;
use crate::record::{Ended, Provenance, Record, Sink};
use anyhow::{Context, Result, ensure};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{dup2_stdin, getppid};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Variable that is set in the environment of a worker, to the parent's process number.
pub const IS_WORKER: &str = "TOUCHSTONE_WORKER";

/// A worker's link to its parent.
#[derive(Debug)]
pub struct Worker {
    stream: BufReader<UnixStream>,
    start: Start,
    todo: HashSet<String>,
}

impl Worker {
    /// The link of this process; `None` if it is no worker. Call it once, from the first
    /// thread: from here on the process ends when the parent does.
    ///
    /// # Errors
    ///
    /// When there is no parent to talk to.
    pub fn join() -> Result<Option<Self>> {
        let Some(parent) = std::env::var_os(IS_WORKER) else { return Ok(None) };
        set_pdeathsig(Signal::SIGKILL).context("cannot ask to end with the parent")?;
        let alone = || format!("{IS_WORKER} is set, but no touchstone has started this process");
        // The parent may have ended before it was asked for.
        let parents = parent.to_str().and_then(|text| text.parse().ok());
        ensure!(parents == Some(getppid().as_raw()), alone());
        let stdin = std::io::stdin().as_fd().try_clone_to_owned().with_context(alone)?;
        // What a backend starts must not keep the link open, nor read from it.
        let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
        dup2_stdin(&nothing).context("cannot put /dev/null in the place of the input")?;
        let mut stream = BufReader::new(UnixStream::from(stdin));
        let mut line = String::new();
        stream.read_line(&mut line).with_context(alone)?;
        let start: Start = serde_json::from_str(&line).with_context(alone)?;
        let todo = start.todo.iter().cloned().collect();
        Ok(Some(Self { stream, start, todo }))
    }

    /// Whether a cell or pair of this name is to be done.
    #[must_use]
    pub fn is_to_do(&self, id: &str) -> bool {
        self.todo.contains(id)
    }

    /// What stands in every record.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        self.start.provenance.clone()
    }

    /// How long to sample.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.start.plan.clone()
    }

    /// How far the run was when this worker began.
    #[must_use]
    pub fn place(&self) -> Place {
        self.start.place
    }

    /// Says that all is done, or why it is not.
    ///
    /// # Errors
    ///
    /// When the parent is gone.
    pub fn leave<T>(mut self, came: Result<T>) -> Result<()> {
        match came {
            Ok(_) => self.say(&Said::Done),
            Err(error) => self.say(&Said::Broken(&format!("{error:#}"))),
        }
    }

    fn say(&mut self, said: &Said<'_>) -> Result<()> {
        let stream = self.stream.get_mut();
        stream.write_all(said.line().as_bytes()).context("the parent of this worker is gone")
    }
}

impl Sink for Worker {
    fn begin(&mut self, id: &str) -> Result<()> {
        self.say(&Said::Begin(id))
    }

    fn append(&mut self, record: &Record) -> Result<()> {
        let json = serde_json::to_string(record).context("a record that JSON cannot hold")?;
        self.say(&Said::Record(&json))?;
        let mut line = String::new();
        self.stream.read_line(&mut line).context("the parent of this worker is gone")?;
        ensure!(line.trim_end() == KEPT, "the parent of this worker has not kept a record");
        Ok(())
    }

    fn end(&mut self, id: &str, how: Ended) -> Result<()> {
        self.say(&Said::End(how, id))
    }
}
