//! Timing a row: both sides set up several times, checked, and timed in turns.

use super::{Reference, Row};
use crate::matrix::Cell;
use crate::measure::{AfterAnother, Beside, PairPlan, PairResult, ROUND, pair};
use crate::pairs::{against_raw, in_set_ups, record};
use crate::record::{PEERS, PairRecord, Provenance, Sampling, Status};
use crate::session::{Refused, Session, cores, refused_beforehand};
use anyhow::Result;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::{Engine, Strategy};

/// How long a row is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerPlan {
    /// Rounds of all set-ups together; each times both sides once.
    pub rounds: usize,
    /// The time that a row may take: after it, no further round and no further
    /// set-up is begun, once there are enough of them for an interval.
    pub at_most: Duration,
}

impl PeerPlan {
    /// As it stands in a record.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        Sampling {
            name: PEERS.to_owned(),
            warm_up_ms: 0,
            measurement_ms: u64::try_from(self.at_most.as_millis()).unwrap_or(u64::MAX),
            throughput_ms: 0,
        }
    }
}

/// Times a row.
///
/// # Errors
///
/// [`Refused`] with the reason: one of the two is not among the engines or not
/// for this machine or guest, or something failed.
pub fn measure(
    session: &mut Session,
    engines: &[Arc<dyn Engine>],
    row: &Row,
    plan: PeerPlan,
    provenance: &Provenance,
) -> Result<PairRecord, Refused> {
    let subject = cell(row, engines, &row.executor, row.threads)?;
    let reference = match &row.reference {
        Reference::Executor(name) => cell(row, engines, name, row.threads)?,
        Reference::OneThread => cell(row, engines, &row.executor, 1)?,
        Reference::Raw | Reference::Itself | Reference::After { .. } => subject.clone(),
    };
    if matches!(row.reference, Reference::Raw) && !subject.engine.has_raw(subject.strategy) {
        let reason = format!("{} has no raw reference", row.executor);
        return Err(Refused { status: Status::Unsupported, reason });
    }
    let pair_plan = PairPlan { rounds: plan.rounds, at_most: plan.at_most, round: ROUND };
    in_set_ups(session, pair_plan, plan.at_most, |session, plan| match &row.reference {
        Reference::Raw => against_raw(session, &subject, plan),
        Reference::Executor(_) | Reference::Itself | Reference::OneThread => {
            beside(session, &subject, &reference, plan)
        }
        Reference::After { another, skip, burst } => {
            let another = Cell::new(another, &row.guest, &subject.engine, subject.strategy, 1);
            after(session, &subject, &another, (*skip, *burst), plan)
        }
    })
    .and_then(|result| record(PEERS, &subject.key, row.reference.to_string(), result, provenance))
    .map_err(|error| match error.downcast::<Refused>() {
        Ok(refused) => refused,
        Err(error) => Refused { status: Status::Failed, reason: format!("{error:#}") },
    })
}

/// The cell of an executor by its name, if it can be had here.
fn cell(
    row: &Row,
    engines: &[Arc<dyn Engine>],
    executor: &str,
    threads: usize,
) -> Result<Cell, Refused> {
    let found = engines.iter().find_map(|engine| {
        let strategy = executor.strip_prefix(engine.id())?.strip_prefix('_')?;
        Some((engine, strategy.parse::<Strategy>().ok()?))
    });
    let Some((engine, strategy)) = found else {
        return Err(Refused {
            status: Status::Unsupported,
            reason: format!("there is no {executor} in this build"),
        });
    };
    let cell = Cell::new(&row.case, &row.guest, engine, strategy, threads);
    match refused_beforehand(&cell, cores()) {
        None => Ok(cell),
        Some(refused) => Err(Refused {
            reason: format!("{executor}: {}", refused.reason),
            status: refused.status,
        }),
    }
}

/// Two cells, each beside as many other threads as its own number says.
fn beside(
    session: &mut Session,
    subject: &Cell,
    reference: &Cell,
    plan: PairPlan,
) -> Result<PairResult> {
    let mut subject = Beside::start(&session.open(subject)?, subject.key.threads)?;
    // Loaded apart, also where it is the same cell.
    session.unload();
    let mut reference = Beside::start(&session.open(reference)?, reference.key.threads)?;
    let result = pair(plan, &mut subject, &mut reference)?;
    subject.done().others_kept_up()?;
    reference.done().others_kept_up()?;
    Ok(result)
}

/// A cell after a call of `another`, against the same cell on an instance that
/// never saw one.
fn after(
    session: &mut Session,
    cell: &Cell,
    another: &Cell,
    (skip, burst): (u64, u64),
    plan: PairPlan,
) -> Result<PairResult> {
    let another = session.open(another)?;
    let mut subject = AfterAnother::new(&session.open(cell)?, Some(another), skip, burst)?;
    session.unload();
    let mut reference = AfterAnother::new(&session.open(cell)?, None, skip, burst)?;
    pair(plan, &mut subject, &mut reference)
}
