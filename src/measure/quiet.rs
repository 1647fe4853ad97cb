//! Whether something else uses the same core right now.
//!
//! On rented machines a processor is often one of two hardware threads of a core, and
//! the other one is somebody else's. Computing alone hardly shows it, but the core has one
//! branch predictor: code with many branches took 1.5 to 2 times as long for seconds at a
//! time, on one processor and not on the other, and two pieces of code that have nothing
//! in common became slow in the same millisecond. So a piece of code of which nothing but
//! branches is known is timed before and after what is measured: what was measured in
//! between is quiet if it ran at its full speed both times. That is known without a look
//! at the measured time itself, so that choosing by it favours nobody.

use super::pin::{Pinned, for_threads};
use crate::session::cores;
use anyhow::{Result, anyhow};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// Branches of a pass: more than a predictor learns in a pass, fewer than one that is not
/// shared has room for.
const BRANCHES: usize = 1500;
/// Which way they go.
const PATTERN: [u8; BRANCHES] = pattern();
/// Passes in which the predictor learns them.
const LEARNED_IN: usize = 40;
/// Passes that are timed together, and how often: an interruption slows one of them.
const TOGETHER: usize = 8;
const TIMES: usize = 3;
/// From so many hundredths of the shortest time on, the core is shared.
const SHARED: u64 = 135;

/// The shortest time of the passes in this process so far, ns.
static SHORTEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Whether nothing else uses this core now, as far as the process can know: it takes the
/// quietest time that it has seen for a quiet one. Takes about 70 µs.
#[must_use]
pub(super) fn is_quiet() -> bool {
    judge(passes())
}

/// How long [`get_to_know`] looks.
const KNOWN_IN: Duration = Duration::from_millis(500);

/// Looks for half a second what a quiet core is like: what is measured first is otherwise
/// held against nothing.
pub fn get_to_know() {
    let started = Instant::now();
    while started.elapsed() < KNOWN_IN {
        judge(passes());
    }
}

fn judge(took: u64) -> bool {
    let shortest = SHORTEST.fetch_min(took, Ordering::Relaxed).min(took);
    is_alone(took, shortest)
}

fn is_alone(took: u64, shortest: u64) -> bool {
    took.saturating_mul(100) < shortest.saturating_mul(SHARED)
}

fn passes() -> u64 {
    let all = |passes: usize| {
        for _ in 0..passes {
            black_box(pass(black_box(&PATTERN)));
        }
    };
    all(LEARNED_IN);
    let once = || {
        let started = Instant::now();
        all(TOGETHER);
        started.elapsed().as_nanos() as u64
    };
    (0..TIMES).map(|_| once()).min().unwrap_or(u64::MAX)
}

/// Two branches for each byte, around work that no compiler can do without them.
#[inline(never)]
fn pass(pattern: &[u8]) -> u64 {
    let (mut a, mut b) = (1_u64, 7_u64);
    for byte in pattern {
        if byte & 1 == 1 {
            a = black_box(a.wrapping_mul(3));
        } else {
            b = black_box(b ^ a);
        }
        if byte & 2 == 2 {
            b = black_box(b.rotate_left(3));
        }
    }
    a ^ b
}

const fn pattern() -> [u8; BRANCHES] {
    let mut bytes = [0; BRANCHES];
    // Xorshift: as good as random for a predictor.
    let mut state = 12_345_u64;
    let mut index = 0;
    while index < BRANCHES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[index] = (state >> 20) as u8;
        index += 1;
    }
    bytes
}

/// Does something again until it was quiet meanwhile, or `patience` is used up; what it
/// gave last, and whether it was quiet then.
///
/// # Errors
///
/// Those of `work`.
pub fn until_quiet<T>(
    patience: &mut Duration,
    mut work: impl FnMut() -> Result<(T, bool)>,
) -> Result<(T, bool)> {
    loop {
        let started = Instant::now();
        let (done, quiet) = work()?;
        if quiet || patience.is_zero() {
            return Ok((done, quiet));
        }
        *patience = patience.saturating_sub(started.elapsed());
    }
}

/// What `work` gives, and whether it was quiet meanwhile.
///
/// # Errors
///
/// Those of `work`.
pub fn watched<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, bool)> {
    let before = is_quiet();
    let done = work()?;
    Ok((done, is_quiet() && before))
}

/// A look at one processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// When, from the beginning.
    pub at: Duration,
    /// What the probe took, ns: eight passes.
    pub ns: u64,
    /// Whether it was quiet then.
    pub quiet: bool,
}

/// Looks at each processor for so long, all of them at once.
///
/// # Errors
///
/// When the kernel does not say which there are, or a thread cannot be started.
pub fn watch(time: Duration) -> Result<Vec<(usize, Vec<Look>)>> {
    let processors = for_threads(cores())?;
    let watch_one = |processor| -> Result<Vec<(Duration, u64)>> {
        let _pinned = Pinned::to(processor)?;
        let started = Instant::now();
        let mut looks = Vec::new();
        while started.elapsed() < time {
            let ns = passes();
            looks.push((started.elapsed(), ns));
        }
        Ok(looks)
    };
    let looks: Vec<Result<_>> = std::thread::scope(|scope| {
        let start = |processor: &usize| {
            let processor = *processor;
            scope.spawn(move || (processor, watch_one(processor)))
        };
        let threads: Vec<_> = processors.iter().map(start).collect();
        let end = |thread: ScopedJoinHandle<'_, (usize, Result<_>)>| {
            let (processor, looks) =
                thread.join().map_err(|_| anyhow!("a thread that looks panicked"))?;
            Ok((processor, looks?))
        };
        threads.into_iter().map(end).collect()
    });
    let looks = looks.into_iter().collect::<Result<Vec<(usize, Vec<(Duration, u64)>)>>>()?;
    // By now the shortest is known.
    let shortest = looks.iter().flat_map(|(_, looks)| looks).map(|look| look.1).min();
    let is_quiet = |ns: u64| shortest.is_some_and(|shortest| is_alone(ns, shortest));
    let judged = |looks: Vec<(Duration, u64)>| {
        looks.into_iter().map(|(at, ns)| Look { at, ns, quiet: is_quiet(ns) }).collect()
    };
    Ok(looks.into_iter().map(|(processor, looks)| (processor, judged(looks))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_much_longer_than_the_shortest_is_not_quiet() {
        // Far below what passes take, so that others' looks change nothing.
        assert!(judge(10));
        assert!(judge(13));
        assert!(!judge(14));
        assert!(judge(5));
        assert!(!judge(10));
    }

    #[test]
    fn the_branches_go_both_ways_and_differ() {
        for bit in [1, 2] {
            let taken = PATTERN.iter().filter(|byte| *byte & bit == bit).count();
            assert!((BRANCHES / 3..BRANCHES * 2 / 3).contains(&taken), "{taken}");
        }
        assert_ne!(PATTERN[..100], PATTERN[100..200]);
        assert_ne!(pass(&PATTERN), pass(&PATTERN[1..]));
    }

    #[test]
    fn work_is_done_again_until_it_was_quiet_or_patience_ends() {
        let mut turns = 0;
        let mut third = || {
            turns += 1;
            Ok((turns, turns == 3))
        };
        let mut patience = Duration::from_secs(60);
        assert_eq!(until_quiet(&mut patience, &mut third).unwrap(), (3, true));
        assert!(!patience.is_zero());
        let mut none = Duration::ZERO;
        assert_eq!(until_quiet(&mut none, &mut third).unwrap(), (4, false));
    }
}
