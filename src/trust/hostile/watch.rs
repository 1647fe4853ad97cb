//! The process that watches: it starts the ones that make the attacks, and ends them
//! where it has to.

use super::attack::{Job, attacks, jobs};
use super::child::MARK;
use super::{AttackSaid, Ended, EngineSaid, Hostile, Line, Phase, Verdict};
use crate::matrix::Filter;
use crate::worker::signal_of;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often the memory of the process is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What a process that makes attacks may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Resident memory, KiB.
    pub resident_kib: u64,
    /// How long a call may run that nothing but the end of its process stops.
    pub unstoppable: Duration,
    /// How long a module may be compiled, which nothing else stops.
    pub compile: Duration,
    /// How long an attack may take, instead of its own limit.
    pub attack: Option<Duration>,
}

impl Default for Limits {
    /// 3 GiB, two seconds, twenty seconds, and each attack's own limit.
    fn default() -> Self {
        Self {
            resident_kib: 3 << 20,
            unstoppable: Duration::from_secs(2),
            compile: Duration::from_secs(20),
            attack: None,
        }
    }
}

/// What is to be started: the engine, and the number of the attack to begin with.
#[derive(Debug, Clone, Copy)]
pub struct Started<'a> {
    /// The engine.
    pub engine: &'a str,
    /// The attack to begin with.
    pub from: usize,
}

/// Watches the attacks on some engines.
pub struct Watch<'a> {
    filter: &'a Filter,
    limits: Limits,
    found: Hostile,
}

/// How a process ended that makes attacks.
enum End {
    /// It made all of them.
    Done,
    /// It ended, or was ended, in this one.
    In(usize),
}

impl<'a> Watch<'a> {
    /// Nothing was found yet.
    #[must_use]
    pub fn new(filter: &'a Filter, limits: Limits) -> Self {
        Self { filter, limits, found: Hostile::default() }
    }

    /// Attacks an engine. `command` makes the command that ends up in
    /// [`attack_in_this_process`](super::attack_in_this_process) with the same engine and
    /// filter; `progress` is told of each attack.
    ///
    /// # Errors
    ///
    /// When a process cannot be started, or makes no attack at all.
    pub fn attack(
        &mut self,
        engine: &str,
        command: impl Fn(Started<'_>) -> Result<Command>,
        mut progress: impl FnMut(&Job),
    ) -> Result<()> {
        let jobs = jobs(engine, self.filter);
        let mut from = 0;
        while from < jobs.len() {
            let mut process = Process::start(command(Started { engine, from })?)?;
            let mut tell = |number: usize| {
                if let Some(job) = jobs.get(number) {
                    progress(job);
                }
            };
            match self.follow(engine, &jobs, &mut process, &mut tell)? {
                End::Done => break,
                End::In(job) if job < from => bail!("the attacks on {engine} go backwards"),
                End::In(job) => from = self.after(engine, &jobs, job),
            }
        }
        Ok(())
    }

    /// What was found.
    #[must_use]
    pub fn found(mut self) -> Hostile {
        let made = |name: &str| self.found.findings.iter().any(|found| found.attack == name);
        let all = attacks();
        self.found.attacks = all
            .iter()
            .filter(|attack| made(attack.name))
            .map(|attack| AttackSaid {
                name: attack.name.to_owned(),
                about: attack.about.to_owned(),
                limit_s: attack.limit.as_secs(),
            })
            .collect();
        let place = |name: &str| all.iter().position(|attack| attack.name == name);
        // The order of the engines stays.
        self.found.findings.sort_by_key(|found| place(&found.attack));
        self.found
    }

    /// The attack to go on with. What takes too long to compile takes as long for the
    /// next strategy: it is not made again.
    fn after(&self, engine: &str, jobs: &[Job], job: usize) -> usize {
        let attack = jobs[job].attack.name;
        let in_child = self.found.of(attack, engine).any(|found| {
            found.verdict == Verdict::HeldInChild
                && found.how.iter().any(|how| how.contains("compil"))
        });
        let same = jobs[job..].iter().take_while(|next| next.attack.name == attack).count();
        if in_child { job + same } else { job + 1 }
    }

    /// Reads what a process says until it ends or has to be ended.
    fn follow(
        &mut self,
        engine: &str,
        jobs: &[Job],
        process: &mut Process,
        progress: &mut dyn FnMut(usize),
    ) -> Result<End> {
        let mut current: Option<Current> = None;
        let mut began = false;
        loop {
            match process.lines.recv_timeout(LOOK) {
                Ok(Line::Engine(said)) => {
                    began = true;
                    self.know(said);
                }
                Ok(Line::Begin { job, strategy, unstoppable }) => {
                    let limit = jobs.get(job).context("an attack that is not known")?.attack.limit;
                    let limit = if unstoppable {
                        self.limits.unstoppable
                    } else {
                        self.limits.attack.unwrap_or(limit)
                    };
                    current = Some(Current::new(job, strategy, unstoppable, limit));
                    progress(job);
                }
                Ok(Line::Phase(phase)) => {
                    if let Some(current) = &mut current {
                        current.compiling = (phase == Phase::Compile).then(Instant::now);
                    }
                }
                Ok(Line::End { job, ended }) => {
                    self.found.add(&jobs[job], engine, ended);
                    current = None;
                }
                Ok(Line::Without { job }) => progress(job),
                Err(RecvTimeoutError::Timeout) => {
                    let Some(current) = &current else { continue };
                    if let Some((verdict, how)) = self.over(current, process) {
                        process.kill();
                        return Ok(self.ended(engine, jobs, current, verdict, how));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = process.wait()?;
                    let Some(current) = &current else {
                        if status.success() && began {
                            return Ok(End::Done);
                        }
                        bail!("the process that attacks {engine} ended between attacks: {status}");
                    };
                    let how = death(status);
                    return Ok(self.ended(engine, jobs, current, Verdict::Failed, how));
                }
            }
        }
    }

    fn know(&mut self, said: EngineSaid) {
        if !self.found.engines.contains(&said) {
            self.found.engines.push(said);
        }
    }

    /// Why the process has to be ended now, if it has to.
    fn over(&self, current: &Current, process: &Process) -> Option<(Verdict, String)> {
        if process.resident_kib() > self.limits.resident_kib {
            let most = self.limits.resident_kib >> 10;
            return Some((Verdict::Failed, format!("takes more than {most} MiB")));
        }
        if let Some(since) = current.compiling {
            let limit = self.limits.compile;
            let words = format!(
                "compiling takes more than {} s, and nothing but the end of its process stops it",
                limit.as_secs()
            );
            return (since.elapsed() > limit).then_some((Verdict::HeldInChild, words));
        }
        if current.since.elapsed() <= current.limit {
            return None;
        }
        Some(if current.unstoppable {
            let words =
                format!("no deadline: its process is ended after {} s", current.limit.as_secs());
            (Verdict::HeldInChild, words)
        } else {
            (Verdict::Failed, format!("does not end within {} s", current.limit.as_secs()))
        })
    }

    fn ended(
        &mut self,
        engine: &str,
        jobs: &[Job],
        current: &Current,
        verdict: Verdict,
        how: String,
    ) -> End {
        let ended = Ended { strategy: current.strategy.clone(), verdict, how: vec![how] };
        self.found.add(&jobs[current.job], engine, ended);
        End::In(current.job)
    }
}

/// The attack that is being made.
struct Current {
    job: usize,
    strategy: String,
    unstoppable: bool,
    since: Instant,
    limit: Duration,
    compiling: Option<Instant>,
}

impl Current {
    fn new(job: usize, strategy: String, unstoppable: bool, limit: Duration) -> Self {
        Self { job, strategy, unstoppable, since: Instant::now(), limit, compiling: None }
    }
}

/// How a process ended that should not have.
fn death(status: ExitStatus) -> String {
    let how = signal_of(status)
        .unwrap_or_else(|| format!("exit code {}", status.code().unwrap_or_default()));
    format!("ends the process of the host: {how}")
}

/// A process that makes attacks.
struct Process {
    child: Child,
    lines: Receiver<Line>,
}

impl Process {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the process that makes the attacks")?;
        let out = child.stdout.take().context("a child without an output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || read(out, |line| sender.send(line).is_ok()));
        Ok(Self { child, lines })
    }

    fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().context("waiting for the process that makes the attacks")
    }

    /// Resident memory, KiB; 0 where the kernel does not say.
    fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let pages = text.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
        pages.unwrap_or(0) * (rustix::param::page_size() as u64 / 1024)
    }

    fn kill(&mut self) {
        // It may have ended by itself meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The lines that are meant for this process.
fn read(out: ChildStdout, mut take: impl FnMut(Line) -> bool) {
    for line in BufReader::new(out).split(b'\n').map_while(std::io::Result::ok) {
        let text = line.strip_prefix(MARK.as_bytes());
        if let Some(line) = text.and_then(|text| serde_json::from_slice(text).ok())
            && !take(line)
        {
            break;
        }
    }
}
