//! The worker's side.

use super::message::{FromWorker, Place, Start, ToWorker};
use crate::plan::Plan;
use crate::record::{Ended, Provenance, Record, Sink};
use crate::supervise::{Error, Parent};
use anyhow::{Context, Result, bail};
use std::collections::HashSet;

/// A worker's connection to the run.
#[derive(Debug)]
pub struct Worker {
    parent: Parent<ToWorker, FromWorker>,
    start: Start,
    todo: HashSet<String>,
}

impl Worker {
    /// The connection of this process; `None` if it is no worker. To be called as
    /// [`Parent::join`] says.
    ///
    /// # Errors
    ///
    /// When there is no parent to talk to.
    pub fn join() -> Result<Option<Self>> {
        let Some(mut parent) = Parent::join()? else { return Ok(None) };
        let Some(ToWorker::Start(start)) = parent.hear()? else { bail!(Error::Orphan) };
        let todo = start.todo.iter().cloned().collect();
        Ok(Some(Self { parent, start: *start, todo }))
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
        self.say(match came {
            Ok(_) => FromWorker::Done,
            Err(error) => FromWorker::Broken(format!("{error:#}")),
        })
    }

    fn say(&mut self, said: FromWorker) -> Result<()> {
        self.parent.say(&said).context("the parent of this worker is gone")
    }
}

impl Sink for Worker {
    fn begin(&mut self, id: &str) -> Result<()> {
        self.say(FromWorker::Begin(id.to_owned()))
    }

    fn append(&mut self, record: &Record) -> Result<()> {
        let json = serde_json::to_string(record).context("a record that JSON cannot hold")?;
        self.say(FromWorker::Record(json))?;
        match self.parent.hear()? {
            Some(ToWorker::Kept) => Ok(()),
            _ => bail!("the parent of this worker has not kept a record"),
        }
    }

    fn end(&mut self, id: &str, how: Ended) -> Result<()> {
        self.say(FromWorker::End(how, id.to_owned()))
    }
}
