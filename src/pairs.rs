//! Pairs in turns: each adapter against its runtime's raw interface, each executor
//! against one that the case names, and a cell against itself.

use crate::matrix::{Cell, Filter};
use crate::measure::{Caller, PairPlan, PairResult, Raw, pair};
use crate::provenance;
use crate::record::{CellKey, PairRecord, Provenance};
use crate::session::{Session, refused_beforehand};
use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use touchstone_executor::abi::Abi;
use touchstone_executor::{CodeFrom, RawCall};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The adapter against the raw interface of its runtime.
    Overhead,
    /// An executor against the one that the case names for it.
    Against,
    /// A cell against itself: what the machine lets anyone believe.
    Null,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Overhead => "overhead",
            Self::Against => "against",
            Self::Null => "null",
        }
    }
}

/// A pair to be timed.
pub struct Pair {
    /// What is compared.
    pub kind: Kind,
    /// The cell that is judged, and for [`Kind::Null`] its own reference.
    pub cell: Cell,
    /// What it is held against, for [`Kind::Against`].
    pub other: Option<Cell>,
}

impl Pair {
    /// Name for filters: `overhead/<executor>/<case>_from_<guest>/<n>_threads`.
    #[must_use]
    pub fn id(&self) -> String {
        let key = &self.cell.key;
        format!("{}/{}/{}/{}_threads", self.kind.name(), key.executor(), key.work(), key.threads)
    }

    /// What the subject is held against, in words.
    fn reference(&self) -> String {
        match self.kind {
            Kind::Overhead => format!("raw API of {}", self.cell.engine.version()),
            Kind::Against => {
                self.other.as_ref().map_or_else(String::new, |other| other.key.executor())
            }
            Kind::Null => "the same cell again".to_owned(),
        }
    }
}

/// The pairs among some cells: one thread, the first guest of each case. Raw
/// interfaces, null rows and executors against others: code compiled in process, and
/// the null row once per engine, for the last strategy that is the runtime's own.
#[must_use]
pub fn pairs(cells: &[Cell]) -> Vec<Pair> {
    let candidates: Vec<&Cell> = cells
        .iter()
        .filter(|cell| {
            cell.key.threads == 1
                && cell.case.guests.first() == Some(&cell.guest)
                && refused_beforehand(cell, 1).is_none()
        })
        .collect();
    let with_raw = candidates.iter().filter(|cell| {
        cell.case.abi == Abi::Substrate
            && cell.strategy.code == CodeFrom::InProcess
            && cell.engine.has_raw(cell.strategy)
    });
    let mut pairs: Vec<Pair> = with_raw
        .map(|cell| Pair { kind: Kind::Overhead, cell: (*cell).clone(), other: None })
        .collect();
    for index in 0..pairs.len() {
        let cell = &pairs[index].cell;
        let same = |other: &Pair| {
            other.cell.key.case == cell.key.case && other.cell.key.backend == cell.key.backend
        };
        if !pairs[index + 1..].iter().any(|other| other.kind == Kind::Overhead && same(other)) {
            let cell = cell.clone();
            pairs.push(Pair { kind: Kind::Null, cell, other: None });
        }
    }
    for cell in candidates.iter().filter(|cell| cell.strategy.code == CodeFrom::InProcess) {
        let named = |other: &&&Cell| {
            other.key.case == cell.key.case
                && other.key.executor() != cell.key.executor()
                && cell.case.against.as_ref() == Some(&other.key.executor())
        };
        if let Some(other) = candidates.iter().find(named) {
            let other = Some((*other).clone());
            pairs.push(Pair { kind: Kind::Against, cell: (*cell).clone(), other });
        }
    }
    pairs
}

/// The pairs that a filter means.
#[must_use]
pub fn select(pairs: Vec<Pair>, filter: &Filter) -> Vec<Pair> {
    pairs.into_iter().filter(|pair| filter.matches(&pair.id())).collect()
}

/// How often both sides are set up anew. Where a memory happens to lie can make
/// one side of a pair faster by a tenth for the life of a process; five places
/// each say more than one.
const SET_UPS: usize = 5;

/// Times a pair after both sides gave the expected output.
///
/// # Errors
///
/// When a side cannot be set up, gives another output, or fails.
pub fn measure(
    session: &mut Session,
    pair_to_time: &Pair,
    plan: PairPlan,
    provenance: &Provenance,
) -> Result<PairRecord> {
    let result =
        in_set_ups(session, plan, Duration::MAX, |session, plan| match pair_to_time.kind {
            Kind::Overhead => against_raw(session, &pair_to_time.cell, plan),
            Kind::Null | Kind::Against => {
                let cell = &pair_to_time.cell;
                let mut subject = Caller::new(&session.open(cell)?)?;
                // Loaded apart, like the two sides of any other pair.
                session.unload();
                let opened = session.open(pair_to_time.other.as_ref().unwrap_or(cell))?;
                pair(plan, &mut subject, &mut Caller::new(&opened)?)
            }
        })?;
    let key = &pair_to_time.cell.key;
    record(pair_to_time.kind.name(), key, pair_to_time.reference(), result, provenance)
}

/// The adapter of a cell and its runtime's raw interface, timed in turns.
///
/// # Errors
///
/// When a side cannot be set up, gives another output, or fails.
pub(crate) fn against_raw(
    session: &mut Session,
    cell: &Cell,
    plan: PairPlan,
) -> Result<PairResult> {
    let opened = session.open(cell)?;
    let guest = session.guest(cell)?;
    let call = RawCall {
        strategy: cell.strategy,
        config: session.config(),
        export: &cell.case.export,
        input: &opened.input,
    };
    let raw = cell.engine.raw(&guest, &call)?.context("there is no raw reference")?;
    pair(plan, &mut Caller::new(&opened)?, &mut Raw::new(raw, &opened)?)
}

/// Sets up and times [`SET_UPS`] times; `time` is given a share of the plan. After
/// `patience` no further set-up is begun, once there are rounds for an interval:
/// some take seconds to load.
///
/// # Errors
///
/// Those of `time`.
pub(crate) fn in_set_ups(
    session: &mut Session,
    plan: PairPlan,
    patience: Duration,
    mut time: impl FnMut(&mut Session, PairPlan) -> Result<PairResult>,
) -> Result<PairResult> {
    let part = PairPlan {
        rounds: plan.rounds.div_ceil(SET_UPS).max(2),
        at_most: plan.at_most / SET_UPS as u32,
        ..plan
    };
    let started = Instant::now();
    let (mut rounds, mut disturbed) = (Vec::new(), Vec::new());
    for _ in 0..SET_UPS {
        session.unload();
        let result = time(session, part)?;
        disturbed.extend(result.disturbed.iter().map(|round| rounds.len() + round));
        rounds.extend(result.rounds);
        let so_far = PairResult::of(rounds.clone(), disturbed.clone())?;
        if started.elapsed() > patience && so_far.ratio.interval.is_some() {
            return Ok(so_far);
        }
    }
    PairResult::of(rounds, disturbed)
}

/// What a pair came to, as it is stored.
///
/// # Errors
///
/// When there are too few rounds for an interval.
pub(crate) fn record(
    group: &str,
    key: &CellKey,
    reference: String,
    result: PairResult,
    provenance: &Provenance,
) -> Result<PairRecord> {
    let (ratio_low, ratio_high) =
        result.ratio.interval.context("too few rounds for an interval")?;
    Ok(PairRecord {
        group: group.to_owned(),
        case: key.case.clone(),
        guest: key.guest.clone(),
        threads: key.threads,
        subject: key.executor(),
        reference,
        provenance: Provenance { recorded_at: provenance::now(), ..provenance.clone() },
        ratio: result.ratio.median,
        ratio_low,
        ratio_high,
        subject_ns: result.subject_ns,
        reference_ns: result.reference_ns,
        rounds: result.rounds,
        disturbed: result.disturbed,
    })
}
