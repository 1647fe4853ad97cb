//! A host over HTTP under load: each executor in a process of its own, all in turns.

mod rounds;
mod server;

pub use server::serve;

use super::{Measuring, Size};
use crate::case::{self, Case};
use crate::lab::Refused;
use crate::plan::{Random, shuffled};
use crate::record::estimate::of_values;
use crate::record::{
    Executor, InstanceState, Load, Refusal, Requests, Status, System, SystemFound, data,
};
use anyhow::{Context, Result};
use rounds::{Row, Share, Turn};
use rustix::process::{getpriority_process, setpriority_process};
use serde::Deserialize;
use server::Ask;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchstone_executor::Scratch;

/// What is measured: the data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    case: String,
    guest: String,
    rows: Vec<WantedRow>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedRow {
    #[serde(deserialize_with = "data::executor")]
    executor: Executor,
    state: InstanceState,
}

fn default_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/requests.toml")
}

/// Measures the rows of `benches/requests.toml` that the filter selects and the build has.
///
/// # Errors
///
/// When a record cannot be written, or the file of the rows is wrong.
pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<()> {
    let wanted: Wanted = data::read(default_file(), "the requests")?;
    let cases = case::built_in()?;
    let case = case::find(&cases, &wanted.case)?;
    case.guest(&wanted.guest)?;
    let artifacts = Scratch::new()?;
    let _first = First::new();
    let own = wanted.rows.iter().filter(|row| {
        let has_engine = measuring.engines.iter().any(|own| own.id() == row.executor.engine);
        has_engine && measuring.filter.matches(&row.executor.to_string())
    });
    let own: Vec<WantedRow> = own.cloned().collect();
    let turn = match measuring.size {
        Size::Full => Turn::full(),
        Size::Small => Turn::small(),
    };
    measuring.progress.add(own.len() * (turn.rounds as usize + 1));
    let mut rows = Vec::new();
    for WantedRow { executor, state } in own {
        if measuring.stop.asked() {
            return Ok(());
        }
        measuring.progress.next(format!("start {executor}, {state}"));
        let ask = Ask {
            executor: executor.clone(),
            case: wanted.case.clone(),
            guest: wanted.guest.clone(),
            state,
            stall: measuring.stall,
            artifacts: artifacts.path().to_owned(),
        };
        match Row::start(ask, case, measuring.stop)? {
            Ok(row) => rows.push(row),
            Err(refused) => measuring.refused(refusal(&executor, &wanted, refused))?,
        }
    }
    for round in 0..turn.rounds {
        let seed = measuring.seed.wrapping_add(u64::from(round));
        for group in groups(&rows, &mut Random::new(seed)) {
            let mut turns = Turns { measuring, wanted: &wanted, turn: &turn, round };
            if !turns.take(&mut rows, &group)? {
                return Ok(());
            }
        }
    }
    Ok(())
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

/// The turns of an engine's rows in a round.
struct Turns<'a, 'b> {
    measuring: &'a mut Measuring<'b>,
    wanted: &'a Wanted,
    turn: &'a Turn,
    round: u32,
}

/// What a row has found in a round.
#[derive(Default)]
struct Found {
    capacities: Vec<f64>,
    loads: Vec<Load>,
    beside: Vec<Load>,
}

impl Found {
    fn capacity(&self) -> Option<f64> {
        Some(of_values(&self.capacities)?.median)
    }
}

/// An open loop.
struct Loop {
    place: usize,
    share: Share,
    /// Whether it is a share of what the executor can do with used instances.
    is_beside: bool,
}

impl Turns<'_, '_> {
    /// The capacities, then the open loops. `false` when the run was stopped.
    fn take(&mut self, rows: &mut [Row], group: &[usize]) -> Result<bool> {
        let mut found: BTreeMap<usize, Found> = BTreeMap::new();
        for _ in 0..CLOSED_LOOPS {
            for place in group {
                let capacity = rows[*place].capacity(self.turn);
                let Some(capacity) = self.taken(&rows[*place], capacity)? else {
                    return Ok(false);
                };
                found.entry(*place).or_default().capacities.extend(capacity);
            }
        }
        let seed = self.measuring.seed.wrapping_add(u64::from(self.round));
        let mut random = Random::new(seed);
        for step in 0..self.turn.pairs {
            let loops = loops(rows, group, &found, step);
            // All rows have the same arrivals, in the unit of their mean distance.
            let seed = seed.wrapping_mul(31).wrapping_add(step.into());
            for Loop { place, share, is_beside } in shuffled(loops, &mut random) {
                let load = rows[place].load(self.turn, share, seed);
                let Some(load) = self.taken(&rows[place], load)? else { return Ok(false) };
                let found = found.entry(place).or_default();
                if is_beside { &mut found.beside } else { &mut found.loads }.extend(load);
            }
        }
        for (place, found) in found {
            self.record(&rows[place], found)?;
        }
        Ok(true)
    }

    fn record(&mut self, row: &Row, found: Found) -> Result<()> {
        let Ask { executor, state, .. } = row.ask().clone();
        self.measuring.progress.next(format!("round {} of {executor}, {state}", self.round + 1));
        let Some(capacity) = found.capacity() else { return Ok(()) };
        let Found { loads, beside, .. } = found;
        if loads.iter().chain(&beside).any(|load| load.wrong > 0) {
            self.measuring.failed = true;
            self.measuring.progress.print(&format!("{executor}, {state}: wrong answers"));
        }
        let (case, guest) = (self.wanted.case.clone(), self.wanted.guest.replace('-', "_"));
        let round = self.round;
        let found = Requests { case, guest, state, round, capacity, loads, beside };
        self.measuring.found(System { executor, found: SystemFound::Requests(found) })
    }

    /// What a row found; nothing where it failed, which is recorded; `None` when the run was
    /// stopped.
    fn taken<T>(&mut self, row: &Row, found: Result<T>) -> Result<Option<Option<T>>> {
        match found {
            _ if self.measuring.stop.asked() => Ok(None),
            Ok(found) => Ok(Some(Some(found))),
            Err(error) => {
                let refused = Refused::new(Status::Failed, error);
                self.measuring.refused(refusal(&row.ask().executor, self.wanted, refused))?;
                Ok(Some(None))
            }
        }
    }
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
            add(Load::COMPARED, place, false);
        }
        if let Some(used) = other.filter(|_| ask.state == InstanceState::Clean) {
            add(Load::COMPARED, used, true);
        }
    }
    all
}

fn refusal(executor: &Executor, wanted: &Wanted, refused: Refused) -> Refusal {
    Refusal {
        engine: executor.engine.clone(),
        strategy: Some(executor.strategy),
        guest: Some(wanted.guest.replace('-', "_")),
        case: Some(wanted.case.clone()),
        threads: None,
        status: refused.status,
        reason: refused.reason,
    }
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
