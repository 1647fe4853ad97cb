//! A folder for runs, and their processes.

use super::Plan;
use super::job::{Job, Said, write_case};
use crate::content;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use touchstone::plan::Random;
use touchstone::supervise::{Child, Death, Heard};
use touchstone_executor::adapter::Scratch;

/// Longest silence of a run.
const SILENCE: Duration = Duration::from_secs(120);

pub(super) struct Place<'a> {
    pub(super) plan: &'a Plan<'a>,
    folder: Scratch,
    files: usize,
    random: Random,
}

impl<'a> Place<'a> {
    pub(super) fn new(plan: &'a Plan<'a>) -> Result<Self> {
        let folder = Scratch::new()?;
        write_case(folder.path())?;
        Ok(Self { plan, folder, files: 0, random: Random::new(plan.seed) })
    }

    pub(super) fn random(&mut self, end: u64) -> u64 {
        self.random.next_number() % end.max(1)
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// A run with its own record file.
    pub(super) fn job(&mut self) -> Job {
        self.files += 1;
        let records = self.folder.path().join(format!("run-{}/records.jsonl", self.files));
        Job {
            folder: self.folder(),
            records,
            resume: false,
            workers: false,
            is_worker: false,
            limit: Duration::from_secs(60),
            mishaps: Vec::new(),
            room: None,
        }
    }

    pub(super) fn start(&self, job: &Job) -> Result<Running> {
        let complaint = tempfile::tempfile().context("cannot make a temporary file")?;
        let mut command = (self.plan.command)(&job.text()?)?;
        command.stdout(Stdio::null());
        command.stderr(complaint.try_clone().context("cannot open a temporary file again")?);
        let child = Child::spawn(command)?;
        Ok(Running { child, complaint, told: Told::default() })
    }

    pub(super) fn run(&self, job: &Job) -> Result<Ran> {
        self.start(job)?.ends()
    }
}

#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) finished: Vec<String>,
    pub(super) said: Vec<String>,
}

pub(super) struct Running {
    child: Child<(), Said>,
    complaint: File,
    told: Told,
}

pub(super) struct Ran {
    pub(super) death: Death,
    pub(super) told: Told,
    /// Standard error.
    pub(super) complaint: String,
}

impl Running {
    /// Waits until the run holds the record file and is about to begin its first cell.
    pub(super) fn has_begun(&mut self) -> Result<()> {
        if let Some(death) = self.listen(true)? {
            bail!("a run {death} before it began: {}", content(&mut self.complaint)?);
        }
        Ok(())
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.pid()).context("a process number")?;
        // Not yet waited for, so the process number is not reused.
        kill(Pid::from_raw(pid), signal).context("cannot signal a run")
    }

    pub(super) fn ends(mut self) -> Result<Ran> {
        let death = self.listen(false)?.context("a run did not end")?;
        let complaint = content(&mut self.complaint)?;
        Ok(Ran { death, told: self.told, complaint })
    }

    /// Listens until the run has ended, or begun if `until_begun`.
    fn listen(&mut self, until_begun: bool) -> Result<Option<Death>> {
        loop {
            match self.child.receive(Instant::now() + SILENCE)? {
                Heard::Message(Said::Begun) if until_begun => return Ok(None),
                Heard::Message(Said::Begun) => {}
                Heard::Message(Said::Finished(id)) => self.told.finished.push(id),
                Heard::Message(Said::Sentence(sentence)) => self.told.said.push(sentence),
                Heard::Ended(death) => return Ok(Some(death)),
                Heard::Silent => bail!("a run sent no message for {} s", SILENCE.as_secs()),
            }
        }
    }
}
