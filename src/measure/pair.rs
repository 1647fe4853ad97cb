//! Two things that do the same work, timed in turns. What the machine does to
//! one it does to the other, so that their ratio holds where neither time does.

use super::quiet::is_quiet;
use crate::stats::{ENOUGH, Estimate, estimate, undisturbed};
use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// How a pair is timed.
#[derive(Debug, Clone, Copy)]
pub struct PairPlan {
    /// Rounds; each times both sides once.
    pub rounds: usize,
    /// No further round is begun after this, once there are two. Rounds that were not
    /// quiet are made again within it.
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
    /// Which of them were not quiet.
    pub disturbed: Vec<usize>,
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

    /// The same, and whether nothing else used the core meanwhile. Looking at that
    /// leaves the processor with other things in mind: with `settle`, untimed calls
    /// come first.
    ///
    /// # Errors
    ///
    /// Those of [`time`](Self::time).
    fn time_watched(&mut self, calls: u64, settle: bool) -> Result<(Duration, bool)> {
        let before = is_quiet();
        if settle {
            settle_by(|| self.time(1).map(drop))?;
        }
        let took = self.time(calls)?;
        Ok((took, is_quiet() && before))
    }
}

/// How long calls are made before those that are timed: a predictor of branches has
/// learned most of them again by then.
const SETTLED_IN: Duration = Duration::from_micros(150);

/// Makes calls for so long.
pub(super) fn settle_by(mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < SETTLED_IN {
        call()?;
    }
    Ok(())
}

/// Calls that take longer need no settling.
pub const LONG: Duration = Duration::from_millis(1);

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
/// How many times as many as planned are made at most, where some are disturbed.
const MOST: usize = 4;

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
    let settle = plan.round / (calls.0.min(calls.1).max(1) as u32) < LONG;
    let mut rounds = Vec::with_capacity(plan.rounds);
    let mut disturbed = Vec::new();
    let started = Instant::now();
    while rounds.len() - disturbed.len() < plan.rounds {
        if rounds.len() >= FEWEST && started.elapsed() > plan.at_most {
            break;
        }
        let (first, second);
        if rounds.len() % 2 == 0 {
            first = per_call(calls.0, settle, subject)?;
            second = per_call(calls.1, settle, reference)?;
        } else {
            second = per_call(calls.1, settle, reference)?;
            first = per_call(calls.0, settle, subject)?;
        }
        if !(first.1 && second.1) {
            disturbed.push(rounds.len());
        }
        rounds.push((first.0, second.0));
        let enough = rounds.len() >= plan.rounds && started.elapsed() > plan.at_most / 2;
        if enough || rounds.len() >= plan.rounds.saturating_mul(MOST) {
            break;
        }
    }
    PairResult::of(rounds, disturbed)
}

impl PairResult {
    /// What rounds come to: ns per call of subject and reference in each. Those that were
    /// disturbed are left out, if enough are left.
    ///
    /// # Errors
    ///
    /// When there are none.
    pub fn of(rounds: Vec<(f64, f64)>, disturbed: Vec<usize>) -> Result<Self> {
        let quiet = undisturbed(&rounds, &disturbed, ENOUGH);
        let ratios: Vec<f64> =
            quiet.iter().map(|(subject, reference)| subject / reference).collect();
        let median = |side: fn(&(f64, f64)) -> f64| {
            let side: Vec<f64> = quiet.iter().map(side).collect();
            estimate(&side).map(|estimate| estimate.median).context("no rounds")
        };
        Ok(Self {
            ratio: estimate(&ratios).context("no rounds")?,
            subject_ns: median(|round| round.0)?,
            reference_ns: median(|round| round.1)?,
            rounds,
            disturbed,
        })
    }
}

/// What is done once in so many calls belongs into each round: `wasmtime_nearcore` drops
/// the pages of 500 instances together. Rounds with two such turns or three, and the median
/// of them, said 2.0 to 2.9 for what is 2.4.
const PERIOD: u64 = 500;
/// How many times longer a round may become by that.
const WIDER: u32 = 6;

/// Calls that fill a round; finding out also warms the side up.
fn calls_for(round: Duration, side: &mut (impl Side + ?Sized)) -> Result<u64> {
    let mut calls = 1;
    loop {
        let took = side.time(calls)?;
        if took >= round / 2 {
            let per_call = (took.as_nanos() as f64 / calls as f64).max(1.0);
            let fill = (round.as_nanos() as f64 / per_call).ceil().max(1.0) as u64;
            let whole = fill.next_multiple_of(PERIOD);
            let fits = whole as f64 * per_call <= (round * WIDER).as_nanos() as f64;
            return Ok(if fits { whole } else { fill });
        }
        calls *= 2;
    }
}

fn per_call(calls: u64, settle: bool, side: &mut (impl Side + ?Sized)) -> Result<(f64, bool)> {
    let (took, quiet) = side.time_watched(calls, settle)?;
    Ok((took.as_nanos() as f64 / calls as f64, quiet))
}
