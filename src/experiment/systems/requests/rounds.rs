//! Rounds of requests: the capacity of a host, then open loops at shares of it.

use super::server::HostAsk;
use super::{STARTING, request};
use crate::case::Case;
use crate::lab::{Refused, ns};
use crate::measure::{Pinned, Tails, processors};
use crate::proc;
use crate::record::Point;
use crate::solo::{self, Serving};
use crate::supervise::{Stop, this_program};
use anyhow::{Context, Result, bail, ensure};
use std::net::SocketAddr;
use std::time::Duration;
use touchstone_systems::load::{Client, Made, Plan, arrivals};

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
    pub(super) ask: HostAsk,
    host: Serving<HostAsk, SocketAddr>,
    closed: Client,
    open: Client,
    is_warm: bool,
}

impl Row {
    /// Starts a host and connects to it. Fails if its executor cannot run the guest.
    pub(super) fn start(ask: HostAsk, case: &Case, stop: &Stop) -> Result<Self, Refused> {
        let command = this_program(&["systems", "--requests-host"]);
        let (host, address) = solo::start(&ask, command, STARTING, stop)?;
        let request = request(case, &ask.guest)?;
        let closed = Client::connect(address, CLOSED, request.clone())?;
        let open = Client::connect(address, OPEN, request)?;
        Ok(Self { ask, host, closed, open, is_warm: false })
    }

    /// Requests a second in a closed loop. Fails if the host ended or an answer was wrong.
    pub(super) fn capacity(&mut self, turn: &Turn) -> Result<f64> {
        let _pinned = pinned();
        if !self.is_warm {
            self.closed(turn)?;
            self.is_warm = true;
        }
        self.closed(turn)
    }

    /// An open loop at a share of a number of requests a second. Fails if the host ended.
    pub(super) fn load(
        &mut self,
        turn: &Turn,
        share: Share,
        seed: u64,
        point: Point,
    ) -> Result<Point> {
        let _pinned = pinned();
        let Share { percent, capacity } = share;
        let rate = capacity * f64::from(percent) / 100.0;
        ensure!(rate > 0.0, "the host answered nothing");
        let (time, least) = turn.open;
        let least = Duration::from_secs_f64((least as f64 / rate).min(LONGEST.as_secs_f64()));
        let time = time.max(least);
        let plan = arrivals(seed, rate, time);
        let before = self.cpu_ns()?;
        let made = self.open.run(&Plan::Open(&plan), time + PATIENCE)?;
        let cpu_ns = self.cpu_ns()?.saturating_sub(before) as f64 / made.len().max(1) as f64;
        let point = summary(point, &plan, &made, time);
        Ok(point.value("cpu_ns", cpu_ns).value("rss_kib", self.rss_kib()? as f64))
    }

    fn closed(&mut self, turn: &Turn) -> Result<f64> {
        let (time, least) = turn.closed;
        let made = self.closed.run(&Plan::Closed(time, least), time + LONGEST * 6)?;
        let right = made.iter().filter(|made| made.right).count();
        if right != made.len() || made.is_empty() {
            bail!("{} of {} answers were wrong", made.len() - right, made.len());
        }
        Ok(rate(&made))
    }

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

fn rate(made: &[Made]) -> f64 {
    let end = made.iter().map(|made| made.done).max().unwrap_or_default();
    made.len() as f64 / end.as_secs_f64().max(1e-9)
}

/// A point with the result of an open loop, without processor time and memory: planned requests a
/// second, answered ones until the last answer, and their times.
fn summary(point: Point, plan: &[Duration], made: &[Made], time: Duration) -> Point {
    let mut tails = Tails::default();
    for one in made {
        tails.record(ns(one.latency()));
    }
    // Both over the same time: a host that keeps up ends with the plan.
    let end = made.iter().map(|made| made.done).max().unwrap_or_default().max(time);
    let point = point.value("offered", plan.len() as f64 / time.as_secs_f64());
    let point = point.value("completed", made.len() as f64 / end.as_secs_f64());
    let point = point.values([
        ("unanswered", (plan.len() - made.len().min(plan.len())) as u64),
        ("wrong", made.iter().filter(|made| !made.right).count() as u64),
    ]);
    point.tail("latency", tails.tail())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Place;

    fn summary(plan: &[Duration], made: &[Made], time: Duration) -> Point {
        super::summary(Point::new("requests", Place::default(), 0), plan, made, time)
    }

    fn value(load: &Point, metric: &str) -> f64 {
        load.values[metric].0[0].total
    }

    /// Requests every millisecond to a host that answers one after the other, each in 100 µs,
    /// and stalls once.
    fn run(stall: Duration) -> Point {
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
        summary(&plan, &made, Duration::from_secs(1))
    }

    /// `true` if the host did not keep up.
    fn is_saturated(load: &Point) -> bool {
        let [completed, offered] = ["completed", "offered"].map(|metric| value(load, metric));
        value(load, "unanswered") > 0.0 || completed < offered * 0.97
    }

    #[test]
    fn a_stall_delays_the_requests_behind_it_and_shows_in_the_tail() {
        let (even, stalled) = (run(Duration::ZERO), run(Duration::from_millis(100)));
        assert!(value(&even, "latency.max_ns") < 110_000.0, "{even:?}");
        let counts = ["wrong", "unanswered"].map(|metric| value(&even, metric));
        assert!(!is_saturated(&even) && counts == [1.0, 0.0]);
        // The request that stalled, and about 110 behind it.
        let of = |metric| value(&stalled, metric);
        assert!(of("latency.p999_ns") >= 99_000_000.0, "{stalled:?}");
        assert!(of("latency.p99_ns") > 80_000_000.0, "{stalled:?}");
        assert!(of("latency.p50_ns") < 110_000.0, "{stalled:?}");
    }

    #[test]
    fn a_host_that_falls_behind_is_saturated() {
        let plan: Vec<Duration> = (0..100).map(Duration::from_millis).collect();
        let at = |place: u64| Duration::from_millis(2 * place);
        let made = plan.iter().zip(0..);
        let made: Vec<Made> = made
            .map(|(planned, place)| Made { planned: *planned, done: at(place), right: true })
            .collect();
        let load = summary(&plan, &made, Duration::from_millis(100));
        assert!(
            is_saturated(&load) && value(&load, "completed") < value(&load, "offered") * 0.6,
            "{load:?}"
        );
        let some = summary(&plan, &made[..40], Duration::from_millis(100));
        assert!(is_saturated(&some) && value(&some, "unanswered") == 60.0, "{some:?}");
    }
}
