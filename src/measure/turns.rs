//! Subject and baseline, timed in turns. What slows the machine slows both, so their ratio
//! holds even where the times do not.

use super::lost::Lost;
use super::{Crew, Round, RoundPlan};
use crate::plan::{Budget, Random};
use anyhow::Result;
use std::time::{Duration, Instant};

/// One of two sides that are timed in turns.
pub trait Side {
    /// Plans rounds that take about `sample`.
    ///
    /// # Errors
    ///
    /// When a call fails.
    fn plan(&mut self, sample: Duration) -> Result<RoundPlan>;

    /// Makes a round.
    ///
    /// # Errors
    ///
    /// When a call fails.
    fn round(&mut self, plan: RoundPlan) -> Result<Round>;
}

impl Side for Crew {
    fn plan(&mut self, sample: Duration) -> Result<RoundPlan> {
        Self::plan(self, sample, 0)
    }

    fn round(&mut self, plan: RoundPlan) -> Result<Round> {
        Self::round(self, plan)
    }
}

/// Times per call of subject and baseline in each round, ns, and the indices of the rounds
/// with interference.
type Turns = (Vec<(f64, f64)>, Vec<usize>);

/// Rounds that are made however long they take.
const FEWEST: usize = 3;

/// Does both in a random order: the side that comes first may be slower, and the one that is
/// planned first stay so.
fn in_random_order<T>(
    random: &mut Random,
    subject: impl FnOnce() -> Result<T>,
    baseline: impl FnOnce() -> Result<T>,
) -> Result<(T, T)> {
    if random.coin() {
        return Ok((subject()?, baseline()?));
    }
    let second = baseline()?;
    Ok((subject()?, second))
}

/// Times both sides in turns, in a random order within each round, until there are as many
/// clean rounds as the budget says. Rounds with interference are repeated within the retry
/// budget. Where calls are long, there are fewer rounds.
///
/// # Errors
///
/// When one side fails, or its threads do not keep up with each other.
pub fn turns(
    subject: &mut dyn Side,
    baseline: &mut dyn Side,
    budget: &Budget,
    random: &mut Random,
) -> Result<Turns> {
    let sample = budget.sample;
    let mut plans = in_random_order(random, || subject.plan(sample), || baseline.plan(sample))?;
    let (rounds, mut patience) = (budget.rounds, budget.patience);
    let began = Instant::now();
    let (mut all, mut noisy) = (Vec::with_capacity(rounds), Vec::new());
    let mut lost = Lost::new(rounds);
    while all.len() - noisy.len() < rounds {
        let started = Instant::now();
        if all.len() >= FEWEST && began.elapsed() > budget.cell * 2 {
            break;
        }
        let (first, second) =
            in_random_order(random, || subject.round(plans.0), || baseline.round(plans.1))?;
        if !(first.others_kept_up() && second.others_kept_up()) {
            lost.another()?;
            continue;
        }
        if first.is_short() || second.is_short() {
            // Calls have become much shorter since the plan was made.
            plans = in_random_order(random, || subject.plan(sample), || baseline.plan(sample))?;
            all.clear();
            noisy.clear();
            lost.another()?;
            continue;
        }
        if !(first.clean && second.clean) {
            if !patience.is_zero() {
                patience = patience.saturating_sub(started.elapsed());
                continue;
            }
            if all.len() >= rounds {
                break;
            }
            noisy.push(all.len());
        }
        all.push((first.per_call(), second.per_call()));
        if all.len() >= rounds && patience.is_zero() {
            break;
        }
    }
    Ok((all, noisy))
}
