//! Calls a second of N threads together, every thread's calls counted.

use super::Caller;
use super::pin::{Pinned, for_threads};
use crate::session::Opened;
use anyhow::{Context, Result};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What the rounds gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Throughput {
    /// Each round: ns from the first thread's start to the last one's end, and
    /// the calls of each thread.
    pub rounds: Vec<(u64, Vec<u64>)>,
}

/// Rounds that are measured, unless a single call takes longer than all of them may.
const ROUNDS: usize = 5;
/// How often a thread looks at the clock: about this much work in between,
/// so that looking does not count for short calls.
const BETWEEN_LOOKS: Duration = Duration::from_micros(20);

impl Throughput {
    /// Calls a second of each round.
    pub fn per_second(&self) -> impl Iterator<Item = f64> {
        self.rounds
            .iter()
            .map(|(ns, calls)| calls.iter().sum::<u64>() as f64 * 1e9 / (*ns).max(1) as f64)
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
    let barrier = Barrier::new(threads);
    let per_thread: Vec<Result<Vec<Counted>>> = pool.broadcast(|worker| {
        let pinned = processors.as_ref().map(|all| Pinned::to(all[worker.index()])).transpose();
        let mut caller = Caller::new(opened).and_then(|mut caller| caller.call().map(|()| caller));
        let mut rounds = Vec::with_capacity(number);
        for _ in 0..number {
            // A thread that failed keeps coming to the barrier: the others wait there.
            barrier.wait();
            let counted = caller.as_mut().map(|caller| one_round(caller, round, between_looks));
            if let Ok(counted) = counted {
                rounds.push(counted);
            }
        }
        pinned?;
        caller?;
        rounds.into_iter().collect()
    });
    let per_thread = per_thread.into_iter().collect::<Result<Vec<_>>>()?;
    // A thread that the system wakes late must not shift calls out of the round:
    // a round lasts from the first thread's start to the last one's end.
    let rounds = (0..number)
        .map(|index| {
            let counted: Vec<Counted> = per_thread.iter().map(|rounds| rounds[index]).collect();
            let started = counted.iter().map(|thread| thread.started).min();
            let ended = counted.iter().map(|thread| thread.ended).max();
            let took = started.zip(ended).map_or(Duration::ZERO, |(from, to)| to - from);
            (took.as_nanos() as u64, counted.iter().map(|thread| thread.calls).collect())
        })
        .collect();
    Ok(Throughput { rounds })
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
