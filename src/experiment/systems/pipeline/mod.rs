//! Messages whose verifier is swapped.

mod messages;
mod server;

pub(crate) use server::serve;

use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Workload};
use crate::files;
use crate::lab::{Lab, Refused, config_for};
use crate::measure::Tails;
use crate::plan::{Filter, Random, cores};
use crate::record::{Executor, Place, Point, Status};
use crate::swap::{self, Kind, Messages, Method, Ready, random_order};
use crate::terminal::complain;
use anyhow::{Context, Result, ensure};
use messages::messages;
use serde::Deserialize;
use server::Server;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};
use touchstone_systems::pipeline::{
    Handled, Message, Outage, Outcome, Places, Program, RedisServer, Run, Signed, is_valid,
};

/// How filters call verdicts without a guest.
const HOST: &str = "host";
const AWAY: Duration = Duration::from_millis(100);
const FEWEST: u64 = 16;
/// Fewest messages of a run with an outage: after it, some are still to be sent.
const OUTAGE: u64 = 256;
/// Longest time of a long run, in limits of a run.
const LONG: u32 = 60;
/// Messages that estimate the time of a run.
const ESTIMATE: usize = 4;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    messages: u64,
    /// The engine that makes all of them by each method.
    engine: String,
    /// Estimated time of a run of another engine, ms.
    limit_ms: u64,
    /// Number of messages of the long runs.
    many: u64,
}

impl Settings {
    fn of(host: &Host, small: bool) -> Result<Self> {
        let settings: Self =
            host.experiment.settings.clone().try_into().context("the settings of the pipeline")?;
        ensure!(settings.messages > 0 && settings.many > 0, "the pipeline wants no messages");
        Ok(match small {
            false => settings,
            true => Self { messages: 128, many: 512, limit_ms: 100, ..settings },
        })
    }
}

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, _host: &mut Host, asked: &Asked) -> Result<Planned> {
        // The fastest method has more runs, so all runs are one question. A kill loses it all.
        let question = Question { filter: asked.filter.text(), ..Question::default() };
        Ok(Planned { questions: vec![question], ..Planned::default() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { mut host, question, terms } = ask;
        let program = Program::find(&files::own("")).map_err(|missing| {
            complain(&format!("pipeline: {missing}"));
            Refused { status: Status::Unsupported, reason: missing.to_string() }
        })?;
        let swaps = swap::load(&swap::file(None), &host.cases)?;
        let kinds = swap::kinds(swaps.kinds.each_ref(), &mut host.guests)?;
        let lab = Lab::new(host.guests.clone(), config_for(cores()));
        let (engines, left_out) = swap::engines(&host.engines);
        for (engine, reason) in left_out {
            let place = guest_place().with("engine", engine.id());
            say(Said::point(host.point(place, 0).refused(Status::NotAsked, reason)));
        }
        let filter = Filter::new(question.filter.as_deref())?;
        let settings = Settings::of(&host, terms.small)?;
        let (seed, small) = (terms.seed, terms.small);
        Pipeline { host: &host, say, filter, seed, small, program, settings, kinds, lab }
            .measure(&engines)?;
        Ok(())
    }

    fn files(&self, _asked: &Asked) -> Vec<PathBuf> {
        vec![swap::file(None)]
    }

    fn runs_here(&self) -> bool {
        true
    }
}

/// The place of runs whose verdicts are given by guests.
fn guest_place() -> Place {
    Place::default().with("verifier", "guest")
}

struct Pipeline<'a, 'b> {
    host: &'a Host,
    say: &'a mut Say<'b>,
    filter: Filter,
    seed: u64,
    small: bool,
    program: Program,
    settings: Settings,
    kinds: Arc<[Kind; 2]>,
    lab: Lab,
}

/// Gives the verdict on a message that has a valid signature, or not.
type Verify<'a> = dyn FnMut(&Signed, bool) -> Result<(), Refused> + 'a;

impl Pipeline<'_, '_> {
    /// Every verifier with the messages of a run; the fastest also with many, and without Redis.
    fn measure(mut self, engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
        let Settings { messages, many, .. } = self.settings;
        if self.filter.matches(HOST) {
            self.host("nobody", messages, false)?;
            self.host(HOST, messages, false)?;
            self.host(HOST, messages.max(OUTAGE), true)?;
            self.host(HOST, many, false)?;
        }
        let mut fastest: Option<(f64, &Arc<dyn MeasuredEngine>, Method)> = None;
        for engine in engines {
            for method in Method::ALL {
                let all = engine.id() == self.settings.engine && !self.small;
                let limit = Duration::from_millis(self.settings.limit_ms);
                let limit = (!all).then_some(limit);
                let each = self.swapped(engine, method, (messages, limit), false)?;
                let Some(each) = each else { continue };
                if fastest.as_ref().is_none_or(|(least, ..)| each < *least) {
                    fastest = Some((each, engine, method));
                }
            }
        }
        if let Some((_, engine, method)) = fastest {
            let limit = Duration::from_millis(self.settings.limit_ms) * LONG;
            self.swapped(engine, method, (messages.max(OUTAGE), None), true)?;
            self.swapped(engine, method, (many, Some(limit)), false)?;
        }
        Ok(())
    }

    /// A run without guests: verified by the host, or by nobody.
    fn host(&mut self, verifier: &str, messages: u64, outage: bool) -> Result<()> {
        let mut verify = |signed: &Signed, expected: bool| {
            if verifier == HOST && is_valid(signed.kind, &signed.entry) != expected {
                let reason = format!("a wrong verdict on message {}", signed.sequence);
                return Err(Refused { status: Status::Wrong, reason });
            }
            Ok(())
        };
        let place = Place::default().with("verifier", verifier);
        self.record(place, (messages, messages), outage, &mut verify).map(drop)
    }

    /// A run with modules, by a method, with as many messages as fit in a time, if there is one,
    /// and at most so many: the time of a message, ns. Nothing where the engine does not support
    /// it, the filter leaves it out, or it failed.
    fn swapped(
        &mut self,
        engine: &Arc<dyn MeasuredEngine>,
        method: Method,
        (most, limit): (u64, Option<Duration>),
        outage: bool,
    ) -> Result<Option<f64>> {
        let place = guest_place().with("method", &*method.to_string());
        let strategy = match method.strategy(&**engine, &self.kinds) {
            Ok(strategy) => strategy,
            Err(refused) => {
                self.refused(place.with("engine", engine.id()), refused);
                return Ok(None);
            }
        };
        let executor = Executor { engine: engine.id().to_owned(), strategy };
        if self.host.stop.asked() || !self.filter.matches(&executor.to_string()) {
            return Ok(None);
        }
        let place = place.at(&executor);
        let opened = Ready::new(method, engine, &self.kinds, &mut self.lab);
        let opened = opened.and_then(|ready| {
            let mut verifier = Messages::new(ready)?;
            let each = estimate(&mut verifier, self.seed)?;
            Ok((verifier, each))
        });
        let (mut verifier, each) = match opened {
            Ok(opened) => opened,
            Err(refused) => {
                self.refused(place, refused);
                return Ok(None);
            }
        };
        let fit = |limit: Duration| limit.as_nanos() / each.as_nanos().max(1);
        let fit = limit.map(|limit| u64::try_from(fit(limit)).unwrap_or(most));
        let count = fit.map_or(most, |fit| fit.clamp(FEWEST.min(most), most));
        let mut verify = |signed: &Signed, expected: bool| {
            verifier.send_other(signed.kind as usize, &signed.entry, &[u8::from(expected)])
        };
        self.record(place, (count, most), outage, &mut verify)
    }

    fn refused(&mut self, place: Place, Refused { status, reason }: Refused) {
        (self.say)(Said::point(self.host.point(place, 0).refused(status, reason)));
    }

    /// Makes a run and records it: the time of a message, ns, if it went well.
    fn record(
        &mut self,
        place: Place,
        (count, most): (u64, u64),
        outage: bool,
        verify: &mut Verify<'_>,
    ) -> Result<Option<f64>> {
        (self.say)(Said::Step(format!("pipeline: {place}, {count} messages")));
        let length = if count < most { "limited" } else { "whole" };
        let place = place.with("messages", count).with("length", length);
        let place = place.with("outage", if outage { "redis" } else { "none" });
        let messages = messages(self.seed, count);
        let outage = outage.then_some(Outage { after: count / 2, lasts: AWAY });
        let outcome = match self.run(&messages, outage, verify) {
            Ok(outcome) => outcome,
            Err(_) if self.host.stop.asked() => return Ok(None),
            Err(error) => {
                self.refused(place, error.into());
                return Ok(None);
            }
        };
        let point = self.host.point(place, 0);
        (self.say)(Said::point(found(point, &messages, &outcome)));
        Ok(Some(outcome.total.as_nanos() as f64 / count.max(1) as f64))
    }

    /// Makes a run with a Redis, a server and shared memory of its own.
    fn run(
        &self,
        messages: &[Message],
        outage: Option<Outage>,
        verify: &mut Verify<'_>,
    ) -> Result<Outcome> {
        let stop = &self.host.stop;
        let (of_redis, shared) = (Scratch::new()?, Scratch::in_shared_memory()?);
        let mut redis = RedisServer::start(&self.program, of_redis.path())?;
        let places = Places { redis: redis.socket(), ring: shared.path().join("messages") };
        let run = Run::new(&places.ring)?;
        let mut server = Server::start(&places, stop)?;
        let mut last = None;
        let verify = |signed: &Signed, message: &Message| {
            let is_swap = last.replace(signed.kind).is_some_and(|last| last != signed.kind);
            verify(signed, !message.tampered)?;
            Ok(is_swap)
        };
        let stopped = || stop.asked();
        run.perform(server.address, messages, &mut redis, outage, stopped, verify)
            .map_err(|error| server.explained(error))
    }
}

/// About the time of a message with the mean number of swaps.
fn estimate(verifier: &mut Messages, seed: u64) -> Result<Duration, Refused> {
    let order = random_order(&mut Random::new(seed), ESTIMATE);
    let started = Instant::now();
    for kind in &order {
        verifier.send(*kind)?;
    }
    Ok(started.elapsed() / order.len() as u32)
}

fn found(point: Point, messages: &[Message], outcome: &Outcome) -> Point {
    let tail = |of: &dyn Fn(&Handled) -> Option<u64>| {
        let mut tails = Tails::default();
        outcome.handled.iter().filter_map(of).for_each(|ns| tails.record(ns));
        tails.tail()
    };
    let counts = outcome.counts;
    let point = point.values([
        ("total_ns", outcome.total.as_nanos() as u64),
        ("swaps", outcome.handled.iter().filter(|handled| handled.swapped).count() as u64),
        ("tampered", messages.iter().filter(|message| message.tampered).count() as u64),
        ("restarts", outcome.restarts),
        ("lost", counts.lost),
        ("doubled", counts.doubled),
        ("misordered", counts.misordered),
        ("altered", counts.altered),
        ("longest_gap_ns", outcome.longest_gap.as_nanos() as u64),
    ]);
    let point = point.tail("swapping", tail(&|one| one.swapped.then_some(one.verdict_ns)));
    let point = point.tail("still", tail(&|one| (!one.swapped).then_some(one.verdict_ns)));
    point.tail("latency", tail(&|one| Some(one.latency_ns)))
}
