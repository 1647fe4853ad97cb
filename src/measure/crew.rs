//! Threads that make rounds together.

use super::pin::{Pinned, processors};
use super::probe::{self, Probed, Probes};
use super::round::{LONG, are_long};
use super::{Round, RoundPlan, Work};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest round before the crew gives up on a thread.
const STUCK: Duration = Duration::from_secs(300);
/// Duration of untimed calls before the timed ones, in which the branch predictor learns the calls
/// again after the probe.
const SETTLED_IN: Duration = Duration::from_micros(150);

/// Most untimed rounds before the first sample, and their longest time in samples.
const MOST_UNTIMED: usize = 8;
const LONGEST_UNTIMED: u32 = 16;
/// Rounds are steady once the next takes more than this share of the last.
const STEADY: f64 = 0.99;

/// A round is clean if no thread waited for a processor for more than one part in this many.
const WAITED: u32 = 100;

/// Shortest time of the calls of a thread in a round in which threads share processors: many times
/// the few milliseconds that the scheduler gives each in turn.
const IN_TURNS: Duration = Duration::from_millis(100);
/// How late the times of two threads on one processor may be counted: a tick of the scheduler.
const TICK: Duration = Duration::from_millis(5);

/// Threads that make rounds together. They sleep between rounds.
///
/// Each is pinned to its own processor. A single thread moves to another processor if its own has
/// interference. If there are more threads than processors, threads share them in turns.
pub struct Crew {
    orders: Vec<Sender<Order>>,
    threads: Vec<JoinHandle<()>>,
    /// The processor of each thread. That of a single one may be another by now.
    processors: Vec<usize>,
    ended: Receiver<(usize, Result<Turn>)>,
    /// Calls after which the runtime catches up on deferred work.
    period: u64,
}

struct Order {
    plan: RoundPlan,
    start: Arc<StartingLine>,
}

struct Turn {
    calls: u64,
    ns: u64,
    clean: bool,
    probes: Probes,
    used: Usage,
}

/// Time that the scheduler gave a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    ran: Duration,
    /// Time spent ready to run without a processor.
    waited: Duration,
}

impl Crew {
    /// Starts `threads` threads. `make` creates the work of each, on that thread. Fails if a thread
    /// cannot be started or its work cannot be created.
    pub fn start<W: Work + 'static>(
        threads: usize,
        make: impl Fn() -> Result<W> + Clone + Send + 'static,
    ) -> Result<Self> {
        Self::start_from(0, threads, move || Ok(Box::new(make()?)))
    }

    /// The same on the processors after the first `skipped` ones. Fails if there are fewer, unless
    /// there are more threads than processors.
    pub fn start_from(
        skipped: usize,
        threads: usize,
        make: impl Fn() -> Result<Box<dyn Work>> + Clone + Send + 'static,
    ) -> Result<Self> {
        ensure!(threads > 0, "a crew needs a thread");
        let cores = crate::plan::cores();
        let all = match threads > cores {
            true => processors(cores)?.into_iter().cycle().take(threads).collect(),
            false => processors(skipped + threads)?.split_off(skipped),
        };
        let allowed = if threads == 1 { processors(cores)? } else { all.clone() };
        let (done, ended) = channel();
        let processors = all.clone();
        let mut crew =
            Self { orders: Vec::new(), threads: Vec::new(), processors, ended, period: 1 };
        for (index, processor) in all.into_iter().enumerate() {
            let (orders, inbox) = channel();
            let (done, make, spare) = (done.clone(), make.clone(), allowed.clone());
            let spare = if threads == 1 { spare } else { Vec::new() };
            let handle = std::thread::Builder::new()
                .name(format!("crew-{index}"))
                .spawn(move || {
                    let place = Place { processor, spare, pinned: None, probed: None };
                    serve(index, place, &make, &inbox, &done);
                })
                .context("cannot start a thread")?;
            crew.orders.push(orders);
            crew.threads.push(handle);
        }
        drop(done);
        // Each thread reports once that its work is ready, with its period as the number of calls.
        let ready = crew.gather()?;
        crew.period = ready.iter().map(|turn| turn.calls).max().unwrap_or(1);
        Ok(crew)
    }

    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Makes a round. Fails if a call fails or a thread is silent; the crew is of no use then.
    pub fn round(&mut self, plan: RoundPlan) -> Result<Round> {
        let start = Arc::new(StartingLine {
            missing: AtomicUsize::new(self.threads()),
            // A thread that spins on a shared processor keeps the next one away.
            spin: if self.shares_processors() { Duration::ZERO } else { SPIN },
        });
        for orders in &self.orders {
            let order = Order { plan, start: Arc::clone(&start) };
            ensure!(orders.send(order).is_ok(), "a thread ended too early");
        }
        let turns = self.gather()?;
        let is_alone = self.are_alone(&turns);
        let probes = turns.iter().fold(Probes::NONE, |all, turn| all.and(turn.probes));
        // Rounds in turns are longer than what a neighbour does in one go.
        let is_steady = self.shares_processors() && probes.are_alike();
        Ok(Round {
            threads: turns.iter().map(|turn| (turn.calls, turn.ns)).collect(),
            clean: is_alone && (is_steady || turns.iter().all(|turn| turn.clean)),
            probes: if is_alone { probes } else { Probes::APART },
        })
    }

    /// `true` if there are more threads than processors.
    fn shares_processors(&self) -> bool {
        let mut own = self.processors.clone();
        own.sort_unstable();
        own.dedup();
        own.len() < self.processors.len()
    }

    /// `true` if no thread waited for a processor, but for the other threads of the crew on it.
    fn are_alone(&self, turns: &[Turn]) -> bool {
        let all = || turns.iter().zip(&self.processors).enumerate();
        all().all(|(index, (turn, processor))| {
            let mates = all().filter(|(other, (_, own))| *other != index && *own == processor);
            let mates: Vec<Duration> = mates.map(|(_, (mate, _))| mate.used.ran).collect();
            let by_turns = mates.iter().map(|ran| *ran + TICK).sum::<Duration>();
            turn.used.waited.saturating_sub(by_turns) * WAITED <= Duration::from_nanos(turn.ns)
        })
    }

    /// Plans rounds of about `sample`, and makes untimed ones until they no longer become faster: a
    /// new instance has not yet learned which pages its calls write, and calls that write 1 MiB
    /// become 6 % faster within ten rounds. Calls of 50 ms or more are only planned. An estimate of
    /// 0 means unknown.
    pub fn plan(&mut self, sample: Duration, estimate_ns: u64) -> Result<RoundPlan> {
        let call_ns = match are_long(sample, estimate_ns) {
            true => estimate_ns,
            false => self.trials(sample)?,
        };
        let mut plan = self.plan_for(sample, call_ns);
        if Duration::from_nanos(call_ns) >= LONG {
            return Ok(self.in_turns(plan));
        }
        let (mut before, began) = (f64::INFINITY, Instant::now());
        for _ in 0..MOST_UNTIMED {
            let now = self.round(RoundPlan { probes: false, ..plan })?.per_call().max(1.0);
            plan = self.plan_for(sample, now.min(before) as u64);
            if now > before * STEADY || began.elapsed() > sample * LONGEST_UNTIMED {
                break;
            }
            before = now;
        }
        Ok(self.in_turns(plan))
    }

    /// A plan in which threads that share a processor have it several times each.
    fn in_turns(&self, plan: RoundPlan) -> RoundPlan {
        match self.shares_processors() {
            true => RoundPlan { time: plan.time.max(IN_TURNS), ..plan },
            false => plan,
        }
    }

    /// Approximate time of a call, ns, from short rounds.
    fn trials(&mut self, sample: Duration) -> Result<u64> {
        let mut call_ns = f64::INFINITY;
        // First calls of an instance are slower, and so is a round in which the thread lost its
        // processor: the shortest round counts, once confirmed.
        let mut confirmed = 0;
        for round in 0..12 {
            let trial = match round {
                0 | 1 => RoundPlan::ONE_CALL,
                _ => RoundPlan {
                    settles: false,
                    probes: false,
                    ..self.plan_for(sample / 4, call_ns as u64)
                },
            };
            let seen = self.round(trial)?.per_call().max(1.0);
            confirmed += u32::from(seen >= call_ns * 0.8);
            call_ns = call_ns.min(seen);
            if confirmed > 1 || (round > 0 && are_long(sample, call_ns as u64)) {
                break;
            }
        }
        Ok(call_ns as u64)
    }

    fn plan_for(&self, sample: Duration, call_ns: u64) -> RoundPlan {
        RoundPlan::new(sample, call_ns, self.threads(), self.period)
    }

    /// Collects one answer of each thread, in the order of the threads.
    fn gather(&mut self) -> Result<Vec<Turn>> {
        let mut turns: BTreeMap<usize, Turn> = BTreeMap::new();
        let mut failed = None;
        for _ in 0..self.threads() {
            match self.ended.recv_timeout(STUCK) {
                Ok((index, Ok(turn))) => drop(turns.insert(index, turn)),
                Ok((_, Err(error))) => drop(failed.get_or_insert(error)),
                Err(_) => bail!("a thread of {} did not end its round", self.threads()),
            }
        }
        failed.map_or_else(|| Ok(turns.into_values().collect()), Err)
    }
}

impl Drop for Crew {
    /// Ends the threads, so that their instances are returned before the next cell.
    fn drop(&mut self) {
        // A thread ends when its channel is closed.
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // If the thread panicked, its round has failed already.
            let _ = thread.join();
        }
    }
}

/// Time that a thread with a processor of its own spins before it yields.
const SPIN: Duration = Duration::from_millis(2);

/// A spinning barrier at which threads start together: a sleeping thread would start late.
struct StartingLine {
    missing: AtomicUsize,
    /// Time that a thread spins before it yields.
    spin: Duration,
}

impl StartingLine {
    fn wait(&self) {
        // Only the arrival matters, not what threads did before.
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let came = Instant::now();
        while self.missing.load(Ordering::Acquire) > 0 {
            if came.elapsed() < self.spin {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

struct Place {
    processor: usize,
    /// Processors to which it may move.
    spare: Vec<usize>,
    pinned: Option<Pinned>,
    probed: Option<(Instant, Probed)>,
}

/// A probe this recent holds for the next round too.
const RECENT: Duration = Duration::from_millis(1);

impl Place {
    fn pin(&mut self) -> Result<()> {
        if self.pinned.is_none() {
            self.pinned = Some(Pinned::to(self.processor)?);
        }
        Ok(())
    }

    fn probe(&mut self) -> Probed {
        let probed = probe::probe();
        self.probed = Some((Instant::now(), probed));
        probed
    }

    /// Pins the thread, if possible to a clean processor. Returns the last probe.
    fn settle(&mut self) -> Result<Probed> {
        self.pin()?;
        let is_recent = |(at, probed): &(Instant, Probed)| probed.clean && at.elapsed() < RECENT;
        let mut probed = match self.probed.filter(is_recent) {
            Some((_, probed)) => probed,
            None => self.probe(),
        };
        if probed.clean {
            return Ok(probed);
        }
        for processor in self.spare.clone() {
            if processor == self.processor {
                continue;
            }
            // Drop the old pin first: it restores the earlier affinity.
            self.pinned = None;
            self.pinned = Some(Pinned::to(processor)?);
            self.processor = processor;
            probed = self.probe();
            if probed.clean {
                break;
            }
        }
        Ok(probed)
    }
}

/// Runs a thread of a crew: creates its work, and makes rounds until its channel is closed.
fn serve(
    index: usize,
    mut place: Place,
    make: &impl Fn() -> Result<Box<dyn Work>>,
    orders: &Receiver<Order>,
    done: &Sender<(usize, Result<Turn>)>,
) {
    let made = place.settle().and_then(|_| make());
    let mut work = match made {
        Ok(work) => {
            let (probes, used) = (Probes::NONE, Usage::default());
            let ready = Turn { calls: work.period(), ns: 0, clean: true, probes, used };
            if done.send((index, Ok(ready))).is_err() {
                return;
            }
            work
        }
        Err(error) => {
            // If this cannot be sent, the crew is gone.
            let _ = done.send((index, Err(error)));
            return;
        }
    };
    while let Ok(Order { plan, start }) = orders.recv() {
        let turn = turn(&mut place, &mut *work, plan, &start);
        let is_over = turn.is_err();
        if done.send((index, turn)).is_err() || is_over {
            return;
        }
    }
}

fn turn(
    place: &mut Place,
    work: &mut dyn Work,
    plan: RoundPlan,
    start: &StartingLine,
) -> Result<Turn> {
    // A failed thread must not leave the others waiting at the starting line.
    let ready = if plan.probes { place.settle().map(Some) } else { place.pin().map(|()| None) };
    let before = ready.and_then(|probed| {
        let began = Instant::now();
        while plan.settles && began.elapsed() < SETTLED_IN {
            work.time(1)?;
        }
        Ok(probed)
    });
    start.wait();
    let before = before?;
    let (mut calls, mut took) = (0, Duration::ZERO);
    let used_before = plan.probes.then(usage);
    while calls < plan.calls || took < plan.time || calls % plan.step != 0 {
        let left = plan.calls.checked_sub(calls).filter(|left| *left > 0);
        let batch = plan.batch.min(left.unwrap_or(plan.step - calls % plan.step));
        took += work.time(batch)?;
        calls += batch;
    }
    // Without probes, every round is clean.
    let ns = took.as_nanos() as u64;
    let (Some(before), Some(earlier)) = (before, used_before) else {
        let (probes, used) = (Probes::NONE, Usage::default());
        return Ok(Turn { calls, ns, clean: true, probes, used });
    };
    let now = usage();
    let used = Usage {
        ran: now.ran.saturating_sub(earlier.ran),
        waited: now.waited.saturating_sub(earlier.waited),
    };
    let after = place.probe();
    let probes = Probes::of(before.ns).and(Probes::of(after.ns));
    Ok(Turn { calls, ns, clean: before.clean && after.clean, probes, used })
}

/// The time that this thread has had a processor and has waited for one; 0 if it is not counted.
fn usage() -> Usage {
    let file = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    // Time on a processor, time spent waiting for one (both ns), and time slices.
    let mut times = file.split_whitespace().map(|ns| ns.parse().unwrap_or(0));
    let mut next = || Duration::from_nanos(times.next().unwrap_or(0));
    Usage { ran: next(), waited: next() }
}
