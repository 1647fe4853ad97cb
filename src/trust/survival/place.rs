//! A folder for the runs, and starting them.

use super::Plan;
use super::job::{Job, plan, write_case};
use crate::swap::splitmix;
use crate::{provenance, record};
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

pub(super) struct Place<'a> {
    plan: &'a Plan<'a>,
    folder: tempfile::TempDir,
    provenance: record::Provenance,
    files: usize,
    random: u64,
}

impl<'a> Place<'a> {
    pub(super) fn new(plan_of: &'a Plan<'a>) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for the runs")?;
        write_case(folder.path())?;
        Ok(Self {
            plan: plan_of,
            folder,
            provenance: provenance::of_this_run(plan().sampling()),
            files: 0,
            random: plan_of.seed,
        })
    }

    pub(super) fn rounds(&self) -> usize {
        self.plan.rounds
    }

    /// A number below `end`.
    pub(super) fn random(&mut self, end: u64) -> u64 {
        splitmix(&mut self.random) % end.max(1)
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// A run on a record file of its own.
    pub(super) fn job(&mut self) -> Job {
        self.files += 1;
        let records = self.folder.path().join(format!("run-{}/records.jsonl", self.files));
        let mut provenance = self.provenance.clone();
        provenance.run = format!("run-{}", self.files);
        Job {
            folder: self.folder(),
            records,
            provenance,
            resume: false,
            workers: false,
            limit: Duration::from_secs(60),
            mishaps: Vec::new(),
            dies_as: None,
            room: None,
        }
    }

    /// Starts it.
    pub(super) fn start(&self, job: &Job) -> Result<Running> {
        let mut child = (self.plan.command)(&job.text()?)?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a run")?;
        let out = child.stdout.take().context("a run without an output")?;
        Ok(Running { child, out: BufReader::new(out), told: Told::default() })
    }

    /// Runs it to its end.
    pub(super) fn run(&self, job: &Job) -> Result<Ran> {
        self.start(job)?.ends()
    }
}

/// What a run has told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) finished: Vec<String>,
    pub(super) said: Vec<String>,
    pub(super) stopped: bool,
}

/// A run that has begun.
pub(super) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    told: Told,
}

/// A run that has ended.
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) told: Told,
    /// On the standard error.
    pub(super) complaint: String,
}

impl Running {
    /// Waits until it holds the record file and is about to begin its first cell.
    pub(super) fn has_begun(&mut self) -> Result<()> {
        loop {
            match self.line()?.as_deref() {
                Some("begun") => return Ok(()),
                Some(_) => {}
                None => {
                    let mut complaint = String::new();
                    if let Some(stderr) = &mut self.child.stderr {
                        let _ = stderr.read_to_string(&mut complaint);
                    }
                    bail!("a run has ended before it began: {}", complaint.trim_end());
                }
            }
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).context("a process number")?;
        // Nobody has waited for it yet: the number is still its own.
        kill(Pid::from_raw(pid), signal).context("cannot signal a run")
    }

    pub(super) fn ends(mut self) -> Result<Ran> {
        while self.line()?.is_some() {}
        let mut complaint = Vec::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_end(&mut complaint).context("cannot hear a run")?;
        }
        let status = self.child.wait().context("cannot wait for a run")?;
        let complaint = String::from_utf8_lossy(&complaint).trim_end().to_owned();
        Ok(Ran { status, told: std::mem::take(&mut self.told), complaint })
    }

    fn line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        self.out.read_line(&mut line).context("cannot hear a run")?;
        // A line that a kill has cut off was never said.
        let Some(line) = line.strip_suffix('\n') else { return Ok(None) };
        match line.split_once(' ') {
            Some(("finished", id)) => self.told.finished.push(id.to_owned()),
            Some(("said", sentence)) => self.told.said.push(sentence.to_owned()),
            _ => self.told.stopped |= line == "stopped",
        }
        Ok(Some(line.to_owned()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where it has ended already, this does nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
