//! Scripts on an engine in a process of its own: a script that ends the process, or never
//! ends, is a failure with a name, and the others go on.

use super::drive::{Verdict, drive};
use super::script;
use super::suite::Source;
use super::{Failure, OnEngine};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use touchstone_executor::Engine;

/// Processes that one script may end before the rest of it is left out.
const DEATHS: usize = 8;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A step, before its process is ended.
    pub step: Duration,
    /// All scripts on one engine, before the rest are left out.
    pub engine: Duration,
}

impl Default for Limits {
    /// Half a minute for a step, a minute and a half for an engine.
    fn default() -> Self {
        Self { step: Duration::from_secs(30), engine: Duration::from_secs(90) }
    }
}

/// A line of the process that takes the steps.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// A script begins: its index, and how many assertions it has.
    Script(usize, u64),
    /// A step begins: its index, its line, whether it is an assertion.
    Step(usize, usize, bool),
    /// It came out so.
    Ended(Verdict),
    /// The script ended, with so many steps taken.
    Done(u64),
}

/// What a process that takes steps is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The script to begin with.
    pub first: usize,
    /// Steps of that one not to take.
    pub skip: BTreeSet<usize>,
}

/// Takes all steps of the scripts from the first one on, in this process; lines on `out`.
///
/// # Errors
///
/// When a script cannot be read, or nobody reads the lines.
pub fn take_steps(
    engine: &dyn Engine,
    sources: &[Source],
    order: &Order,
    out: &mut impl Write,
) -> Result<()> {
    let nothing = BTreeSet::new();
    for (index, source) in sources.iter().enumerate().skip(order.first) {
        let script = script::read(source)?;
        let assertions = script.steps.iter().filter(|step| step.assertion).count() as u64;
        say(out, &Line::Script(index, assertions))?;
        let skip = if index == order.first { &order.skip } else { &nothing };
        let mut taken = 0;
        let out = std::cell::RefCell::new(&mut *out);
        let broken = std::cell::Cell::new(None);
        let tell = |line: &Line| {
            if let Err(error) = say(&mut **out.borrow_mut(), line) {
                broken.set(Some(error));
            }
        };
        drive(
            engine,
            &script,
            skip,
            |step| {
                let what = &script.steps[step];
                tell(&Line::Step(step, what.line, what.assertion));
            },
            |_, verdict| {
                taken += 1;
                tell(&Line::Ended(verdict));
            },
        );
        tell(&Line::Done(taken));
        if let Some(error) = broken.take() {
            return Err(error);
        }
    }
    Ok(())
}

fn say(out: &mut impl Write, line: &Line) -> Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    out.write_all(&text).and_then(|()| out.flush()).context("cannot write what came out")
}

/// Drives all scripts on one engine. `caller` makes the command that ends up in
/// [`take_steps`] with the same engine and scripts.
///
/// # Errors
///
/// When the process cannot be started or does not do what it was told.
pub fn run(
    engine: &dyn Engine,
    sources: &[Source],
    limits: Limits,
    caller: impl Fn(&Order) -> Result<Command>,
    mut progress: impl FnMut(&Source),
) -> Result<OnEngine> {
    let mut found = OnEngine {
        engine: engine.id().to_owned(),
        version: engine.version().to_owned(),
        ..OnEngine::default()
    };
    let until = Instant::now() + limits.engine;
    let mut order = Order { first: 0, skip: BTreeSet::new() };
    // What ended a process on the way through the script that `order` begins with.
    let mut deaths = Vec::new();
    while order.first < sources.len() {
        let mut process = Process::start(&mut caller(&order)?)?;
        let mut pending: Option<Pending> = None;
        let death = loop {
            match process.next(limits.step)? {
                Next::Line(Line::Script(index, assertions)) => {
                    progress(&sources[index]);
                    pending = Some(Pending { index, assertions, steps: Vec::new(), at: None });
                }
                Next::Line(Line::Step(step, line, assertion)) => {
                    let pending = pending.as_mut().context("a step outside of any script")?;
                    pending.at = Some((step, line, assertion));
                }
                Next::Line(Line::Ended(verdict)) => {
                    let pending = pending.as_mut().context("the end of no step")?;
                    let (_, line, assertion) = pending.at.take().context("the end of no step")?;
                    pending.steps.push((line, assertion, verdict));
                }
                Next::Line(Line::Done(steps)) => {
                    let script = pending.take().context("the end of no script")?;
                    if script.steps.len() as u64 != steps {
                        bail!("{} steps came back of {steps}", script.steps.len());
                    }
                    order = Order { first: script.index + 1, skip: BTreeSet::new() };
                    script.count(&mut found, &sources[order.first - 1], &mut deaths);
                    if Instant::now() >= until && order.first < sources.len() {
                        process.end();
                        found.limit = Some(format!(
                            "{} of {} scripts, up to {}: {} seconds were used up",
                            order.first,
                            sources.len(),
                            sources[order.first - 1].id(),
                            limits.engine.as_secs(),
                        ));
                        return Ok(found);
                    }
                }
                Next::Late => break format!("did not end within {} s", limits.step.as_secs()),
                Next::Ended(None) if order.first == sources.len() => break String::new(),
                Next::Ended(why) => {
                    break why.unwrap_or_else(|| "ended the process without a word".to_owned());
                }
            }
        };
        process.end();
        let Some(script) = pending else {
            if order.first < sources.len() {
                bail!("the process that takes the steps {death}, outside of any script");
            }
            break;
        };
        let Some((step, line, assertion)) = script.at else {
            bail!("the process that takes the steps {death}, between two steps");
        };
        if order.first != script.index {
            order = Order { first: script.index, skip: BTreeSet::new() };
        }
        order.skip.insert(step);
        deaths.push((line, assertion, death));
        if deaths.len() >= DEATHS {
            order = Order { first: script.index + 1, skip: BTreeSet::new() };
            script.count(&mut found, &sources[order.first - 1], &mut deaths);
        }
    }
    Ok(found)
}

/// A script on its way.
struct Pending {
    index: usize,
    assertions: u64,
    /// Line, whether it is an assertion, and what came of it.
    steps: Vec<(usize, bool, Verdict)>,
    at: Option<(usize, usize, bool)>,
}

impl Pending {
    fn count(self, found: &mut OnEngine, source: &Source, deaths: &mut Vec<(usize, bool, String)>) {
        let group = source.group.name;
        let mut seen = 0;
        for (line, assertion, verdict) in self.steps {
            seen += u64::from(assertion);
            found.modules += u64::from(!assertion && verdict == Verdict::Passed);
            found.count(group, || format!("{}:{line}", source.id()), assertion, verdict);
        }
        for (line, assertion, what) in deaths.drain(..) {
            seen += u64::from(assertion);
            found.count(
                group,
                || format!("{}:{line}", source.id()),
                assertion,
                Verdict::Failed(format!("the process {what}")),
            );
        }
        // Of a script that was given up, or a module that ended the process.
        for _ in seen..self.assertions {
            let reason =
                Verdict::NotDriven("it comes after too many ends of the process".to_owned());
            found.count(group, String::new, true, reason);
        }
    }
}

struct Process {
    child: Child,
    lines: Receiver<Vec<u8>>,
    words: std::fs::File,
}

enum Next {
    Line(Line),
    /// Nothing came in time.
    Late,
    /// The process ended: how, unless it ended well.
    Ended(Option<String>),
}

impl Process {
    fn start(command: &mut Command) -> Result<Self> {
        let words = tempfile::tempfile().context("cannot make a temporary file")?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(words.try_clone().context("cannot make a temporary file")?)
            .spawn()
            .context("cannot start the process that takes the steps")?;
        let out = child.stdout.take().context("a process without an output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = Vec::new();
            while let Ok(1..) = out.read_until(b'\n', &mut line) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines, words })
    }

    fn next(&mut self, patience: Duration) -> Result<Next> {
        loop {
            match self.lines.recv_timeout(patience) {
                // A runtime may write lines of its own.
                Ok(line) => {
                    if let Ok(line) = serde_json::from_slice(&line) {
                        return Ok(Next::Line(line));
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Next::Late),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self
                        .child
                        .wait()
                        .context("waiting for the process that takes the steps")?;
                    let died =
                        (!status.success()).then(|| format!("ended: {status}{}", self.said()));
                    return Ok(Next::Ended(died));
                }
            }
        }
    }

    /// The last line that it wrote for people.
    fn said(&mut self) -> String {
        let mut text = Vec::new();
        if self.words.rewind().and_then(|()| self.words.read_to_end(&mut text)).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&text);
        text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| {
            format!(" ({})", line.trim().chars().take(120).collect::<String>())
        })
    }

    fn end(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Failures of all engines by name, for tables: what is the same on several engines stands
/// there once.
#[must_use]
pub fn failures(engines: &[OnEngine]) -> BTreeMap<&Failure, Vec<&str>> {
    let mut all: BTreeMap<&Failure, Vec<&str>> = BTreeMap::new();
    for one in engines {
        for failure in &one.failures {
            all.entry(failure).or_default().push(&one.engine);
        }
    }
    all
}
