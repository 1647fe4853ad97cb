//! The interference probe: detects other work on the same core.
//!
//! On rented machines a processor is often one of two hardware threads of a core, and the other
//! belongs to another tenant. A chain of dependent operations is hardly affected. But the threads
//! share the branch predictor and the units that execute: code with many branches, or with many
//! independent operations, takes 1.3 to 2 times as long, for seconds at a time. The probe is both,
//! timed before and after each measurement. A machine whose neighbour is always busy has no other
//! state, so the measurement is clean if the probe ran as it did in most of the run
//! ([`Prevailing`]) both times. The measured time never decides, so leaving samples out favours no
//! executor.
//!
//! A ratio of two sides in turns asks for less: the probes of both sides have to be alike
//! ([`Probes`]), in whatever state the machine is.

use super::pin::{Pinned, processors};
use crate::plan::cores;
use crate::record::{Prevailing, State};
use anyhow::{Result, anyhow};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Branches of a pass: more than a predictor learns in one pass, and few enough for an
/// unshared predictor to hold.
const BRANCHES: usize = 1500;
const PATTERN: [u8; BRANCHES] = pattern();
/// Untimed passes in which the predictor learns the branches.
const LEARNED_IN: usize = 40;
/// Passes that are timed together, and their repetitions. An interruption slows only one of these.
const TOGETHER: usize = 8;
/// Independent operations beside a pass: they take about as long.
const BESIDE: usize = 5;
const TIMES: usize = 3;
/// The prevailing state in this process, after a calibration.
static PREVAILING: Mutex<Option<Prevailing>> = Mutex::new(None);
/// Shortest time of the passes in this process so far, ns: the reference without a calibration.
static SHORTEST: AtomicU64 = AtomicU64::new(u64::MAX);
static NEVER_CLEAN: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probed {
    pub(super) ns: u64,
    /// `true` if it took as long as in the prevailing state.
    pub(crate) clean: bool,
}

/// Probes this core, which takes about 0.1 ms.
pub(crate) fn probe() -> Probed {
    let ns = passes();
    Probed { ns, clean: judge(ns) }
}

/// Duration of the first probes of a [`Calibration`], and of later ones.
pub const CALIBRATION: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(60);

/// Probes from the whole of a run so far, of which its prevailing state follows. A run probes again
/// before each of its processes, so that the state is that of the run, not of its beginning.
#[derive(Debug, Default)]
pub struct Calibration(Vec<u64>);

impl Calibration {
    /// Probes, the first time for `first`, and returns the state by which processes judge samples.
    pub fn state(&mut self, first: Duration) -> Prevailing {
        if let Some(known) = *PREVAILING.lock() {
            return known;
        }
        let time = if self.0.is_empty() { first } else { AGAIN };
        let started = Instant::now();
        while started.elapsed() < time {
            self.0.push(passes());
        }
        Prevailing::of(self.0.iter().copied())
    }
}

/// Uses the state of a [`Calibration`], of this process or another one of the same program. The
/// first one of a process holds: its samples are judged by one state.
pub fn calibrated(state: Prevailing) {
    PREVAILING.lock().get_or_insert(state);
}

/// Makes every later probe of this process find interference, for tests.
pub fn never_clean() {
    NEVER_CLEAN.store(true, Ordering::Relaxed);
}

fn judge(took: u64) -> bool {
    match *PREVAILING.lock() {
        _ if NEVER_CLEAN.load(Ordering::Relaxed) => false,
        None => Prevailing::is_alike(took, SHORTEST.fetch_min(took, Ordering::Relaxed).min(took)),
        Some(state) => state.includes(took),
    }
}

/// The shortest and the longest probe of a round or of several, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes(u64, u64);

impl Probes {
    /// Without a probe, which is like any other.
    pub const NONE: Self = Self(u64::MAX, 0);
    /// A machine that did something else in between: like no other probe.
    pub const APART: Self = Self(0, u64::MAX);

    pub fn of(ns: u64) -> Self {
        Self(ns, ns)
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0.min(other.0), self.1.max(other.1))
    }

    /// `true` if the machine was in one state in all of them.
    pub fn are_alike(self) -> bool {
        self.1 == 0 || Prevailing::is_alike(self.1, self.0)
    }
}

/// The state of the machine from probes of all processors, the share of time that the hypervisor
/// gave to others, %, and the load.
pub fn state(looks: &[(usize, Vec<Look>)], steal: Option<f64>, load: Option<f64>) -> State {
    let times = || looks.iter().flat_map(|(_, looks)| looks).map(|look| look.ns);
    let Prevailing { low, share, .. } = Prevailing::of(times());
    let shortest = times().min().unwrap_or(0);
    let (all, clean) = (times().count(), times().filter(|ns| Prevailing::is_alike(*ns, shortest)));
    let percent = |share: f64| (share * 1000.0).round() / 10.0;
    State {
        clean: percent(clean.count() as f64 / all.max(1) as f64),
        prevailing: percent(share),
        slowdown: (low as f64 * 100.0 / shortest.max(1) as f64).round() / 100.0,
        steal: steal.map(|steal| (steal * 10.0).round() / 10.0),
        load,
    }
}

fn passes() -> u64 {
    let all = |passes: usize, beside: usize| {
        for _ in 0..passes {
            black_box(pass(black_box(&PATTERN)));
            for _ in 0..beside {
                black_box(independent(black_box(&PATTERN)));
            }
        }
    };
    all(LEARNED_IN, 0);
    let once = || {
        let started = Instant::now();
        all(TOGETHER, BESIDE);
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

/// Eight sums that do not wait for each other.
#[inline(never)]
fn independent(pattern: &[u8]) -> u64 {
    let mut sums = [0_u64; 8];
    for bytes in pattern.chunks_exact(sums.len()) {
        for (sum, byte) in sums.iter_mut().zip(bytes) {
            *sum = sum.wrapping_add(u64::from(*byte)) ^ (*sum >> 7);
        }
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
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
        Self { was_clean: probe().clean }
    }

    /// Does `work`. Returns its result, and `true` if the probes before and after were clean.
    pub fn over<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<(T, bool)> {
        let before = self.was_clean;
        let done = work()?;
        self.was_clean = probe().clean;
        Ok((done, before && self.was_clean))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Time since the beginning.
    pub at: Duration,
    /// Time of the probe (eight passes), ns.
    pub ns: u64,
    /// `true` if nothing else used the core: the probe was like the shortest one.
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
        look.clean = shortest.is_some_and(|shortest| Prevailing::is_alike(look.ns, shortest));
    }
    Ok(looks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_judged_by_the_prevailing_state() {
        // Far below the time of passes, so that other probes change nothing.
        assert!(judge(10) && judge(13) && !judge(14) && judge(5) && !judge(10));
        // A neighbour that is always there. The first reference holds.
        calibrated(Prevailing::of([10]));
        calibrated(Prevailing::of([5]));
        assert!(judge(10) && judge(11) && !judge(12) && !judge(5));
        *PREVAILING.lock() = None;
    }

    #[test]
    fn probes_are_alike_in_any_steady_state() {
        let alike = |all: &[u64]| {
            all.iter().fold(Probes::NONE, |all, ns| all.and(Probes::of(*ns))).are_alike()
        };
        assert!(alike(&[]) && alike(&[70]) && alike(&[100, 134]) && alike(&[1000, 1340]));
        assert!(!alike(&[100, 135]) && !alike(&[1000, 100]));
        assert!(!Probes::of(5).and(Probes::APART).are_alike());
    }

    #[test]
    fn the_branches_go_both_ways_and_differ() {
        for bit in [1, 2] {
            let taken = PATTERN.iter().filter(|byte| *byte & bit == bit).count();
            assert!((BRANCHES / 3..BRANCHES * 2 / 3).contains(&taken), "{taken}");
        }
        assert_ne!(PATTERN[..100], PATTERN[100..200]);
        assert_ne!(pass(&PATTERN), pass(&PATTERN[1..]));
        assert_ne!(independent(&PATTERN), independent(&PATTERN[1..]));
    }
}
