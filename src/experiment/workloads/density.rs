//! Many live instances: what each takes, and what a clean call on one of many costs.
//!
//! Each number of instances has a process of its own, because memory that was given back does
//! not leave a process as it was. An instance is live when it is prepared: a call is then
//! `invoke`, `finish` and the next `prepare`. One of Touchstone's pool is live when it can be
//! prepared at once: a call is then `prepare`, `invoke` and `finish`.

use crate::case;
use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Workload};
use crate::lab::{Lab, Opened, Refused, config_for, elapsed};
use crate::measure::{Tails, footprint};
use crate::plan::{Cell, Names, Plan, Random, shuffled};
use crate::record::{Place, Point, Status, Tail};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use touchstone_executor::{Config, Instance, Outcome};

/// Calls on random instances, and at least two for each.
const CALLS: u64 = 20_000;
/// Calls that are enough once they have taken [`LONG`], but not fewer than two for each instance.
const ENOUGH: u64 = 1_000;
/// Some executors take milliseconds for each call.
const LONG: Duration = Duration::from_secs(10);
/// Time between two reports of the number of instances.
const REPORT: Duration = Duration::from_millis(100);

pub(super) struct Own;

fn place(cell: &Cell, instances: u64) -> Place {
    let place = Place::of(&cell.key.executor()).with("instances", instances);
    place.with("case", &*cell.key.case).with("guest", &*cell.key.guest)
}

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let wanted = asked.values(&host.experiment, "case");
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        wanted.iter().try_for_each(|name| case::find(&host.cases, name).map(drop))?;
        host.cases.retain(|case| wanted.contains(&case.name));
        let plan = Plan::new(&host.cases, &host.engines, &mut host.guests)?;
        let first = plan.cells.first();
        let first = first
            .with_context(|| format!("no executor can run the case '{}'", wanted.join(", ")))?;
        // Where the code comes from makes no difference to what lives.
        let cells = plan.cells.iter().filter(|cell| {
            let key = &cell.key;
            key.guest == first.key.guest && key.threads == 1 && !key.strategy.is_precompiled()
        });
        let name = |cell: &&Cell| cell.key.executor().to_string();
        let cells = asked.filter.select("no executor", cells, name)?;
        let counts = asked.numbers(&host.experiment, "instances");
        let question = |cell: &Cell, instances: &u64| Question {
            place: place(cell, *instances),
            ..Question::default()
        };
        let of = |cell| counts.iter().map(move |count| question(cell, count));
        let questions = cells.into_iter().flat_map(of).collect();
        Ok(Planned { works: plan.works.clone(), questions, refused: Vec::new() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { host, question, terms } = ask;
        let place = &question.place;
        let name = |dimension| place.text(dimension).unwrap_or_default();
        let executor = place.executor().context("the question names no executor")?;
        let key = executor.cell(name("case"), name("guest"), 1);
        let cell = &Names::new(&host.cases, &host.engines).cell(&key)?;
        let instances = place.number("instances").unwrap_or(1);
        // One more is opened, to compare its output, and kept by the lab.
        let most = u32::try_from(instances).unwrap_or(u32::MAX).saturating_add(2);
        let config = Config { instances: most, ..config_for(1) };
        let lab = Lab::new(host.guests.clone(), config).sharing_artifacts(&terms.artifacts);
        let point = live(&lab?.open(cell)?, &host, question, instances, terms.seed, say)?;
        say(Said::point(point));
        Ok(())
    }
}

/// Makes instances of a loaded module, keeps them all prepared, and calls them in random order.
/// Those of Touchstone's pool are prepared for each call: until then they hold nothing.
fn live(
    opened: &Opened,
    host: &Host,
    question: &Question,
    instances: u64,
    seed: u64,
    say: &mut Say<'_>,
) -> Result<Point, Refused> {
    let executor = question.place.executor();
    let stays_prepared = !executor.is_some_and(|own| own.strategy.pooled);
    let before = footprint();
    let (mut making, mut said) = (Tails::default(), Instant::now());
    let mut all: Vec<Box<dyn Instance>> = Vec::new();
    for made in 1..=instances {
        let started = Instant::now();
        let mut instance = opened.loaded.instances.module.new_instance()?;
        if stays_prepared {
            instance.prepare()?;
        }
        making.record(elapsed(started));
        all.push(instance);
        if said.elapsed() >= REPORT {
            said = Instant::now();
            say(Said::SoFar(BTreeMap::from([("made".to_owned(), made)])));
        }
    }
    let idle = footprint();
    let mut random = Random::new(seed);
    let mut output = Vec::new();
    let mut calls = |order: &mut dyn Iterator<Item = usize>| -> Result<Tail, Refused> {
        let mut times = Tails::default();
        for place in order {
            times.record(call(&mut *all[place], stays_prepared, opened, &mut output)?);
        }
        Ok(times.tail())
    };
    let order = shuffled((0..instances as usize).collect(), &mut random);
    let first_calls = calls(&mut order.into_iter())?;
    let (most, enough, begun) =
        (CALLS.max(2 * instances), ENOUGH.max(2 * instances), Instant::now());
    let mut any = (0..most)
        .take_while(|made| *made < enough || begun.elapsed() < LONG)
        .map(|_| (random.next_number() % instances) as usize);
    let calls = calls(&mut any)?;
    let used = footprint();
    let point = host.point(question.place.clone(), question.number());
    let point = point.footprint("before", before).footprint("idle", idle).footprint("used", used);
    let point = point.tail("making", making.tail()).tail("first_calls", first_calls);
    Ok(point.tail("calls", calls))
}

/// A call on an instance, which is prepared before it or for the next one; its time, ns.
fn call(
    instance: &mut dyn Instance,
    stays_prepared: bool,
    opened: &Opened,
    output: &mut Vec<u8>,
) -> Result<u64, Refused> {
    let started = Instant::now();
    if !stays_prepared {
        instance.prepare()?;
    }
    let outcome = instance.invoke(opened.export, &opened.input, output, None)?;
    instance.finish()?;
    if stays_prepared {
        instance.prepare()?;
    }
    let took = elapsed(started);
    match outcome {
        Outcome::Trapped(trap) => Err(Refused::new(Status::Trapped, trap)),
        Outcome::Returned if **output == *opened.expected => Ok(took),
        Outcome::Returned => Err(Refused::new(Status::Wrong, "a call gave another output")),
    }
}
