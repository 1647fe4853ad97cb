//! The rungs of one engine, timed in turns on the same messages.

use super::{Artifacts, Kind, Problem, Rung, Step, changes, resident_kib, sorted};
use crate::record::SwapRound;
use crate::stats::{Estimate, estimate};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::probe::check_execution;
use touchstone_executor::{Config, Engine, Strategy};

/// How long a ladder is timed.
#[derive(Debug, Clone, Copy)]
pub struct LadderPlan {
    /// Rounds; each times every rung once on the random order and once on the sorted.
    pub rounds: usize,
    /// Time of one rung on one order in one round: a dear rung makes fewer messages.
    pub pass: Duration,
    /// Time of one rung in all rounds. After it a rung takes no part in further rounds,
    /// once there were [`FEWEST_CHANGES`].
    pub rung: Duration,
    /// Whether the way of execution is seen, by how long a kernel takes.
    pub sees_execution: bool,
}

/// Changes of kind that a rung makes in any case, all rounds together.
pub const FEWEST_CHANGES: u64 = 8;

/// Changes that a rung makes in each round.
const FEWEST_A_ROUND: u64 = 2;

/// Rounds that are made in any case.
const FEWEST_ROUNDS: usize = 2;

/// What a rung came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Of its instances.
    pub strategy: Strategy,
    /// Messages of a round, on each of the two orders.
    pub messages: usize,
    /// Changes of kind on the random order, all rounds together.
    pub changes: u64,
    /// ns per message in random order.
    pub per_message: Estimate,
    /// ns per message by kind: with one swap in all of them.
    pub per_sorted_message: Estimate,
    /// ns per swap: what the random order took longer, over the changes that it had more.
    pub per_swap: Estimate,
    /// ns per message that comes with a swap.
    pub per_message_with_swap: Estimate,
    /// The rounds.
    pub rounds: Vec<SwapRound>,
    /// Resident memory of the process before the first round, KiB.
    pub rss_before_kib: u64,
    /// The same and what was added during this rung's own passes.
    pub rss_after_kib: u64,
}

/// The reason against an order.
fn too_few() -> Problem {
    Problem::LeftOut {
        reason: "the messages have too few changes of kind: raise 'messages'".to_owned(),
    }
}

/// A rung that is being timed.
struct Timed<'a> {
    rung: Rung<'a>,
    /// Its messages of a round: the first ones of all.
    messages: usize,
    rounds: Vec<SwapRound>,
    took: Duration,
    rss_before_kib: u64,
    rss_added_kib: i64,
}

/// Times the rungs of an engine that `wanted` names, round by round in turns. One that
/// cannot be had or fails has its reason instead; the others go on.
pub fn ladder(
    engine: &Arc<dyn Engine>,
    kinds: &[Kind; 2],
    order: &[usize],
    config: &Config,
    plan: LadderPlan,
    wanted: impl Fn(Step) -> bool,
    mut progress: impl FnMut(Step),
) -> Vec<(Step, Result<Measured, Problem>)> {
    let mut artifacts = Artifacts::default();
    let mut seen: Vec<Strategy> = Vec::new();
    let mut rungs: Vec<(Step, Result<Timed<'_>, Problem>)> = Vec::new();
    for step in Step::ALL.into_iter().filter(|step| wanted(*step)) {
        progress(step);
        let timed = see_execution(engine, kinds, step, config, plan, &mut seen)
            .and_then(|()| Rung::new(step, engine, kinds, &mut artifacts, config))
            .and_then(|rung| Timed::warm(rung, order, plan.pass));
        rungs.push((step, timed));
    }
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for (step, timed) in &mut rungs {
            let Ok(rung) = timed else { continue };
            if rung.is_done(plan) {
                continue;
            }
            goes_on = true;
            progress(*step);
            if let Err(problem) = rung.round(order) {
                *timed = Err(problem);
            }
        }
    }
    rungs.into_iter().map(|(step, timed)| (step, timed.and_then(Timed::measured))).collect()
}

/// Once for each strategy: a mode is seen, not believed.
fn see_execution(
    engine: &Arc<dyn Engine>,
    kinds: &[Kind; 2],
    step: Step,
    config: &Config,
    plan: LadderPlan,
    seen: &mut Vec<Strategy>,
) -> Result<(), Problem> {
    let strategy = step.strategy(&**engine, kinds)?;
    if plan.sees_execution && !seen.contains(&strategy) {
        check_execution(&**engine, strategy, config).map_err(|source| Problem::Host {
            place: format!("{}/{step}", engine.id()),
            kind: "the kernel that shows how it executes".to_owned(),
            source: Box::new(source),
        })?;
        seen.push(strategy);
    }
    Ok(())
}

impl<'a> Timed<'a> {
    /// Sends messages until the time of a pass is over, there are no more, and there
    /// were enough changes: so many are a round's.
    fn warm(mut rung: Rung<'a>, order: &[usize], pass: Duration) -> Result<Self, Problem> {
        // As many changes by kind would leave nothing to compare.
        if changes(order) <= FEWEST_A_ROUND {
            return Err(too_few());
        }
        let started = Instant::now();
        let before = rung.changes();
        let mut messages = 0;
        for kind in order {
            rung.send(*kind)?;
            messages += 1;
            if started.elapsed() >= pass && rung.changes() - before > FEWEST_A_ROUND {
                break;
            }
        }
        Ok(Self {
            rung,
            messages,
            rounds: Vec::new(),
            took: Duration::ZERO,
            rss_before_kib: resident_kib(),
            rss_added_kib: 0,
        })
    }

    /// Whether there were enough rounds.
    fn is_done(&self, plan: LadderPlan) -> bool {
        let rounds = self.rounds.len();
        let is_over = rounds >= plan.rounds || self.took >= plan.rung;
        is_over && rounds >= FEWEST_ROUNDS && self.changes() >= FEWEST_CHANGES
    }

    fn round(&mut self, order: &[usize]) -> Result<(), Problem> {
        let order = &order[..self.messages];
        let (random, by_kind);
        // Who goes first changes from round to round.
        if self.rounds.len().is_multiple_of(2) {
            random = self.pass(order)?;
            by_kind = self.pass(&sorted(order, self.rung.last()))?;
        } else {
            by_kind = self.pass(&sorted(order, self.rung.last()))?;
            random = self.pass(order)?;
        }
        self.rounds.push(SwapRound {
            random_ns: random.0,
            random_changes: random.1,
            sorted_ns: by_kind.0,
            sorted_changes: by_kind.1,
        });
        Ok(())
    }

    /// ns that the messages took together, and the changes among them.
    fn pass(&mut self, order: &[usize]) -> Result<(u64, u64), Problem> {
        let (before, rss) = (self.rung.changes(), resident_kib());
        let started = Instant::now();
        self.rung.send_all(order)?;
        let took = started.elapsed();
        self.took += took;
        self.rss_added_kib += resident_kib().cast_signed() - rss.cast_signed();
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        Ok((ns, self.rung.changes() - before))
    }

    fn changes(&self) -> u64 {
        self.rounds.iter().map(|round| round.random_changes).sum()
    }

    fn measured(self) -> Result<Measured, Problem> {
        let messages = self.messages as f64;
        let median = |value: &dyn Fn(&SwapRound) -> f64| {
            let values: Vec<f64> = self.rounds.iter().map(value).collect();
            estimate(&values).ok_or_else(too_few)
        };
        Ok(Measured {
            strategy: self.rung.strategy(),
            messages: self.messages,
            changes: self.changes(),
            per_message: median(&|round| round.random_ns as f64 / messages)?,
            per_sorted_message: median(&|round| round.sorted_ns as f64 / messages)?,
            per_swap: median(&SwapRound::per_swap)?,
            per_message_with_swap: median(&|round| round.per_message_with_swap(self.messages))?,
            rss_before_kib: self.rss_before_kib,
            rss_after_kib: self.rss_before_kib.saturating_add_signed(self.rss_added_kib),
            rounds: self.rounds,
        })
    }
}
