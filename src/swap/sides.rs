//! The two sides of a comparison of swap methods.

use super::{Kind, Messages, Method, Ready, kinds};
use crate::lab::Lab;
use crate::measure::{Crew, Round, RoundPlan, Side, Work};
use crate::plan::{Budget, Compare, FEWEST_CALLS_US, Random, shuffled};
use crate::record::{Contender, Means};
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::Engine;

/// Largest number of messages of a round.
const MESSAGES: usize = 1024;
/// Number of messages of a block, half of which change the kind. A round has at least one
/// block.
const BLOCK: u64 = 4;
/// How many times longer a round is than a sample of calls.
const LONGER: u32 = 20;

/// Subject and baseline: the same messages by two methods, or by one method in random order
/// and sorted by kind.
///
/// Half of the messages in random order change the kind. For sorted messages no change is
/// timed. A swap therefore takes twice the difference between the two times per message.
pub struct Sides {
    /// The subject.
    pub subject: Swapping,
    /// The baseline.
    pub baseline: Swapping,
}

/// One side.
pub struct Swapping {
    crew: Crew,
    plan: RoundPlan,
}

/// Kinds of messages in random order. Two of each four change the kind. One more message comes
/// first, as the reference for the first change.
#[must_use]
pub fn random_order(random: &mut Random, messages: usize) -> Vec<usize> {
    let mut last = usize::from(random.coin());
    let mut order = vec![last];
    while order.len() <= messages {
        for change in shuffled(vec![0, 0, 1, 1], random) {
            last ^= change;
            order.push(last);
        }
    }
    order
}

impl Sides {
    /// Prepares both sides and plans the number of messages of a round, which the slower side
    /// determines.
    ///
    /// # Errors
    ///
    /// When the engine does not support a method, or an answer is wrong.
    pub fn new(lab: &mut Lab, compare: &Compare, budget: &Budget, seed: u64) -> Result<Self> {
        let another = compare.another.as_ref().context("a swap needs a second kind of message")?;
        let kinds = kinds([&compare.subject.case, another], lab.guests())?;
        let order: Arc<[usize]> = random_order(&mut Random::new(seed), MESSAGES).into();
        let engine = &compare.subject.engine;
        let mut side = |contender| Swapping::start(contender, engine, &kinds, &order, lab);
        let mut subject = side(&compare.of.subject)?;
        let mut baseline = side(&compare.of.baseline)?;
        let (first, second) = (subject.per_message()?, baseline.per_message()?);
        let (slow, fast) = (first.max(second).max(1.0), first.min(second).max(1.0));
        let fit = (budget.sample * LONGER).as_nanos() as f64 / slow;
        let fewest = (FEWEST_CALLS_US * 1000) as f64 / fast;
        let messages =
            (fit.max(fewest).max(1.0) as u64).next_multiple_of(BLOCK).min(MESSAGES as u64);
        (subject.plan, baseline.plan) = (plan(messages), plan(messages));
        Ok(Self { subject, baseline })
    }
}

fn plan(messages: u64) -> RoundPlan {
    RoundPlan { calls: messages, batch: messages, time: Duration::ZERO, settles: false }
}

impl Swapping {
    fn start(
        contender: &Contender,
        engine: &Arc<dyn Engine>,
        kinds: &Arc<[Kind; 2]>,
        order: &Arc<[usize]>,
        lab: &mut Lab,
    ) -> Result<Self> {
        let (name, is_sorted) = match &contender.means {
            Means::Swap { method } => (method, false),
            Means::Sorted { method } => (method, true),
            _ => anyhow::bail!("{contender} is no way to swap modules"),
        };
        let method = Method::named(name).with_context(|| format!("there is no method {name}"))?;
        let ready = Ready::new(method, engine, kinds, lab)?;
        let order = Arc::clone(order);
        let crew = Crew::start(1, move || {
            let messages = Messages::new(ready.clone())?;
            Ok(Box::new(Timed { messages, order: Arc::clone(&order), is_sorted }) as Box<dyn Work>)
        })?;
        Ok(Self { crew, plan: plan(BLOCK) })
    }

    fn per_message(&mut self) -> Result<f64> {
        Ok(self.crew.round(self.plan)?.per_call())
    }
}

impl Side for Swapping {
    fn plan(&mut self, _: Duration) -> Result<RoundPlan> {
        Ok(self.plan)
    }

    fn round(&mut self, plan: RoundPlan) -> Result<Round> {
        self.crew.round(plan)
    }
}

/// The work of a side: messages in a fixed order.
struct Timed {
    messages: Messages,
    order: Arc<[usize]>,
    is_sorted: bool,
}

impl Work for Timed {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let Self { messages, order, is_sorted } = self;
        let all = usize::try_from(calls).unwrap_or(usize::MAX).min(order.len() - 1);
        let (first, order) = (order[0], &order[1..=all]);
        let mut timed = |before: usize, order: &mut dyn Iterator<Item = usize>| -> Result<_> {
            messages.send(before)?;
            let started = Instant::now();
            for kind in order {
                messages.send(kind)?;
            }
            Ok(started.elapsed())
        };
        if !*is_sorted {
            return timed(first, &mut order.iter().copied());
        }
        let mut took = Duration::ZERO;
        for kind in [first, 1 - first] {
            took += timed(kind, &mut order.iter().copied().filter(|other| *other == kind))?;
        }
        Ok(took)
    }
}
