//! A host over HTTP under load: each executor in a process of its own, all in turns.

mod rounds;
mod server;

pub(crate) use server::serve;

use crate::case::{self, Case, GuestName};
use crate::experiment::{Asked, Host, Planned, Question, Said, Say, Terms, Workload};
use crate::lab::Refused;
use crate::plan::{Filter, Random, shuffled};
use crate::record::estimate::median_of;
use crate::record::{Executor, Place, Point, PointRefusal, Sample, Samples, Status, Tail, data};
use crate::supervise::Stop;
use anyhow::{Context, Result};
use rounds::{Row, Share, Turn};
use rustix::process::{getpriority_process, setpriority_process};
use serde::Deserialize;
use server::{Ask, InstanceState};
use std::collections::BTreeMap;
use std::time::Duration;

/// The settings of the declaration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    case: String,
    guest: GuestName,
    rows: Vec<WantedRow>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedRow {
    #[serde(deserialize_with = "data::executor")]
    executor: Executor,
    state: InstanceState,
}

impl Wanted {
    /// The place of a row.
    fn place(&self, Ask { executor, state, .. }: &Ask) -> Place {
        let place = Place::of(executor).with("case", &*self.case);
        let state: &str = (*state).into();
        place.with("guest", self.guest.to_string()).with("state", state)
    }
}

pub(super) struct UnderLoad;

pub(super) const WORKLOAD: &dyn Workload = &UnderLoad;

impl Workload for UnderLoad {
    fn plan(&self, _host: &mut Host, asked: &Asked) -> Result<Planned> {
        // All rows have their turn in each round, so they are one question. A kill loses it all.
        let filter = asked.filter.text();
        let question = Question { filter, process: None, ..Question::default() };
        Ok(Planned { questions: vec![question], ..Planned::default() })
    }

    fn answer(
        &self,
        host: Host,
        question: &Question,
        terms: &Terms,
        say: &mut Say<'_>,
    ) -> Result<Result<(), Refused>> {
        let wanted: Wanted =
            host.experiment.settings.clone().try_into().context("the settings of the requests")?;
        let case = case::find(&host.cases, &wanted.case)?;
        case.guest(&wanted.guest)?;
        let filter = Filter::new(question.filter.as_deref())?;
        let turn = if terms.small { Turn::small() } else { Turn::full() };
        let stop = &host.stop;
        Turns { host: &host, wanted: &wanted, turn, round: 0, seed: terms.seed, stop, say }
            .measure(case, &filter, terms)
            .map(Ok)
    }

    fn runs_here(&self) -> bool {
        true
    }
}

/// The places of the rows, those of an engine together: what changes with time is the same for
/// them. Each round has another order.
fn groups(rows: &[Row], random: &mut Random) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let engine = |place: usize| &rows[place].ask().executor.engine;
    for place in shuffled((0..rows.len()).collect::<Vec<_>>(), random) {
        match groups.iter_mut().find(|group| engine(group[0]) == engine(place)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// Shares of the capacity at which each row has one loop in a round, percent.
const SHARES: [u32; 2] = [50, 95];
/// Closed loops of a round: the capacity is their median.
const CLOSED_LOOPS: usize = 3;

/// The turns of the rows.
struct Turns<'a, 'b> {
    host: &'a Host,
    wanted: &'a Wanted,
    turn: Turn,
    round: u32,
    seed: u64,
    stop: &'a Stop,
    say: &'a mut Say<'b>,
}

/// The result of an open loop.
#[derive(Debug, Clone)]
struct Load {
    percent: u32,
    /// Planned requests a second.
    offered: f64,
    /// Answered requests a second, until the last answer.
    completed: f64,
    unanswered: u64,
    wrong: u64,
    latency: Tail,
    cpu_ns: f64,
    rss_kib: u64,
}

/// The share of the capacity at which rows are compared, percent.
const COMPARED: u32 = 80;

/// The results of a row in a round.
#[derive(Default)]
struct Found {
    capacities: Vec<f64>,
    loads: Vec<Load>,
    beside: Vec<Load>,
    /// The first failure at each place, whose other loops may have gone well.
    failed: BTreeMap<Place, Refused>,
}

impl Found {
    fn capacity(&self) -> Option<f64> {
        median_of(&self.capacities)
    }

    /// Keeps the result of a loop, or its failure.
    fn take<T>(
        &mut self,
        found: Result<T>,
        place: Place,
        kept: impl FnOnce(&mut Self) -> &mut Vec<T>,
    ) {
        match found {
            Ok(found) => kept(self).push(found),
            Err(error) => {
                self.failed.entry(place).or_insert_with(|| Refused::new(Status::Failed, error));
            }
        }
    }
}

/// An open loop.
struct Loop {
    place: usize,
    share: Share,
    /// `true` for a share of what the executor can do with used instances.
    is_beside: bool,
}

impl Turns<'_, '_> {
    /// The rows that the filter selects and the build has.
    fn measure(&mut self, case: &Case, filter: &Filter, terms: &Terms) -> Result<()> {
        let _first = First::new();
        let own = self.wanted.rows.iter().filter(|row| {
            let has_engine = self.host.engine(&row.executor.engine).is_ok();
            has_engine && filter.matches(&row.executor.to_string())
        });
        let mut rows = Vec::new();
        for WantedRow { executor, state } in own.cloned().collect::<Vec<_>>() {
            if self.stop.asked() {
                return Ok(());
            }
            (self.say)(Said::Step(format!("start {executor}, {state}")));
            let ask = Ask {
                executor,
                case: self.wanted.case.clone(),
                guest: self.wanted.guest.clone(),
                state,
                stall: terms.stall,
                artifacts: terms.artifacts.clone(),
            };
            let place = self.wanted.place(&ask);
            match Row::start(ask, case, self.stop)? {
                Ok(row) => rows.push(row),
                Err(refused) => self.refused(place, refused),
            }
        }
        for round in 0..self.turn.rounds {
            self.round = round;
            let seed = self.seed.wrapping_add(u64::from(round));
            for group in groups(&rows, &mut Random::new(seed)) {
                if !self.take(&mut rows, &group)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn refused(&mut self, place: Place, Refused { status, reason }: Refused) {
        (self.say)(Said::point(self.host.point(place, self.round).refused(status, reason)));
    }

    /// The capacities, then the open loops. `false` when the run was stopped.
    fn take(&mut self, rows: &mut [Row], group: &[usize]) -> Result<bool> {
        let mut found: BTreeMap<usize, Found> = BTreeMap::new();
        for _ in 0..CLOSED_LOOPS {
            for place in group {
                let row = &mut rows[*place];
                let capacity = row.capacity(&self.turn);
                if self.stop.asked() {
                    return Ok(false);
                }
                let own = found.entry(*place).or_default();
                own.take(capacity, self.wanted.place(row.ask()), |own| &mut own.capacities);
            }
        }
        let seed = self.seed.wrapping_add(u64::from(self.round));
        let mut random = Random::new(seed);
        for step in 0..self.turn.pairs {
            let loops = loops(rows, group, &found, step);
            // All rows have the same arrivals, in the unit of their mean distance.
            let seed = seed.wrapping_mul(31).wrapping_add(step.into());
            for Loop { place, share, is_beside } in shuffled(loops, &mut random) {
                let row = &mut rows[place];
                let (percent, load) = (share.percent, row.load(&self.turn, share, seed));
                if self.stop.asked() {
                    return Ok(false);
                }
                let of = if is_beside { USED } else { OWN };
                let at = at_share(self.wanted.place(row.ask()), of, percent);
                found.entry(place).or_default().take(load, at, |own| match is_beside {
                    true => &mut own.beside,
                    false => &mut own.loads,
                });
            }
        }
        for (place, found) in found {
            self.record(&rows[place], found);
        }
        Ok(true)
    }

    /// Records the points of a row in a round. A point whose loops failed in part has both the
    /// values of the others and the reason.
    fn record(&mut self, row: &Row, found: Found) {
        let place = self.wanted.place(row.ask());
        (self.say)(Said::Step(format!("round {} of {place}", self.round + 1)));
        let mut points = Vec::new();
        if let Some(capacity) = found.capacity() {
            let point = self.host.point(place.clone(), self.round);
            points.push(point.value("capacity", capacity));
        }
        for (of, loads) in [(OWN, &found.loads), (USED, &found.beside)] {
            let mut shares: BTreeMap<u32, Vec<&Load>> = BTreeMap::new();
            for load in loads {
                shares.entry(load.percent).or_default().push(load);
            }
            for (share, loads) in shares {
                let place = at_share(place.clone(), of, share);
                points.push(with_loads(self.host.point(place, self.round), &loads));
            }
        }
        let points =
            with_failures(points, found.failed, |place| self.host.point(place, self.round));
        points.into_iter().for_each(|point| (self.say)(Said::point(point)));
    }
}

/// Points with the failures at their places; a new one where no loop went well.
fn with_failures(
    mut points: Vec<Point>,
    failed: BTreeMap<Place, Refused>,
    new: impl Fn(Place) -> Point,
) -> Vec<Point> {
    for (place, Refused { status, reason }) in failed {
        let refusal = PointRefusal { status, reason };
        match points.iter_mut().find(|point| point.place == place) {
            Some(point) => point.refused = Some(refusal),
            None => points.push(Point { refused: Some(refusal), ..new(place) }),
        }
    }
    points
}

/// Whose capacity a load is a share of: the row's own, or that with used instances.
const OWN: &str = "own";
const USED: &str = "used";

/// The place of a row at a share of a capacity.
fn at_share(place: Place, of: &str, percent: u32) -> Place {
    place.with("of", of).with("share", u64::from(percent))
}

/// The loops of a step. The first step has all; the next ones are for the pairs of clean and used
/// instances of an executor.
fn loops(rows: &[Row], group: &[usize], found: &BTreeMap<usize, Found>, step: u32) -> Vec<Loop> {
    let mut all = Vec::new();
    for place in group {
        let ask = rows[*place].ask();
        let is_other =
            |other: &&usize| *other != place && rows[**other].ask().executor == ask.executor;
        let other = group.iter().find(is_other);
        let capacity = |place| found.get(place).and_then(Found::capacity);
        let mut add = |percent, of, is_beside| {
            let share = capacity(of).map(|capacity| Share { percent, capacity });
            all.extend(share.map(|share| Loop { place: *place, share, is_beside }));
        };
        if step == 0 {
            SHARES.into_iter().for_each(|percent| add(percent, place, false));
        }
        if step == 0 || other.is_some() {
            add(COMPARED, place, false);
        }
        if let Some(used) = other.filter(|_| ask.state == InstanceState::Clean) {
            add(COMPARED, used, true);
        }
    }
    all
}

/// A metric and its value in a loop.
type Value = (&'static str, fn(&Load) -> f64);

/// A point with the results of some loops, one sample each.
fn with_loads(point: Point, loads: &[&Load]) -> Point {
    let values: [Value; 11] = [
        ("offered", |load| load.offered),
        ("completed", |load| load.completed),
        ("unanswered", |load| load.unanswered as f64),
        ("wrong", |load| load.wrong as f64),
        ("cpu_ns", |load| load.cpu_ns),
        ("rss_kib", |load| load.rss_kib as f64),
        ("latency.calls", |load| load.latency.calls as f64),
        ("latency.p50_ns", |load| load.latency.p50_ns as f64),
        ("latency.p99_ns", |load| load.latency.p99_ns as f64),
        ("latency.p999_ns", |load| load.latency.p999_ns as f64),
        ("latency.max_ns", |load| load.latency.max_ns as f64),
    ];
    values.into_iter().fold(point, |point, (name, value)| {
        let samples = loads.iter().map(|load| Sample::single(value(load)));
        point.samples(name, Samples(samples.collect()))
    })
}

/// The request and its answer, as a client makes it.
fn request(case: &Case, guest: &str) -> Result<touchstone_systems::load::Request> {
    let input = case.input.bytes(None).context("the input of the requests")?;
    let answer = case.expect.output.bytes(None).context("the output of the requests")?;
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nx-contract: {guest}\r\nx-func: {}\r\n\
         content-length: {}\r\n\r\n",
        case.export,
        input.len()
    );
    let bytes = [head.as_bytes(), &input].concat();
    Ok(touchstone_systems::load::Request { bytes, status: 200, answer: answer.to_vec() })
}

/// Lets this thread, and the hosts that it starts, run before others on their processors until it
/// is dropped. A thread of the kernel that runs for some milliseconds would be in the tails.
struct First {
    before: i32,
}

impl First {
    /// `None` where the system does not grant it: only root may ask.
    fn new() -> Option<Self> {
        let before = getpriority_process(None).ok()?;
        setpriority_process(None, -20).ok()?;
        Some(Self { before })
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // To a lower priority anyone may change.
        let _ = setpriority_process(None, self.before);
    }
}

/// How long a host may take to compile and load its guest.
const STARTING: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_loop_hides_no_result_and_is_hidden_by_none() {
        let row = Place::default().with("state", "clean");
        let at = at_share(row.clone(), OWN, 50);
        let mut found = Found::default();
        found.take(Ok(8.0), row.clone(), |own| &mut own.capacities);
        for reason in ["first", "second"] {
            found.take(Err(anyhow::anyhow!(reason)), row.clone(), |own| &mut own.capacities);
        }
        found.take(Err(anyhow::anyhow!("broken")), at.clone(), |own| &mut own.loads);
        let new = |place| Point::new("requests", place, 3);
        let measured = new(row.clone()).value("capacity", found.capacity().unwrap());
        let refused = |point: Point, reason: &str| point.refused(Status::Failed, reason.to_owned());
        assert_eq!(
            with_failures(vec![measured.clone()], found.failed, new),
            [refused(measured, "first"), refused(new(at), "broken")]
        );
    }
}
