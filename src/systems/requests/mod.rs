//! A host over HTTP under load: each executor in a process of its own, all in turns.

mod rounds;
mod server;

pub use server::serve;

use super::{Measuring, Size};
use crate::case::{self, Case};
use crate::lab::Refused;
use crate::plan::{Random, shuffled};
use crate::record::{Executor, InstanceState, Refusal, Requests, Status, System, SystemFound};
use crate::scratch::Scratch;
use crate::tables;
use anyhow::{Context, Result};
use rounds::{Row, Turn};
use rustix::process::{getpriority_process, setpriority_process};
use serde::Deserialize;
use server::Ask;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    #[serde(deserialize_with = "tables::executor")]
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
    let wanted: Wanted = case::data(&default_file(), "the requests")?;
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
            if !turns(measuring, &wanted, &mut rows, &group, &turn, round)? {
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

/// The turns of an engine's rows in a round: the capacities, then the open loops. `false` when the
/// run was stopped.
fn turns(
    measuring: &mut Measuring<'_>,
    wanted: &Wanted,
    rows: &mut [Row],
    group: &[usize],
    turn: &Turn,
    round: u32,
) -> Result<bool> {
    let mut capacities: Vec<(usize, Option<f64>)> = Vec::new();
    for place in group {
        let capacity = rows[*place].capacity(turn);
        let Some(capacity) = taken(measuring, wanted, &rows[*place], capacity)? else {
            return Ok(false);
        };
        capacities.push((*place, capacity));
    }
    for (place, capacity) in &capacities {
        let Ask { executor, state, .. } = rows[*place].ask().clone();
        measuring.progress.next(format!("round {} of {executor}, {state}", round + 1));
        let Some(capacity) = *capacity else { continue };
        // Of an executor, used and clean instances get the same load.
        let is_clean = |(place, _): &&(usize, Option<f64>)| {
            let ask = rows[*place].ask();
            ask.executor == executor && ask.state == InstanceState::Clean
        };
        let clean = capacities.iter().find(is_clean).and_then(|(_, capacity)| *capacity);
        let seed = measuring.seed.wrapping_add(u64::from(round)) ^ *place as u64;
        let loads = rows[*place].loads(turn, clean.unwrap_or(capacity), seed);
        let loads = match taken(measuring, wanted, &rows[*place], loads)? {
            None => return Ok(false),
            Some(None) => continue,
            Some(Some(loads)) => loads,
        };
        if loads.iter().any(|load| load.wrong > 0) {
            measuring.failed = true;
            measuring.progress.print(&format!("{executor}, {state}: wrong answers"));
        }
        let (case, guest) = (wanted.case.clone(), wanted.guest.replace('-', "_"));
        let found = Requests { case, guest, state, round, capacity, loads };
        measuring.found(System { executor, found: SystemFound::Requests(found) })?;
    }
    Ok(true)
}

/// What a row found; nothing where it failed, which is recorded; `None` when the run was stopped.
fn taken<T>(
    measuring: &mut Measuring<'_>,
    wanted: &Wanted,
    row: &Row,
    found: Result<T>,
) -> Result<Option<Option<T>>> {
    match found {
        _ if measuring.stop.asked() => Ok(None),
        Ok(found) => Ok(Some(Some(found))),
        Err(error) => {
            let refused = Refused::new(Status::Failed, error);
            measuring.refused(refusal(&row.ask().executor, wanted, refused))?;
            Ok(Some(None))
        }
    }
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
