//! A host over HTTP under load: each executor in a process of its own, all in turns.

mod rounds;
mod server;

pub use server::serve;

use super::{Measuring, Size};
use crate::case::{self, Case};
use crate::lab::Refused;
use crate::plan::{Random, shuffled};
use crate::record::{Executor, InstanceState, Refusal, Requests, Status, System, SystemFound};
use crate::run::artifacts;
use crate::tables;
use anyhow::{Context, Result};
use rounds::{Row, Turn};
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
    let artifacts = artifacts()?;
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
        // Each round has another order.
        let seed = measuring.seed.wrapping_add(u64::from(round));
        let order = shuffled((0..rows.len()).collect::<Vec<_>>(), &mut Random::new(seed));
        for place in order {
            let row = &mut rows[place];
            if measuring.stop.asked() {
                return Ok(());
            }
            let Ask { executor, state, .. } = row.ask().clone();
            measuring.progress.next(format!("round {} of {executor}, {state}", round + 1));
            match row.round(&turn, seed ^ place as u64) {
                Ok((capacity, loads)) => {
                    if loads.iter().any(|load| load.wrong > 0) {
                        measuring.failed = true;
                        measuring.progress.print(&format!("{executor}, {state}: wrong answers"));
                    }
                    let (case, guest) = (wanted.case.clone(), wanted.guest.replace('-', "_"));
                    let found = Requests { case, guest, state, round, capacity, loads };
                    measuring.found(System { executor, found: SystemFound::Requests(found) })?;
                }
                Err(_) if measuring.stop.asked() => return Ok(()),
                Err(error) => {
                    let refused = Refused::new(Status::Failed, error);
                    measuring.refused(refusal(&executor, &wanted, refused))?;
                }
            }
        }
    }
    Ok(())
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

/// How long a host may take to compile and load its guest.
const STARTING: Duration = Duration::from_secs(120);
