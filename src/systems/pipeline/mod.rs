//! Messages whose verifier is swapped.

mod messages;
mod server;

pub use server::serve;

use super::{Measuring, Size};
use crate::case;
use crate::lab::{Lab, Refused, config_for};
use crate::measure::Tails;
use crate::plan::{Random, cores, refusal};
use crate::record::system::plan::{self as plan, PipelinePlan};
use crate::record::{self, Executor, Refusal, Status, System, SystemFound, Verifier};
use crate::swap::{self, Kind, Messages, Method, Ready, random_order};
use anyhow::Result;
use messages::messages;
use server::Server;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::{Engine, InstanceFrom, MemoryFrom, Scratch, Strategy};
use touchstone_systems::pipeline::{
    Handled, Message, Outage, Outcome, Places, Program, RedisServer, Run, Signed, is_valid,
};

/// How records and filters call verdicts without a guest.
const HOST: &str = "host";
/// Nothing depends on the strategy of a verdict without a guest.
const NO_STRATEGY: Strategy = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Tracked);
/// How long Redis is away.
const AWAY: Duration = Duration::from_millis(100);
/// Fewest messages of a run.
const FEWEST: u64 = 16;
/// Fewest messages of a run with an outage: after it, some are still to be sent.
const OUTAGE: u64 = 256;
/// Longest time of a long run, in limits of a run.
const LONG: u32 = 60;
/// Messages that estimate the time of a run.
const ESTIMATE: usize = 4;

/// Number of messages of a run.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// All of them.
    All(u64),
    /// As many as fit in a time, at most this many.
    Within(Duration, u64),
}

impl Length {
    /// The number of messages, each of which takes about `each`.
    fn messages(self, each: Duration) -> u64 {
        match self {
            Self::All(messages) => messages,
            Self::Within(limit, most) => {
                let fit = limit.as_nanos() / each.as_nanos().max(1);
                u64::try_from(fit).unwrap_or(most).clamp(FEWEST.min(most), most)
            }
        }
    }

    fn is_limited(self, messages: u64) -> bool {
        matches!(self, Self::Within(_, most) if messages < most)
    }
}

/// Measures it on every executor that the filter selects.
///
/// # Errors
///
/// When a record cannot be written.
pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<()> {
    let program = match Program::find(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(program) => program,
        Err(missing) => {
            measuring.progress.print(&format!("pipeline: {missing}"));
            return measuring.refused(host_refusal(Status::Unsupported, missing.to_string()));
        }
    };
    let (swaps, plan) = (swap::load(&swap::default_file(), &case::built_in()?)?, plan::plan()?);
    let kinds = swap::kinds(swaps.kinds.each_ref(), measuring.guests)?;
    let lab = Lab::new(measuring.guests.clone(), config_for(cores()));
    let (engines, refusals) = swaps.engines(measuring.engines);
    for refusal in refusals {
        measuring.refused(refusal)?;
    }
    let plan = match measuring.size {
        Size::Full => plan,
        Size::Small => PipelinePlan { messages: 128, many: 512, limit_ms: 100, ..plan },
    };
    Pipeline { measuring, program, plan, kinds, lab }.measure(&engines)
}

fn host_refusal(status: Status, reason: String) -> Refusal {
    let (strategy, guest, case, threads) = (None, None, Some("pipeline".to_owned()), None);
    Refusal { engine: HOST.to_owned(), strategy, guest, case, threads, status, reason }
}

/// What all runs share.
struct Pipeline<'a, 'b> {
    measuring: &'a mut Measuring<'b>,
    program: Program,
    plan: PipelinePlan,
    kinds: Arc<[Kind; 2]>,
    lab: Lab,
}

/// Gives the verdict on a message that has a valid signature, or not.
type Verify<'a> = dyn FnMut(&Signed, bool) -> Result<(), Refused> + 'a;

impl Pipeline<'_, '_> {
    /// Every verifier with the messages of a run, and the fastest method also with many, and
    /// while Redis is killed.
    fn measure(mut self, engines: &[Arc<dyn Engine>]) -> Result<()> {
        let PipelinePlan { messages, many, .. } = self.plan;
        if self.measuring.filter.matches(HOST) {
            self.host(&Verifier::Nobody, messages, false)?;
            self.host(&Verifier::Host, messages, false)?;
            self.host(&Verifier::Host, messages.max(OUTAGE), true)?;
            self.host(&Verifier::Host, many, false)?;
        }
        let mut fastest: Option<(f64, &Arc<dyn Engine>, Method)> = None;
        for engine in engines {
            for method in Method::ALL {
                let all = engine.id() == self.plan.engine && self.measuring.size == Size::Full;
                let limit = Duration::from_millis(self.plan.limit_ms);
                let length =
                    if all { Length::All(messages) } else { Length::Within(limit, messages) };
                let Some(each) = self.swapped(engine, method, length, false)? else { continue };
                if fastest.as_ref().is_none_or(|(least, ..)| each < *least) {
                    fastest = Some((each, engine, method));
                }
            }
        }
        if let Some((_, engine, method)) = fastest {
            let limit = Duration::from_millis(self.plan.limit_ms) * LONG;
            self.swapped(engine, method, Length::All(messages.max(OUTAGE)), true)?;
            self.swapped(engine, method, Length::Within(limit, many), false)?;
        }
        Ok(())
    }

    /// A run without guests.
    fn host(&mut self, verifier: &Verifier, messages: u64, outage: bool) -> Result<()> {
        let executor = Executor { engine: HOST.to_owned(), strategy: NO_STRATEGY };
        let is_host = *verifier == Verifier::Host;
        let mut verify = |signed: &Signed, expected: bool| {
            if is_host && is_valid(signed.kind, &signed.entry) != expected {
                let reason = format!("a wrong verdict on message {}", signed.sequence);
                return Err(Refused { status: Status::Wrong, reason });
            }
            Ok(())
        };
        let length = Length::All(messages);
        self.record(&executor, verifier, length, messages, outage, &mut verify).map(drop)
    }

    /// A run with modules, by a method: the time of a message, ns. Nothing where the engine does
    /// not support it, the filter leaves it out, or it failed.
    fn swapped(
        &mut self,
        engine: &Arc<dyn Engine>,
        method: Method,
        length: Length,
        outage: bool,
    ) -> Result<Option<f64>> {
        let strategy = match method.strategy(&**engine, &self.kinds) {
            Ok(strategy) => strategy,
            Err(Refused { status, reason }) => {
                self.measuring.refused(refusal(&**engine, status, reason))?;
                return Ok(None);
            }
        };
        let executor = Executor { engine: engine.id().to_owned(), strategy };
        if self.measuring.stop.asked() || !self.measuring.filter.matches(&executor.to_string()) {
            return Ok(None);
        }
        let opened = Ready::new(method, engine, &self.kinds, &mut self.lab);
        let opened = opened.and_then(|ready| {
            let mut verifier = Messages::new(ready)?;
            let each = estimate(&mut verifier, self.measuring.seed)?;
            Ok((verifier, each))
        });
        let (mut verifier, each) = match opened {
            Ok(opened) => opened,
            Err(Refused { status, reason }) => {
                let reason = format!("{method}: {reason}");
                self.measuring.refused(Refusal {
                    strategy: Some(strategy),
                    ..refusal(&**engine, status, reason)
                })?;
                return Ok(None);
            }
        };
        let messages = length.messages(each);
        let by = Verifier::Method(method.to_string());
        let mut verify = |signed: &Signed, expected: bool| {
            verifier.send_other(signed.kind as usize, &signed.entry, &[u8::from(expected)])
        };
        self.record(&executor, &by, length, messages, outage, &mut verify)
    }

    /// Makes a run and records it: the time of a message, ns, if it went well.
    fn record(
        &mut self,
        executor: &Executor,
        verifier: &Verifier,
        length: Length,
        count: u64,
        outage: bool,
        verify: &mut Verify<'_>,
    ) -> Result<Option<f64>> {
        let of = match verifier {
            Verifier::Method(method) => format!("{}/{method}", executor.engine),
            _ => executor.engine.clone(),
        };
        self.measuring.progress.add(1);
        self.measuring.progress.next(format!("pipeline: {of}, {count} messages"));
        let messages = messages(self.measuring.seed, count);
        let outage = outage.then_some(Outage { after: count / 2, lasts: AWAY });
        let outcome = match self.run(&messages, outage, verify) {
            Ok(outcome) => outcome,
            Err(_) if self.measuring.stop.asked() => return Ok(None),
            Err(error) => {
                let (status, reason) = match error.downcast_ref::<Refused>() {
                    Some(refused) => (refused.status, format!("{of}: {}", refused.reason)),
                    None => (Status::Failed, format!("{of}: {error:#}")),
                };
                let engine = executor.engine.clone();
                let own = Refusal { engine, ..host_refusal(status, reason) };
                return self.measuring.refused(own).map(|()| None);
            }
        };
        let mut found = found(verifier.clone(), &messages, &outcome)?;
        found.limited = length.is_limited(count);
        if found.wrong() > 0 {
            self.measuring.failed = true;
            self.measuring.progress.print(&format!("{of}: {} messages went wrong", found.wrong()));
        }
        let each = found.per_message_ns();
        let found = SystemFound::Pipeline(found);
        self.measuring.found(System { executor: executor.clone(), found })?;
        Ok(Some(each))
    }

    /// Makes a run with a Redis, a server and shared memory of its own.
    fn run(
        &self,
        messages: &[Message],
        outage: Option<Outage>,
        verify: &mut Verify<'_>,
    ) -> Result<Outcome> {
        let stop = self.measuring.stop;
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

/// What a run found, as a record.
fn found(verifier: Verifier, messages: &[Message], outcome: &Outcome) -> Result<record::Pipeline> {
    let tail = |of: &dyn Fn(&Handled) -> Option<u64>| {
        let mut tails = Tails::new()?;
        outcome.handled.iter().filter_map(of).for_each(|ns| tails.record(ns));
        anyhow::Ok(tails.tail())
    };
    let counts = outcome.counts;
    Ok(record::Pipeline {
        verifier,
        messages: messages.len() as u64,
        limited: false,
        total_ns: outcome.total.as_nanos() as u64,
        swaps: outcome.handled.iter().filter(|handled| handled.swapped).count() as u64,
        tampered: messages.iter().filter(|message| message.tampered).count() as u64,
        restarts: outcome.restarts,
        lost: counts.lost,
        doubled: counts.doubled,
        misordered: counts.misordered,
        altered: counts.altered,
        longest_gap_ns: outcome.longest_gap.as_nanos() as u64,
        swapping: tail(&|one| one.swapped.then_some(one.verdict_ns))?,
        still: tail(&|one| (!one.swapped).then_some(one.verdict_ns))?,
        latency: tail(&|one| Some(one.latency_ns))?,
    })
}
