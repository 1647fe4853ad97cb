//! A round of a crew: its plan and its result.

use super::probe::Probes;
use crate::plan::FEWEST_CALLS_US;
use crate::record::Sample;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundPlan {
    /// Smallest number of calls of a thread.
    pub calls: u64,
    /// Calls between two readings of the clock.
    pub batch: u64,
    /// A thread ends after a multiple of this number of calls.
    pub step: u64,
    /// Shortest time for which a thread makes calls.
    pub time: Duration,
    /// `true` to make untimed calls first: the probe and sleep of the processor slow first calls.
    pub settles: bool,
    /// `true` to run the probe before and after. Without it, the round is clean.
    pub probes: bool,
}

/// Calls this long have no untimed rounds, their checked call is a sample, a round is one call.
pub(super) const LONG: Duration = Duration::from_millis(50);

/// `true` if a round is one or two calls without untimed ones before them.
pub(super) fn are_long(sample: Duration, call_ns: u64) -> bool {
    Duration::from_nanos(call_ns) > sample * 3
}

/// Calls below this time, ns, need [`FEWEST_SHORT_CALLS`] in a sample.
const SHORT_NS: u64 = 40_000;
/// Fewest calls of a sample of short calls: the fewest publishable samples then hold 1,000.
const FEWEST_SHORT_CALLS: u64 = 125;

/// Largest growth of a round to whole periods. Deferred work matters less in longer calls.
const WIDER: u64 = 20;

impl RoundPlan {
    pub const ONE_CALL: Self =
        Self { calls: 1, batch: 1, step: 1, time: Duration::ZERO, settles: false, probes: false };

    /// Plans a round of about `sample` for calls of about `call_ns`. A single thread makes an exact
    /// number of calls. Several threads continue until the time is over, so that all run to the
    /// end. Rounds cover whole periods of `period` calls, unless that makes them too long.
    pub fn new(sample: Duration, call_ns: u64, threads: usize, period: u64) -> Self {
        let call_ns = call_ns.max(1);
        let sample_ns = (sample.as_nanos() as u64).max(FEWEST_CALLS_US * 1000 * 5 / 4);
        let few = match call_ns {
            ..SHORT_NS => FEWEST_SHORT_CALLS,
            // The first call of a round follows a pause and takes longer: equally many calls follow
            // it on any number of threads.
            _ if Duration::from_nanos(call_ns) < LONG => 2,
            _ => 1,
        };
        let fill = sample_ns.div_ceil(call_ns).max(few);
        let whole = fill.next_multiple_of(period.max(1));
        let calls = if whole * call_ns <= sample_ns * WIDER { whole } else { fill };
        let (settles, probes) = (!are_long(sample, call_ns), true);
        // On any number of threads: between batches, the processor catches up with its stores.
        let batch = (FEWEST_CALLS_US * 1000 / call_ns).clamp(1, calls);
        if threads < 2 {
            return Self { calls, batch, step: 1, time: Duration::ZERO, settles, probes };
        }
        let step = if calls == whole { batch.next_multiple_of(period.max(1)) } else { batch };
        // Half a call less, so that slightly faster calls do not add one.
        let time = Duration::from_nanos(calls * call_ns - call_ns / 2);
        Self { calls: few.next_multiple_of(step), batch, step, time, settles, probes }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub threads: Vec<(u64, u64)>,
    /// `true` if the probe was clean before and after on every thread's processor.
    pub clean: bool,
    pub probes: Probes,
}

impl Round {
    /// `true` if every thread completed at least half as many calls as every other one, so that
    /// each was timed while the others ran.
    pub fn others_kept_up(&self) -> bool {
        // By rate: a thread that ran after the others had ended was not beside them.
        let rates = || self.threads.iter().map(|(calls, ns)| *calls as f64 / (*ns).max(1) as f64);
        let least = rates().fold(f64::INFINITY, f64::min);
        let most = rates().fold(0.0, f64::max);
        least * 2.0 >= most && least > 0.0
    }

    pub fn is_short(&self) -> bool {
        self.threads.iter().any(|(_, ns)| *ns < FEWEST_CALLS_US * 1000)
    }

    pub fn sample(&self) -> Sample {
        Sample {
            calls: self.threads.iter().map(|(calls, _)| calls).sum(),
            total: self.threads.iter().map(|(_, ns)| *ns as f64).sum(),
            slowest: self.threads.iter().map(|(calls, _)| *calls).min().unwrap_or(0),
            clean: self.clean,
        }
    }

    pub fn per_call(&self) -> f64 {
        self.sample().per_call()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Duration = Duration::from_millis(1);

    #[test]
    fn a_sample_is_at_least_twenty_microseconds_of_calls() {
        for (sample, call_ns) in [
            (Duration::from_nanos(1), 60),
            (Duration::from_micros(20), 911),
            (SAMPLE, 1),
            (SAMPLE, 19_999),
            (SAMPLE, 62_000_000),
        ] {
            for threads in [1, 2] {
                let plan = RoundPlan::new(sample, call_ns, threads, 1);
                let ns = (plan.calls * call_ns).max(plan.time.as_nanos() as u64);
                assert!(ns >= FEWEST_CALLS_US * 1000, "{call_ns} ns: {plan:?}");
            }
        }
    }

    #[test]
    fn what_happens_once_in_many_calls_is_in_every_round() {
        let calls = |call_ns, period| RoundPlan::new(SAMPLE, call_ns, 1, period).calls;
        assert_eq!((calls(2_400, 1), calls(2_400, 500)), (417, 500));
        assert_eq!((calls(16_000, 1), calls(16_000, 500)), (125, 500));
        assert_eq!((calls(60_000, 1), calls(60_000, 500)), (17, 17));
        assert_eq!((calls(4_000_000, 500), calls(50_000_000, 500)), (2, 1));
        let step = |call_ns, period| RoundPlan::new(SAMPLE, call_ns, 2, period).step;
        assert_eq!((step(12_000, 500), step(12_000, 1), step(60_000, 500)), (500, 1, 1));
    }

    #[test]
    fn several_threads_look_at_the_clock() {
        let short = RoundPlan::new(SAMPLE, 100, 2, 1);
        assert_eq!((short.batch, short.time), (200, SAMPLE - Duration::from_nanos(50)));
    }

    /// The calls of a thread with this time per call.
    fn made(plan: &RoundPlan, call_ns: u64) -> u64 {
        let by_time = (plan.time.as_nanos() as u64).div_ceil(call_ns);
        plan.calls.max(by_time).next_multiple_of(plan.step)
    }

    #[test]
    fn the_number_of_calls_in_a_sample_does_not_depend_on_the_number_of_threads() {
        for call_ns in [100, 2_400, 39_999, 40_000, 599_999, 1_800_001, 49_999_999, 50_000_000] {
            for period in [1, 500] {
                let plan = |threads| RoundPlan::new(SAMPLE, call_ns, threads, period);
                let one = made(&plan(1), call_ns);
                for threads in [2, 3] {
                    let plan = plan(threads);
                    // Batches are whole.
                    let expected = one.next_multiple_of(plan.step);
                    assert_eq!(made(&plan, call_ns), expected, "{call_ns} ns: {plan:?}");
                    // Long calls may be up to a fifth faster than planned.
                    let faster = call_ns - call_ns / 5;
                    let same = one > 2 || made(&plan, faster) == one;
                    assert!(same, "{faster} ns: {plan:?}");
                }
            }
        }
    }

    #[test]
    fn a_round_counts_only_if_the_others_made_progress() {
        let round = |threads: &[(u64, u64)]| Round {
            threads: threads.into(),
            clean: true,
            probes: Probes::NONE,
        };
        assert!(round(&[(10, 1000)]).others_kept_up());
        assert!(round(&[(10, 1000), (5, 1000)]).others_kept_up());
        assert!(!round(&[(10, 1000), (4, 1000)]).others_kept_up());
        assert!(!round(&[(10, 1000), (0, 1000)]).others_kept_up());
        let sample = round(&[(10, 1000), (6, 900)]).sample();
        assert_eq!((sample.calls, sample.total, sample.slowest), (16, 1900.0, 6));
    }
}
