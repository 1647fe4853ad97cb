//! Calls a second of N threads together, every thread's calls counted.

use super::pin::{Pinned, for_threads};
use super::quiet::is_quiet;
use super::{Caller, LONG};
use crate::session::Opened;
use crate::stats::undisturbed;
use anyhow::{Context, Result};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What the rounds gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Throughput {
    /// Each round: ns from the first thread's start to the last one's end, and
    /// the calls of each thread.
    pub rounds: Vec<(u64, Vec<u64>)>,
    /// Which of them were disturbed: something else used a core.
    pub disturbed: Vec<usize>,
}

/// Rounds that are measured, unless a single call takes longer than all of them may.
const ROUNDS: usize = 5;
/// Rounds that are made at most, where some are disturbed and calls are short: what
/// disturbs lasts for tenths of a second or seconds.
const AT_MOST: usize = 40;
/// Undisturbed rounds that do without the others.
pub(crate) const ENOUGH: usize = 3;
/// How often a thread looks at the clock: about this much work in between,
/// so that looking does not count for short calls.
const BETWEEN_LOOKS: Duration = Duration::from_micros(20);

impl Throughput {
    /// Calls a second of each round; those that were disturbed are left out, if enough
    /// are left.
    #[must_use]
    pub fn per_second(&self) -> Vec<f64> {
        undisturbed(&self.rounds, &self.disturbed, ENOUGH)
            .iter()
            .map(|(ns, calls)| calls.iter().sum::<u64>() as f64 * 1e9 / (*ns).max(1) as f64)
            .collect()
    }
}

/// Lets `threads` threads make calls for `time` altogether, in a few rounds
/// that all threads start at once. Several threads have a processor each.
///
/// # Errors
///
/// When there are fewer processors, a thread cannot be started or a call fails.
pub fn throughput(opened: &Opened, threads: usize, time: Duration) -> Result<Throughput> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("worker-{index}"))
        .build()
        .context("cannot start the worker threads")?;
    let processors = match threads {
        1 => None,
        several => Some(for_threads(several)?),
    };
    let number = if u128::from(opened.estimate_ns) > time.as_nanos() { 1 } else { ROUNDS };
    let round = time / number as u32;
    let between_looks = (BETWEEN_LOOKS.as_nanos() as u64 / opened.estimate_ns.max(1)).max(1);
    // A round that is one call may last for seconds.
    let is_short = u128::from(opened.estimate_ns) < round.as_nanos();
    let at_most = if is_short { AT_MOST } else { number };
    let settle = Duration::from_nanos(opened.estimate_ns) < LONG;
    let barrier = Barrier::new(threads);
    // Threads that were disturbed in a round; each round has its own place.
    let not_quiet: Vec<AtomicUsize> = (0..at_most).map(|_| AtomicUsize::new(0)).collect();
    let per_thread: Vec<Result<Vec<Counted>>> = pool.broadcast(|worker| {
        let pinned = processors.as_ref().map(|all| Pinned::to(all[worker.index()])).transpose();
        let mut caller = Caller::new(opened).and_then(|mut caller| caller.call().map(|()| caller));
        let mut rounds = Vec::with_capacity(number);
        let (mut made, mut disturbed) = (0, 0);
        while made < at_most && made - disturbed < number {
            let before = is_quiet();
            // A thread that failed keeps coming to the barrier: the others wait there.
            barrier.wait();
            let counted = caller.as_mut().map(|caller| {
                if settle {
                    caller.settle()?;
                }
                one_round(caller, round, between_looks)
            });
            if let Ok(counted) = counted {
                rounds.push(counted);
            }
            // Others may still make calls, on cores of their own.
            if !(before && is_quiet()) {
                not_quiet[made].fetch_add(1, Ordering::Relaxed);
            }
            // After it all threads know the same.
            barrier.wait();
            disturbed += usize::from(not_quiet[made].load(Ordering::Relaxed) > 0);
            made += 1;
        }
        pinned?;
        caller?;
        rounds.into_iter().collect()
    });
    let per_thread = per_thread.into_iter().collect::<Result<Vec<_>>>()?;
    // A thread that the system wakes late must not shift calls out of the round:
    // a round lasts from the first thread's start to the last one's end.
    let made = per_thread.first().map_or(0, Vec::len);
    let disturbed =
        (0..made).filter(|round| not_quiet[*round].load(Ordering::Relaxed) > 0).collect();
    let rounds = (0..made)
        .map(|index| {
            let counted: Vec<Counted> = per_thread.iter().map(|rounds| rounds[index]).collect();
            let started = counted.iter().map(|thread| thread.started).min();
            let ended = counted.iter().map(|thread| thread.ended).max();
            let took = started.zip(ended).map_or(Duration::ZERO, |(from, to)| to - from);
            (took.as_nanos() as u64, counted.iter().map(|thread| thread.calls).collect())
        })
        .collect();
    Ok(Throughput { rounds, disturbed })
}

/// One thread's part of a round.
#[derive(Clone, Copy)]
struct Counted {
    started: Instant,
    ended: Instant,
    calls: u64,
}

fn one_round(caller: &mut Caller, round: Duration, between_looks: u64) -> Result<Counted> {
    let started = Instant::now();
    let mut calls = 0;
    loop {
        for _ in 0..between_looks {
            caller.call()?;
        }
        calls += between_looks;
        let ended = Instant::now();
        if ended - started >= round {
            caller.check()?;
            return Ok(Counted { started, ended, calls });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_rounds_count_only_where_too_few_others_are_there() {
        let rounds = [(1000, vec![1, 1]), (1000, vec![9, 9]), (1000, vec![2, 2])];
        let mut all = Throughput { rounds: rounds.to_vec(), disturbed: vec![1] };
        assert_eq!(all.per_second(), [2e6, 18e6, 4e6]);
        all.rounds.push((500, vec![3, 0]));
        assert_eq!(all.per_second(), [2e6, 4e6, 6e6]);
    }
}
