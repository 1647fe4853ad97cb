//! The two sides of a comparison of swap methods.

use super::{Kind, Messages, Method, Ready, kinds};
use crate::lab::Lab;
use crate::measure::{Crew, Work};
use crate::plan::{Compare, Random, shuffled};
use crate::record::{Contender, Means};
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;

/// Number of messages after which the order begins again.
const MESSAGES: usize = 1024;
/// Number of messages of a block, half of which change the kind. A call of a crew is a block,
/// so that every round has as many changes as other messages.
const BLOCK: u64 = 4;

/// Kinds of messages in random order. Two of each four change the kind. One more message comes
/// first, as the reference for the first change; the last one is of the same kind.
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

/// Subject and baseline: the same messages by two methods, or by one method in random order
/// and sorted by kind. The time of a call is that of one message, the mean of a block.
///
/// Half of the messages in random order change the kind. For sorted messages no change is timed. A
/// swap therefore takes twice the difference between the two times per message. Fails if the engine
/// does not support a method, or an answer is wrong.
pub fn sides(lab: &mut Lab, compare: &Compare, seed: u64) -> Result<(Crew, Crew)> {
    let another = compare.another.as_ref().context("a swap needs a second kind of message")?;
    let kinds = kinds([&compare.subject.case, another], lab.guests())?;
    let order: Arc<[usize]> = random_order(&mut Random::new(seed), MESSAGES).into();
    let engine = &compare.subject.engine;
    let mut side = |contender| side(contender, engine, &kinds, &order, lab);
    Ok((side(&compare.of.subject)?, side(&compare.of.baseline)?))
}

fn side(
    contender: &Contender,
    engine: &Arc<dyn MeasuredEngine>,
    kinds: &Arc<[Kind; 2]>,
    order: &Arc<[usize]>,
    lab: &mut Lab,
) -> Result<Crew> {
    let (name, is_sorted) = match &contender.means {
        Means::Swap { method } => (method, false),
        Means::Sorted { method } => (method, true),
        _ => bail!("{contender} is not a swap method"),
    };
    let method: Method = name.parse().with_context(|| format!("there is no method {name}"))?;
    let ready = Ready::new(method, engine, kinds, lab)?;
    let order = Arc::clone(order);
    Crew::start(1, move || {
        let messages = Messages::new(ready.clone())?;
        Ok(Box::new(Timed { messages, order: Arc::clone(&order), is_sorted }) as Box<dyn Work>)
    })
}

/// The work of a side: messages in a fixed order.
struct Timed {
    messages: Messages,
    order: Arc<[usize]>,
    is_sorted: bool,
}

impl Timed {
    /// Sends a message of a kind, and then others, which are timed.
    fn after(&mut self, kind: usize, others: impl Iterator<Item = usize>) -> Result<Duration> {
        self.messages.send(kind)?;
        let started = Instant::now();
        for other in others {
            self.messages.send(other)?;
        }
        Ok(started.elapsed())
    }
}

impl Work for Timed {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let order = Arc::clone(&self.order);
        let Some((&first, rest)) = order.split_first() else { return Ok(Duration::ZERO) };
        let count = usize::try_from(calls.saturating_mul(BLOCK)).unwrap_or(usize::MAX);
        let kinds = rest.iter().copied().cycle().take(count);
        let took = if self.is_sorted {
            let of = |kind| kinds.clone().filter(move |other| *other == kind);
            self.after(first, of(first))? + self.after(1 - first, of(1 - first))?
        } else {
            self.after(first, kinds)?
        };
        Ok(took / BLOCK as u32)
    }
}
