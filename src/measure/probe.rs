//! The interference probe: detects other work on the same core.
//!
//! On rented machines a processor is often one of two hardware threads of a core, and the other
//! belongs to another tenant. Pure computation is hardly affected, but the threads share the branch
//! predictor: code with many branches takes 1.5 to 2 times as long, for seconds at a time. The
//! probe is code that consists of branches, timed before and after each measurement. The
//! measurement is clean if the probe ran at full speed both times. The measured time never decides,
//! so leaving samples out favours no executor.

use super::pin::{Pinned, processors};
use crate::plan::cores;
use anyhow::{Result, anyhow};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Branches of a pass: more than a predictor learns in one pass, and few enough for an
/// unshared predictor to hold.
const BRANCHES: usize = 1500;
const PATTERN: [u8; BRANCHES] = pattern();
/// Untimed passes in which the predictor learns the branches.
const LEARNED_IN: usize = 40;
/// Passes that are timed together, and their repetitions. An interruption slows only one of these.
const TOGETHER: usize = 8;
const TIMES: usize = 3;
/// Interference begins at this multiple of the shortest time, in hundredths.
const SHARED: u64 = 135;

/// Shortest time of the passes in this process so far, ns.
static SHORTEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// `true` if nothing else uses this core now, judged by the shortest time so far. Takes about 70
/// µs.
pub fn is_clean() -> bool {
    judge(passes())
}

/// Duration of [`calibrate`].
const CALIBRATION: Duration = Duration::from_millis(500);

/// Measures the probe on a clean core for half a second, and returns its shortest time, ns. The
/// first samples of a process need this reference.
pub fn calibrate() -> u64 {
    let started = Instant::now();
    while started.elapsed() < CALIBRATION {
        judge(passes());
    }
    SHORTEST.load(Ordering::Relaxed)
}

/// Uses the calibration of another process of the same program.
pub fn calibrated(shortest: u64) {
    SHORTEST.fetch_min(shortest, Ordering::Relaxed);
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

/// Two branches per byte, around work that the compiler cannot make branchless.
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

/// Probes between consecutive samples, so that each has a probe before and after it.
pub struct Watch {
    was_clean: bool,
}

impl Watch {
    /// Probes before the first sample.
    pub fn start() -> Self {
        Self { was_clean: is_clean() }
    }

    /// Does `work`. Returns its result, and `true` if the probes before and after were clean.
    pub fn over<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<(T, bool)> {
        let before = self.was_clean;
        let done = work()?;
        self.was_clean = is_clean();
        Ok((done, before && self.was_clean))
    }
}

/// One probe of one processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Time since the beginning.
    pub at: Duration,
    /// Time of the probe (eight passes), ns.
    pub ns: u64,
    /// `true` if it was clean.
    pub clean: bool,
}

/// Probes all processors at once for `time`.
pub fn watch(time: Duration) -> Result<Vec<(usize, Vec<Look>)>> {
    let watch_one = |processor| {
        let _pinned = Pinned::to(processor)?;
        let (started, mut looks) = (Instant::now(), Vec::new());
        while started.elapsed() < time {
            let ns = passes();
            looks.push(Look { at: started.elapsed(), ns, clean: false });
        }
        Ok((processor, looks))
    };
    let mut looks = std::thread::scope(|scope| {
        let start = |processor| scope.spawn(move || watch_one(processor));
        let threads: Vec<_> = processors(cores())?.into_iter().map(start).collect();
        let looks = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a thread that looks panicked")))
        });
        looks.collect::<Result<Vec<(usize, Vec<Look>)>>>()
    })?;
    // By now the shortest is known.
    let shortest = looks.iter().flat_map(|(_, looks)| looks).map(|look| look.ns).min();
    for look in looks.iter_mut().flat_map(|(_, looks)| looks) {
        look.clean = shortest.is_some_and(|shortest| is_alone(look.ns, shortest));
    }
    Ok(looks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_much_longer_than_the_shortest_is_not_clean() {
        // Far below the time of passes, so that other probes change nothing.
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
}
