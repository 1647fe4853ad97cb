//! Calls a second of N threads together, every thread's calls counted.

use super::Caller;
use crate::session::{Opened, elapsed};
use anyhow::{Context, Result};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What the rounds gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Throughput {
    /// Each round: ns of the slowest thread, and the calls of each thread.
    pub rounds: Vec<(u64, Vec<u64>)>,
}

/// Rounds that are measured.
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
/// that all threads start at once.
///
/// # Errors
///
/// When a thread cannot be started or a call fails.
pub fn throughput(opened: &Opened, threads: usize, time: Duration) -> Result<Throughput> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("worker-{index}"))
        .build()
        .context("cannot start the worker threads")?;
    let round = time / ROUNDS as u32;
    let between_looks = (BETWEEN_LOOKS.as_nanos() as u64 / opened.estimate_ns.max(1)).max(1);
    let barrier = Barrier::new(threads);
    let per_thread: Vec<Result<Vec<(u64, u64)>>> = pool.broadcast(|_| {
        let mut caller = Caller::new(opened).and_then(|mut caller| caller.call().map(|()| caller));
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            // A thread that failed keeps coming to the barrier: the others wait there.
            barrier.wait();
            let counted = caller.as_mut().map(|caller| one_round(caller, round, between_looks));
            if let Ok(counted) = counted {
                rounds.push(counted);
            }
        }
        caller?;
        rounds.into_iter().collect()
    });
    let per_thread = per_thread.into_iter().collect::<Result<Vec<_>>>()?;
    let rounds = (0..ROUNDS)
        .map(|index| {
            let of_round = per_thread.iter().map(|rounds| rounds[index]);
            (
                of_round.clone().map(|(ns, _)| ns).max().unwrap_or(0),
                of_round.map(|(_, calls)| calls).collect(),
            )
        })
        .collect();
    Ok(Throughput { rounds })
}

fn one_round(caller: &mut Caller, round: Duration, between_looks: u64) -> Result<(u64, u64)> {
    let started = Instant::now();
    let mut calls = 0;
    loop {
        for _ in 0..between_looks {
            caller.call()?;
        }
        calls += between_looks;
        if started.elapsed() >= round {
            return Ok((elapsed(started), calls));
        }
    }
}
