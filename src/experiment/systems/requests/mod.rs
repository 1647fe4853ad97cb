//! A host over HTTP under load: each executor in a process of its own, all in turns.

mod rounds;
mod server;

pub(crate) use server::serve;

use crate::case::{self, Case, GuestName};
use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Terms, Workload};
use crate::lab::Refused;
use crate::plan::{Filter, Random, shuffled};
use crate::record::estimate::median_of;
use crate::record::{Executor, Place, Point, PointRefusal, data};
use anyhow::{Context, Result};
use rounds::{Row, Share, Turn};
use rustix::process::{getpriority_process, setpriority_process};
use serde::Deserialize;
use server::{HostAsk, InstanceState};
use std::collections::BTreeMap;
use std::time::Duration;

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
    fn place(&self, HostAsk { executor, state, .. }: &HostAsk) -> Place {
        let place = Place::of(executor).with("case", &*self.case);
        let state: &str = (*state).into();
        place.with("guest", &*self.guest.to_string()).with("state", state)
    }
}

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, _host: &mut Host, asked: &Asked) -> Result<Planned> {
        // All rows have their turn in each round, so they are one question. A kill loses it all.
        let filter = asked.filter.text();
        let question = Question { filter, process: None, ..Question::default() };
        Ok(Planned { questions: vec![question], ..Planned::default() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { host, question, terms } = ask;
        let wanted: Wanted =
            host.experiment.settings.clone().try_into().context("the settings of the requests")?;
        let case = case::find(&host.cases, &wanted.case)?;
        case.guest(&wanted.guest)?;
        let filter = Filter::new(question.filter.as_deref())?;
        let turn = if terms.small { Turn::small() } else { Turn::full() };
        Turns { host: &host, wanted: &wanted, turn, round: 0, seed: terms.seed, say }
            .measure(case, &filter, terms)
    }

    fn runs_here(&self) -> bool {
        true
    }
}

/// The indices of the rows, those of an engine together: what changes with time is the same for
/// them. Each round has another order.
fn groups(rows: &[Row], random: &mut Random) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let engine = |row: usize| &rows[row].ask.executor.engine;
    for row in shuffled((0..rows.len()).collect::<Vec<_>>(), random) {
        match groups.iter_mut().find(|group| engine(group[0]) == engine(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Shares of the capacity at which each row has one loop in a round, percent.
const SHARES: [u32; 2] = [50, 95];
/// The share of the capacity at which rows are compared, percent.
const COMPARED: u32 = 80;
/// Closed loops of a round: the capacity is their median.
const CLOSED_LOOPS: usize = 3;

struct Turns<'a, 'b> {
    host: &'a Host,
    wanted: &'a Wanted,
    turn: Turn,
    round: u32,
    seed: u64,
    say: &'a mut Say<'b>,
}

/// An open loop.
struct Loop {
    row: usize,
    share: Share,
    /// Whose capacity the share is of: the row's own, or that with used instances.
    of: &'static str,
}

impl Turns<'_, '_> {
    /// The rows that the filter selects and the build has.
    fn measure(&mut self, case: &Case, filter: &Filter, terms: &Terms) -> Result<(), Refused> {
        let _first = First::new();
        let own = self.wanted.rows.iter().filter(|row| {
            let has_engine = self.host.engine(&row.executor.engine).is_ok();
            has_engine && filter.matches(&row.executor.to_string())
        });
        let mut rows = Vec::new();
        for WantedRow { executor, state } in own.cloned().collect::<Vec<_>>() {
            if self.host.stop.asked() {
                return Ok(());
            }
            (self.say)(Said::Step(format!("start {executor}, {state}")));
            let ask = HostAsk {
                executor,
                case: self.wanted.case.clone(),
                guest: self.wanted.guest.clone(),
                state,
                stall: terms.stall,
                artifacts: terms.artifacts.clone(),
            };
            let point = self.host.point(self.wanted.place(&ask), self.round);
            match Row::start(ask, case, &self.host.stop) {
                Ok(row) => rows.push(row),
                Err(Refused { status, reason }) => {
                    (self.say)(Said::point(point.refused(status, reason)));
                }
            }
        }
        for round in 0..self.turn.rounds {
            self.round = round;
            let seed = self.seed.wrapping_add(u64::from(round));
            for group in groups(&rows, &mut Random::new(seed)) {
                if !self.take(&mut rows, &group, seed) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The capacities, then the open loops. `false` when the run was stopped.
    fn take(&mut self, rows: &mut [Row], group: &[usize], seed: u64) -> bool {
        let mut found = Found::default();
        let new = |place| self.host.point(place, self.round);
        let places: Vec<Place> = rows.iter().map(|row| self.wanted.place(&row.ask)).collect();
        let mut capacities: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for _ in 0..CLOSED_LOOPS {
            for row in group {
                let capacity = rows[*row].capacity(&self.turn);
                if self.host.stop.asked() {
                    return false;
                }
                match capacity {
                    Ok(capacity) => capacities.entry(*row).or_default().push(capacity),
                    Err(error) => found.take(new(places[*row].clone()), Err(error)),
                }
            }
        }
        let medians = capacities.iter().filter_map(|(row, all)| Some((*row, median_of(all)?)));
        let capacities: BTreeMap<usize, f64> = medians.collect();
        for (row, capacity) in &capacities {
            let point = new(places[*row].clone());
            found.take(point.clone(), Ok(point.value("capacity", *capacity)));
        }
        let mut random = Random::new(seed);
        for step in 0..self.turn.pairs {
            let loops = loops(rows, group, &capacities, step);
            // All rows have the same arrivals, in the unit of their mean distance.
            let seed = seed.wrapping_mul(31).wrapping_add(step.into());
            for Loop { row, share, of } in shuffled(loops, &mut random) {
                let point = new(at_share(places[row].clone(), of, share.percent));
                let load = rows[row].load(&self.turn, share, seed, point.clone());
                if self.host.stop.asked() {
                    return false;
                }
                found.take(point, load);
            }
        }
        for row in group {
            (self.say)(Said::Step(format!("round {} of {}", self.round + 1, places[*row])));
        }
        found.0.into_values().for_each(|point| (self.say)(Said::point(point)));
        true
    }
}

/// The points of a group in a round. A point whose loops failed in part has both the values of the
/// others and the first reason.
#[derive(Default)]
struct Found(BTreeMap<Place, Point>);

impl Found {
    /// Adds the samples of a loop to those at its place, or the reason why it failed.
    fn take(&mut self, new: Point, found: Result<Point>) {
        let point = self.0.entry(new.place.clone()).or_insert(new);
        match found {
            Ok(found) => found.values.into_iter().for_each(|(metric, samples)| {
                point.values.entry(metric).or_default().0.extend(samples.0);
            }),
            Err(error) => {
                let Refused { status, reason } = error.into();
                point.refused.get_or_insert(PointRefusal { status, reason });
            }
        }
    }
}

const OWN: &str = "own";
const USED: &str = "used";

fn at_share(place: Place, of: &str, percent: u32) -> Place {
    place.with("of", of).with("share", u64::from(percent))
}

/// The loops of a step. The first step has all; the next ones are for the pairs of clean and used
/// instances of an executor.
fn loops(rows: &[Row], group: &[usize], capacities: &BTreeMap<usize, f64>, step: u32) -> Vec<Loop> {
    let mut all = Vec::new();
    for row in group {
        let ask = &rows[*row].ask;
        let is_other = |other: &&usize| *other != row && rows[**other].ask.executor == ask.executor;
        let other = group.iter().find(is_other);
        let mut add = |percent, row_of: &usize, of| {
            let share =
                capacities.get(row_of).map(|capacity| Share { percent, capacity: *capacity });
            all.extend(share.map(|share| Loop { row: *row, share, of }));
        };
        if step == 0 {
            SHARES.into_iter().for_each(|percent| add(percent, row, OWN));
        }
        if step == 0 || other.is_some() {
            add(COMPARED, row, OWN);
        }
        if let Some(used) = other.filter(|_| ask.state == InstanceState::Clean) {
            add(COMPARED, used, USED);
        }
    }
    all
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
    use crate::record::{Sample, Samples, Status};

    #[test]
    fn a_failed_loop_hides_no_result_and_is_hidden_by_none() {
        let row = Place::default().with("state", "clean");
        let new = |place: &Place| Point::new("requests", place.clone(), 3);
        let at = at_share(row.clone(), OWN, 50);
        let mut found = Found::default();
        let measured = new(&row).value("capacity", 8.0);
        found.take(new(&row), Ok(measured.clone()));
        for reason in ["first", "second"] {
            found.take(new(&row), Err(anyhow::anyhow!(reason)));
        }
        found.take(new(&at), Err(anyhow::anyhow!("broken")));
        found.take(new(&at), Ok(new(&at).value("wrong", 1.0)));
        found.take(new(&at), Ok(new(&at).value("wrong", 2.0)));
        let refused = |point: Point, reason: &str| point.refused(Status::Failed, reason.to_owned());
        let both = Samples([1.0, 2.0].map(Sample::single).to_vec());
        let broken = refused(new(&at).samples("wrong", both), "broken");
        let expected = BTreeMap::from([(row, refused(measured, "first")), (at, broken)]);
        assert_eq!(found.0, expected);
    }
}
