//! Rounds of requests: the capacity of a host, then open loops at shares of it.

use super::server::{Ask, FromHost};
use super::{Load, STARTING, request};
use crate::case::Case;
use crate::lab::Refused;
use crate::measure::{Pinned, Tails, processors};
use crate::proc;
use crate::record::Status;
use crate::supervise::{Child, Heard, Stop, this_program};
use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};
use touchstone_systems::load::{Client, Made, arrivals};

/// Connections on which the capacity is found.
const CLOSED: usize = 8;
/// Connections of the open loops. Requests beyond them wait, and their time counts.
const OPEN: usize = 64;
/// How long answers may take after the last planned request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time of an open loop, however slow the host.
const LONGEST: Duration = Duration::from_secs(5);

/// A share of a number of requests a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) percent: u32,
    pub(super) capacity: f64,
}

/// How much is done in the turn of a host in a round.
pub(super) struct Turn {
    /// Rounds.
    pub(super) rounds: u32,
    /// Repetitions of the loops that compare clean with used instances.
    pub(super) pairs: u32,
    /// Time of each closed loop, and its least requests.
    closed: (Duration, usize),
    /// Time of each open loop, and its least requests.
    open: (Duration, usize),
}

impl Turn {
    pub(super) fn full() -> Self {
        // Many short loops: in longer ones, stalls of the machine would be in most of them.
        let [closed, open] = [15, 60].map(Duration::from_millis);
        Self { rounds: 21, pairs: 5, closed: (closed, 200), open: (open, 500) }
    }

    pub(super) fn small() -> Self {
        let (closed, open) = ((Duration::from_millis(10), 100), (Duration::ZERO, 400));
        Self { rounds: 1, pairs: 1, closed, open }
    }
}

/// A host that runs, and its clients.
pub(super) struct Row {
    ask: Ask,
    host: Child<Ask, FromHost>,
    closed: Client,
    open: Client,
    is_warm: bool,
}

impl Row {
    /// Starts a host and connects to it; the refusal if its executor cannot run the guest.
    pub(super) fn start(ask: Ask, case: &Case, stop: &Stop) -> Result<Result<Self, Refused>> {
        let command = this_program(&["systems", "--requests-host"]);
        let failed = |reason: String| Ok(Err(Refused { status: Status::Failed, reason }));
        let Some(mut host) = stop.spawn::<Ask, FromHost>(command)? else {
            return failed("the run was stopped".to_owned());
        };
        host.send(&ask);
        let address = match host.receive(Instant::now() + STARTING)? {
            Heard::Message(FromHost::Listening(address)) => address,
            Heard::Message(FromHost::Refused(status, reason)) => {
                return Ok(Err(Refused { status, reason }));
            }
            Heard::Ended(death) => return failed(format!("the host {death}")),
            Heard::Silent => return failed("the host did not start in time".to_owned()),
        };
        let request = request(case, &ask.guest)?;
        let closed = Client::connect(address, CLOSED, request.clone())?;
        let open = Client::connect(address, OPEN, request)?;
        Ok(Ok(Self { ask, host, closed, open, is_warm: false }))
    }

    pub(super) fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Requests a second that the host answers in a closed loop. Fails if the host ended or gives
    /// wrong answers only.
    pub(super) fn capacity(&mut self, turn: &Turn) -> Result<f64> {
        let _pinned = pinned();
        if !self.is_warm {
            self.closed(turn)?;
            self.is_warm = true;
        }
        self.closed(turn)
    }

    /// An open loop at a share of a number of requests a second. Fails if the host ended.
    pub(super) fn load(&mut self, turn: &Turn, share: Share, seed: u64) -> Result<Load> {
        let _pinned = pinned();
        let Share { percent, capacity } = share;
        let rate = capacity * f64::from(percent) / 100.0;
        ensure!(rate > 0.0, "the host answered nothing");
        let (time, least) = turn.open;
        let least = Duration::from_secs_f64((least as f64 / rate).min(LONGEST.as_secs_f64()));
        let time = time.max(least);
        let plan = arrivals(seed, rate, time);
        let before = self.cpu_ns()?;
        let made = self.open.open(&plan, time + PATIENCE)?;
        let cpu_ns = self.cpu_ns()?.saturating_sub(before) as f64 / made.len().max(1) as f64;
        let mut load = summary(percent, &plan, &made, time)?;
        (load.cpu_ns, load.rss_kib) = (cpu_ns, self.rss_kib()?);
        Ok(load)
    }

    fn closed(&mut self, turn: &Turn) -> Result<f64> {
        let (time, least) = turn.closed;
        let made = self.closed.closed(time, least, time + LONGEST * 6)?;
        let right = made.iter().filter(|made| made.right).count();
        if right != made.len() || made.is_empty() {
            bail!("{} of {} answers were wrong", made.len() - right, made.len());
        }
        Ok(rate(&made))
    }

    /// Processor time of the host's process so far.
    fn cpu_ns(&self) -> Result<u64> {
        proc::cpu_ns(self.host.pid()).context("the host ended")
    }

    fn rss_kib(&self) -> Result<u64> {
        let path = format!("/proc/{}/smaps_rollup", self.host.pid());
        let text = std::fs::read_to_string(path).context("the host ended")?;
        proc::kib(&text, "Rss").context("the kernel does not say what is resident")
    }
}

/// Keeps the client on the first processor.
fn pinned() -> Option<Pinned> {
    Pinned::to(*processors(2).ok()?.first()?).ok()
}

/// Answers a second.
fn rate(made: &[Made]) -> f64 {
    let end = made.iter().map(|made| made.done).max().unwrap_or_default();
    made.len() as f64 / end.as_secs_f64().max(1e-9)
}

/// The result of an open loop, without processor time and memory.
fn summary(percent: u32, plan: &[Duration], made: &[Made], time: Duration) -> Result<Load> {
    let mut tails = Tails::new()?;
    for one in made {
        tails.record(u64::try_from(one.latency().as_nanos()).unwrap_or(u64::MAX));
    }
    // Both over the same time: a host that keeps up ends with the plan.
    let end = made.iter().map(|made| made.done).max().unwrap_or_default().max(time);
    Ok(Load {
        percent,
        offered: plan.len() as f64 / time.as_secs_f64(),
        completed: made.len() as f64 / end.as_secs_f64(),
        unanswered: (plan.len() - made.len().min(plan.len())) as u64,
        wrong: made.iter().filter(|made| !made.right).count() as u64,
        latency: tails.tail(),
        cpu_ns: 0.0,
        rss_kib: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests every millisecond to a host that answers one after the other, each in 100 µs,
    /// and stalls once.
    fn run(stall: Duration) -> Load {
        let plan: Vec<Duration> = (0..1000).map(Duration::from_millis).collect();
        let mut free = Duration::ZERO;
        let made: Vec<Made> = plan
            .iter()
            .enumerate()
            .map(|(place, planned)| {
                let stall = if place == 500 { stall } else { Duration::ZERO };
                free = free.max(*planned) + Duration::from_micros(100) + stall;
                Made { planned: *planned, done: free, right: place != 3 }
            })
            .collect();
        summary(80, &plan, &made, Duration::from_secs(1)).unwrap()
    }

    /// `true` if the host did not keep up.
    fn is_saturated(load: &Load) -> bool {
        load.unanswered > 0 || load.completed < load.offered * 0.97
    }

    #[test]
    fn a_stall_delays_the_requests_behind_it_and_shows_in_the_tail() {
        let (even, stalled) = (run(Duration::ZERO), run(Duration::from_millis(100)));
        assert!(even.latency.max_ns < 110_000, "{even:?}");
        assert!(!is_saturated(&even) && even.wrong == 1 && even.unanswered == 0);
        // The request that stalled, and about 110 behind it.
        assert!(stalled.latency.p999_ns >= 100_000_000 * 99 / 100, "{stalled:?}");
        assert!(stalled.latency.p99_ns > 80_000_000, "{stalled:?}");
        assert!(stalled.latency.p50_ns < 110_000, "{stalled:?}");
    }

    #[test]
    fn a_host_that_falls_behind_is_saturated() {
        let plan: Vec<Duration> = (0..100).map(Duration::from_millis).collect();
        let at = |place: u64| Duration::from_millis(2 * place);
        let made = plan.iter().zip(0..);
        let made: Vec<Made> = made
            .map(|(planned, place)| Made { planned: *planned, done: at(place), right: true })
            .collect();
        let load = summary(95, &plan, &made, Duration::from_millis(100)).unwrap();
        assert!(is_saturated(&load) && load.completed < load.offered * 0.6, "{load:?}");
        let some = summary(95, &plan, &made[..40], Duration::from_millis(100)).unwrap();
        assert!(is_saturated(&some) && some.unanswered == 60, "{some:?}");
    }
}
