//! Two things that do the same work, timed in turns. What the machine does to
//! one it does to the other, so that their ratio holds where neither time does.

use crate::stats::{Estimate, estimate};
use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// How a pair is timed.
#[derive(Debug, Clone, Copy)]
pub struct PairPlan {
    /// Rounds; each times both sides once.
    pub rounds: usize,
    /// No further round is begun after this, once there are two.
    pub at_most: Duration,
    /// Time of one side in one round.
    pub round: Duration,
}

/// Time of one side in one round, unless a test wants it shorter: long beside what
/// reading the clock costs, short beside the drift of the machine.
pub const ROUND: Duration = Duration::from_micros(2500);

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct PairResult {
    /// ns per call of subject and reference, round by round.
    pub rounds: Vec<(f64, f64)>,
    /// Subject over reference: the median of the rounds' ratios.
    pub ratio: Estimate,
    /// Median of the subject, ns per call.
    pub subject_ns: f64,
    /// Median of the reference, ns per call.
    pub reference_ns: f64,
}

/// One of two things that are timed in turns.
pub trait Side {
    /// Time of so many calls together. What has to come before and after
    /// them is not in it.
    ///
    /// # Errors
    ///
    /// When a call fails or gives another output than expected.
    fn time(&mut self, calls: u64) -> Result<Duration>;
}

/// A call that is timed as it stands.
impl<F: FnMut() -> Result<()>> Side for F {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let started = Instant::now();
        for _ in 0..calls {
            self()?;
        }
        Ok(started.elapsed())
    }
}

/// Rounds that are made in any case.
const FEWEST: usize = 2;

/// Times both sides in turns; who goes first changes from round to round.
///
/// # Errors
///
/// When one side fails.
pub fn pair(
    plan: PairPlan,
    subject: &mut (impl Side + ?Sized),
    reference: &mut (impl Side + ?Sized),
) -> Result<PairResult> {
    // As many as fill a round on each side: a few calls of the faster side alone
    // would be timed on caches that the slower one has emptied.
    let calls = (calls_for(plan.round, subject)?, calls_for(plan.round, reference)?);
    let mut rounds = Vec::with_capacity(plan.rounds);
    let started = Instant::now();
    for index in 0..plan.rounds {
        if index >= FEWEST && started.elapsed() > plan.at_most {
            break;
        }
        let (first, second);
        if index % 2 == 0 {
            first = per_call(calls.0, subject)?;
            second = per_call(calls.1, reference)?;
        } else {
            second = per_call(calls.1, reference)?;
            first = per_call(calls.0, subject)?;
        }
        rounds.push((first, second));
    }
    PairResult::of(rounds)
}

impl PairResult {
    /// What rounds come to: ns per call of subject and reference in each.
    ///
    /// # Errors
    ///
    /// When there are none.
    pub fn of(rounds: Vec<(f64, f64)>) -> Result<Self> {
        let ratios: Vec<f64> =
            rounds.iter().map(|(subject, reference)| subject / reference).collect();
        let median = |side: fn(&(f64, f64)) -> f64| {
            let side: Vec<f64> = rounds.iter().map(side).collect();
            estimate(&side).map(|estimate| estimate.median).context("no rounds")
        };
        Ok(Self {
            ratio: estimate(&ratios).context("no rounds")?,
            subject_ns: median(|round| round.0)?,
            reference_ns: median(|round| round.1)?,
            rounds,
        })
    }
}

/// Calls that fill a round; finding out also warms the side up.
fn calls_for(round: Duration, side: &mut (impl Side + ?Sized)) -> Result<u64> {
    let mut calls = 1;
    loop {
        let took = side.time(calls)?;
        if took >= round / 2 {
            let per_call = (took.as_nanos() as f64 / calls as f64).max(1.0);
            return Ok((round.as_nanos() as f64 / per_call).ceil().max(1.0) as u64);
        }
        calls *= 2;
    }
}

fn per_call(calls: u64, side: &mut (impl Side + ?Sized)) -> Result<f64> {
    Ok(side.time(calls)?.as_nanos() as f64 / calls as f64)
}
