//! Runs scripts in child processes: a script that crashes or hangs is a named failure, and the
//! others continue.

use super::drive::{Verdict, drive};
use super::script;
use super::suite::{Source, sources};
use super::{Failure, OnEngine};
use crate::{content, named};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::plan::Filter;
use touchstone::supervise::{Child, Heard, Parent};
use touchstone_executor::adapter::MeasuredEngine;

/// Crashes after which the rest of a script is left out.
const DEATHS: usize = 8;
/// Memory limit of a child, bytes.
const MEMORY: u64 = 4 << 30;
/// Longest time of a step.
const STEP: Duration = Duration::from_secs(30);
/// Longest time of all scripts of one engine; the rest is left out.
const ENGINE: Duration = Duration::from_secs(90);

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    /// A script begins: its index and its number of assertions.
    Script(usize, u64),
    Step(Step),
    Ended(Verdict),
    /// A script ended after this number of steps.
    Done(u64),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Step {
    index: usize,
    line: usize,
    assertion: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    engine: String,
    /// Regular expression over `<engine>/<group>/<script>`.
    filter: Option<String>,
    /// Index of the first script.
    first: usize,
    /// Steps of the first script to leave out.
    skip: BTreeSet<usize>,
}

/// Runs the steps that the parent asks for. A step may end this process, which [`run`] starts.
/// Fails without a parent or if a script cannot be read.
pub fn take_steps(engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    let mut parent =
        Parent::<Order, Line>::join()?.context("this process takes steps for another one")?;
    let order = parent.hear()?.context("the parent sent no steps")?;
    let engine = named(engines, &order.engine)?;
    let sources = meant(&**engine, &Filter::new(order.filter.as_deref())?);
    let nothing = BTreeSet::new();
    for (index, source) in sources.iter().enumerate().skip(order.first) {
        let script = script::read(source)?;
        let assertions = script.steps.iter().filter(|step| step.assertion).count() as u64;
        parent.say(&Line::Script(index, assertions))?;
        let skip = if index == order.first { &order.skip } else { &nothing };
        let mut taken = 0;
        drive(&**engine, &script, skip, |index, verdict| match verdict {
            None => {
                let script::Step { line, assertion, .. } = script.steps[index];
                parent.say(&Line::Step(Step { index, line, assertion }))
            }
            Some(verdict) => {
                taken += 1;
                parent.say(&Line::Ended(verdict))
            }
        })?;
        parent.say(&Line::Done(taken))?;
    }
    Ok(())
}

/// Scripts whose `<engine>/<group>/<script>` matches the filter.
pub fn meant(engine: &dyn MeasuredEngine, filter: &Filter) -> Vec<Source> {
    let mut sources = sources();
    sources.retain(|source| filter.matches(&format!("{}/{}", engine.id(), source.id())));
    sources
}

/// Runs matching scripts on one engine. `command` makes the command of a process that calls
/// [`take_steps`].
pub fn run(
    engine: &dyn MeasuredEngine,
    filter: Option<&str>,
    command: impl Fn() -> Result<Command>,
    mut progress: impl FnMut(&Source),
) -> Result<OnEngine> {
    let sources = meant(engine, &Filter::new(filter)?);
    let mut found = OnEngine { engine: engine.id().to_owned(), ..OnEngine::default() };
    let until = Instant::now() + ENGINE;
    let mut order = Order {
        engine: engine.id().to_owned(),
        filter: filter.map(str::to_owned),
        first: 0,
        skip: BTreeSet::new(),
    };
    // Crashes of the script that `order` begins with.
    let mut deaths = Vec::new();
    while order.first < sources.len() {
        let mut words = tempfile::tempfile().context("cannot make a temporary file")?;
        let mut command = command()?;
        command.stdout(Stdio::null());
        command.stderr(words.try_clone().context("cannot make a temporary file")?);
        let mut child = Child::<Order, Line>::spawn(command)?;
        child.limit_memory(MEMORY);
        child.send(&order);
        let mut pending: Option<Pending> = None;
        let death = loop {
            let line = match child.receive(Instant::now() + STEP)? {
                Heard::Message(line) => line,
                Heard::Silent => {
                    child.kill()?;
                    break format!("did not end within {} s", STEP.as_secs());
                }
                Heard::Ended(death) => break format!("{death}{}", last_words(&mut words)),
            };
            match line {
                Line::Script(index, assertions) => {
                    progress(sources.get(index).context("a script that is not known")?);
                    pending = Some(Pending { index, assertions, steps: Vec::new(), at: None });
                }
                Line::Step(step) => {
                    pending.as_mut().context("a step outside of any script")?.at = Some(step);
                }
                Line::Ended(verdict) => {
                    let pending = pending.as_mut().context("a step ended that did not begin")?;
                    pending.steps.push((
                        pending.at.take().context("a step ended that did not begin")?,
                        verdict,
                    ));
                }
                Line::Done(steps) => {
                    let script = pending.take().context("a script ended that did not begin")?;
                    if script.steps.len() as u64 != steps {
                        bail!("the child returned {} of {steps} steps", script.steps.len());
                    }
                    let source = &sources[script.index];
                    order = Order { first: script.index + 1, skip: BTreeSet::new(), ..order };
                    script.count(&mut found, source, &mut deaths);
                    if Instant::now() >= until && order.first < sources.len() {
                        found.limit = Some(format!(
                            "{} of {} scripts, up to {}: {} seconds were used up",
                            order.first,
                            sources.len(),
                            source.id(),
                            ENGINE.as_secs(),
                        ));
                        return Ok(found);
                    }
                }
            }
        };
        let Some(script) = pending else {
            if order.first < sources.len() {
                bail!("the process that takes the steps {death}, outside of any script");
            }
            break;
        };
        let Some(step) = script.at else {
            bail!("the process that takes the steps {death}, between two steps");
        };
        if order.first != script.index {
            order = Order { first: script.index, skip: BTreeSet::new(), ..order };
        }
        order.skip.insert(step.index);
        deaths.push((step, Verdict::Failed(format!("the process {death}"))));
        if deaths.len() >= DEATHS {
            let source = &sources[script.index];
            order = Order { first: script.index + 1, skip: BTreeSet::new(), ..order };
            script.count(&mut found, source, &mut deaths);
        }
    }
    Ok(found)
}

struct Pending {
    index: usize,
    assertions: u64,
    /// Finished steps.
    steps: Vec<(Step, Verdict)>,
    at: Option<Step>,
}

impl Pending {
    fn count(self, found: &mut OnEngine, source: &Source, deaths: &mut Vec<(Step, Verdict)>) {
        let group = source.group.name;
        let mut seen = 0;
        for (step, verdict) in self.steps.into_iter().chain(deaths.drain(..)) {
            seen += u64::from(step.assertion);
            found.modules += u64::from(!step.assertion && verdict == Verdict::Passed);
            let at = || format!("{}:{}", source.id(), step.line);
            count(found, group, at, step.assertion, verdict);
        }
        // The remaining assertions of a script that was given up or crashed.
        for _ in seen..self.assertions {
            let reason = "it comes after too many ends of the process".to_owned();
            count(found, group, String::new, true, Verdict::NotDriven(reason));
        }
    }
}

/// The last non-empty line of the child's standard error, in parentheses.
fn last_words(words: &mut File) -> String {
    let text = content(words).unwrap_or_default();
    text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| {
        format!(" ({})", line.trim().chars().take(120).collect::<String>())
    })
}

fn count(
    found: &mut OnEngine,
    group: &str,
    at: impl FnOnce() -> String,
    assertion: bool,
    verdict: Verdict,
) {
    if !assertion && verdict == Verdict::Passed {
        return;
    }
    let tally = found.groups.entry(group.to_owned()).or_default();
    match verdict {
        Verdict::Passed => tally.passed += 1,
        Verdict::Refused => tally.refused += 1,
        Verdict::Failed(what) => {
            tally.failed += 1;
            found.failures.push(Failure { at: at(), what, why: None });
        }
        Verdict::Unsupported(reason) if assertion => {
            *found.unsupported.entry((group.to_owned(), reason)).or_default() += 1;
        }
        Verdict::NotDriven(reason) if assertion => {
            *found.not_driven.entry((group.to_owned(), reason)).or_default() += 1;
        }
        Verdict::Unsupported(_) | Verdict::NotDriven(_) => {}
    }
}
