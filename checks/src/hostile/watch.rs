//! The parent of the attacking processes.

use super::attack::{Job, attacks, jobs};
use super::{Ended, Finding, Hostile, Line, Order, Verdict};
use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use touchstone::plan::Filter;
use touchstone::supervise::{Child, Heard};
use touchstone_executor::Strategy;

/// Limit between attacks: to start, to compile a harmless guest, to find a strategy.
const BETWEEN: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory, bytes.
    pub memory: u64,
    pub unstoppable: Duration,
    /// Longest compilation.
    pub compile: Duration,
    /// Limit of every attack instead of its own.
    pub attack: Option<Duration>,
}

impl Default for Limits {
    /// 3 GiB, 2 s, 20 s, and each attack's own limit.
    fn default() -> Self {
        Self {
            memory: 3 << 30,
            unstoppable: Duration::from_secs(2),
            compile: Duration::from_secs(20),
            attack: None,
        }
    }
}

/// Attacks engines and collects the results.
pub struct Watch<'a> {
    filter: Option<&'a str>,
    limits: Limits,
    found: Hostile,
}

impl<'a> Watch<'a> {
    /// A watch without results. The filter is over `<attack>/<engine>`.
    pub fn new(filter: Option<&'a str>, limits: Limits) -> Self {
        Self { filter, limits, found: Hostile::default() }
    }

    /// Attacks an engine. `command` makes the command of a process that calls
    /// [`attack_in_this_process`](super::attack_in_this_process); `progress` gets each attack.
    pub fn attack(
        &mut self,
        engine: &str,
        command: impl Fn() -> Result<Command>,
        mut progress: impl FnMut(&Job),
    ) -> Result<()> {
        let jobs = jobs(engine, &Filter::new(self.filter)?);
        let mut from = 0;
        while from < jobs.len() {
            let mut command = command()?;
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = Child::spawn(command)?;
            child.limit_memory(self.limits.memory);
            let filter = self.filter.map(str::to_owned);
            child.send(&Order { engine: engine.to_owned(), filter, from });
            match self.follow(engine, &jobs, &mut child, &mut progress)? {
                None => break,
                Some(job) if job < from => bail!("the attacks on {engine} go backwards"),
                Some(job) => from = self.after(engine, &jobs, job),
            }
        }
        Ok(())
    }

    pub fn found(mut self) -> Hostile {
        let made = |name: &str| self.found.findings.iter().any(|found| found.attack == name);
        let all: Vec<&str> = attacks().iter().map(|attack| attack.name).collect();
        self.found.attacks = all.iter().copied().filter(|name| made(name)).collect();
        let place = |name: &str| all.iter().position(|own| *own == name);
        // A stable sort keeps the order of the engines.
        self.found.findings.sort_by_key(|found| place(&found.attack));
        self.found
    }

    /// The next attack. An attack that was stopped while compiling is left out for the other
    /// strategies.
    fn after(&self, engine: &str, jobs: &[Job], job: usize) -> usize {
        let attack = jobs[job].attack.name;
        let in_child = self.found.of(attack, engine).any(|found| {
            found.verdict == Verdict::HeldInChild
                && found.how.iter().any(|how| how.contains("compil"))
        });
        let same = jobs[job..].iter().take_while(|next| next.attack.name == attack).count();
        if in_child { job + same } else { job + 1 }
    }

    /// Follows a child until it ends or must be ended. Returns the attack during which that was;
    /// `None` after all of them.
    fn follow(
        &mut self,
        engine: &str,
        jobs: &[Job],
        child: &mut Child<Order, Line>,
        progress: &mut dyn FnMut(&Job),
    ) -> Result<Option<usize>> {
        let job = |number: usize| jobs.get(number).context("an attack that is not known");
        let mut current: Option<Current> = None;
        let mut began = false;
        let (Current { job: at, strategy, .. }, verdict, how) = loop {
            let deadline = match &current {
                Some(current) => current.deadline(self.limits.compile),
                None => Instant::now() + BETWEEN,
            };
            match child.receive(deadline)? {
                Heard::Message(Line::Ready) => {
                    began = true;
                    if self.found.engines.iter().all(|known| known != engine) {
                        self.found.engines.push(engine.to_owned());
                    }
                }
                Heard::Message(Line::Begin { job: number, strategy, unstoppable }) => {
                    let limit = if unstoppable {
                        self.limits.unstoppable
                    } else {
                        self.limits.attack.unwrap_or(job(number)?.attack.limit)
                    };
                    current = Some(Current::new(number, strategy, unstoppable, limit));
                    progress(job(number)?);
                }
                Heard::Message(Line::Compiling(begins)) => {
                    if let Some(current) = &mut current {
                        current.compiling = begins.then(Instant::now);
                    }
                }
                Heard::Message(Line::End { job: number, ended }) => {
                    add(&mut self.found, job(number)?, engine, ended);
                    current = None;
                }
                Heard::Message(Line::Without { job: number }) => progress(job(number)?),
                Heard::Silent => {
                    child.kill()?;
                    let Some(current) = current else {
                        bail!("the process that attacks {engine} hangs between attacks");
                    };
                    let (verdict, how) = current.over(self.limits.compile);
                    break (current, verdict, how);
                }
                Heard::Ended(death) => {
                    let Some(current) = current else {
                        if death.is_success() && began {
                            return Ok(None);
                        }
                        bail!("the process that attacks {engine} {death} between attacks");
                    };
                    break (current, Verdict::Failed, format!("the process of the host {death}"));
                }
            }
        };
        add(&mut self.found, job(at)?, engine, Ended { strategy, verdict, how: vec![how] });
        Ok(Some(at))
    }
}

struct Current {
    job: usize,
    strategy: Strategy,
    unstoppable: bool,
    since: Instant,
    limit: Duration,
    compiling: Option<Instant>,
}

impl Current {
    fn new(job: usize, strategy: Strategy, unstoppable: bool, limit: Duration) -> Self {
        Self { job, strategy, unstoppable, since: Instant::now(), limit, compiling: None }
    }

    /// Time at which its process is ended.
    fn deadline(&self, compile: Duration) -> Instant {
        self.compiling.map_or(self.since + self.limit, |since| since + compile)
    }

    /// The result of an attack that met its deadline.
    fn over(&self, compile: Duration) -> (Verdict, String) {
        let limit = self.limit.as_secs();
        if self.compiling.is_some() {
            let limit = compile.as_secs();
            let how = format!(
                "compiling takes more than {limit} s, and nothing but the end of its process \
                 stops it"
            );
            (Verdict::HeldInChild, how)
        } else if self.unstoppable {
            (Verdict::HeldInChild, format!("no deadline: its process is ended after {limit} s"))
        } else {
            (Verdict::Failed, format!("does not end within {limit} s"))
        }
    }
}

fn add(all: &mut Hostile, job: &Job, engine: &str, ended: Ended) {
    let Ended { strategy, verdict, how } = ended;
    let attack = job.attack.name;
    let same = all.findings.iter_mut().find(|found| {
        found.attack == attack
            && found.engine == engine
            && found.verdict == verdict
            && found.how == how
    });
    match same {
        Some(found) => found.strategies.push(strategy),
        None => all.findings.push(Finding {
            attack: attack.to_owned(),
            engine: engine.to_owned(),
            strategies: vec![strategy],
            verdict,
            how,
            cause: None,
        }),
    }
}
