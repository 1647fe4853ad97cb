//! Which records the report is made of.
//!
//! A record file grows by appending; it may hold several runs, machines, guest
//! builds and runtime versions. Only what can stand side by side is taken: one
//! machine, one build of each guest, one version of each runtime, and the
//! newest record of each cell. What is left out is counted.

use super::matrix::Matrix;
use super::order;
use crate::record::{CellRecord, Machine, PairRecord, Record, Status, SwapRecord};
use std::collections::{BTreeMap, BTreeSet};

/// The records of the report.
#[derive(Debug)]
pub(super) struct Selected {
    /// The machine they were all made on.
    pub machine: Machine,
    /// One record for each cell.
    pub matrix: Matrix,
    /// One record for each pair.
    pub pairs: Vec<PairRecord>,
    /// One record for each rung of a ladder, load and soak.
    pub swaps: Vec<SwapRecord>,
    /// What was not taken.
    pub left_out: LeftOut,
    /// Numbers of threads of the cells that the run itself skipped.
    pub skipped_threads: BTreeSet<usize>,
}

/// How many records were not taken, by the first reason that holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Made on another machine than the newest record.
    pub other_machine: usize,
    /// Made with other guest bytes than the newest record of that guest.
    pub other_guest: usize,
    /// Made with another runtime version than the newest record of that backend.
    pub other_version: usize,
    /// Made again later.
    pub superseded: usize,
}

impl LeftOut {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.other_machine + self.other_guest + self.other_version + self.superseded
    }
}

/// Takes what belongs together. `None` if there are no records.
/// The later line is the newer, as in [`newest`](crate::record::newest).
pub(super) fn select(mut records: Vec<Record>) -> Option<Selected> {
    let machine = records.last()?.provenance().machine.clone();
    let mut left_out = LeftOut::default();

    let all = records.len();
    records.retain(|record| record.provenance().machine == machine);
    left_out.other_machine = all - records.len();

    let mut cells = Vec::new();
    let mut pairs = BTreeMap::new();
    let mut swaps = BTreeMap::new();
    let mut skipped_threads = BTreeSet::new();
    for record in records {
        match record {
            Record::Cell(cell) if cell.status == Status::Skipped => {
                skipped_threads.insert(cell.key.threads);
            }
            Record::Cell(cell) => cells.push(*cell),
            Record::Pair(pair) => {
                if pairs.insert(pair_key(&pair), *pair).is_some() {
                    left_out.superseded += 1;
                }
            }
            Record::Swap(swap) => {
                if swaps.insert(swap.id(), *swap).is_some() {
                    left_out.superseded += 1;
                }
            }
        }
    }
    left_out.other_guest =
        keep_newest(&mut cells, |cell| &cell.key.guest, |cell| &cell.guest_sha256);
    left_out.other_version =
        keep_newest(&mut cells, |cell| &cell.key.backend, |cell| &cell.runtime_version);

    let mut newest = BTreeMap::new();
    for cell in cells {
        if newest.insert(cell.key.clone(), cell).is_some() {
            left_out.superseded += 1;
        }
    }
    let mut cells: Vec<CellRecord> = newest.into_values().collect();
    cells.sort_by(|a, b| {
        let (a, b) = (&a.key, &b.key);
        a.backend
            .cmp(&b.backend)
            .then_with(|| order::strategies(&a.strategy, &b.strategy))
            .then_with(|| order::guests(&a.guest, &b.guest))
            .then_with(|| order::cases(&a.case, &b.case))
            .then_with(|| a.threads.cmp(&b.threads))
    });
    let pairs = pairs.into_values().collect();
    let swaps = swaps.into_values().collect();
    let matrix = Matrix::new(cells);
    Some(Selected { machine, matrix, pairs, swaps, left_out, skipped_threads })
}

/// A pair's name, in the order in which the tables list them.
fn pair_key(pair: &PairRecord) -> (String, String, String, usize, String, String) {
    (
        pair.group.clone(),
        pair.case.clone(),
        pair.guest.clone(),
        pair.threads,
        pair.subject.clone(),
        pair.reference.clone(),
    )
}

/// For each `of`, keeps the cells whose `mark` is the one of its newest cell,
/// and returns how many went. `cells` must be in the order of the file. An empty mark
/// (a cell that failed before there was anything to name) decides nothing.
fn keep_newest(
    cells: &mut Vec<CellRecord>,
    of: impl Fn(&CellRecord) -> &String,
    mark: impl Fn(&CellRecord) -> &String,
) -> usize {
    let newest: BTreeMap<String, String> = cells
        .iter()
        .filter(|cell| !mark(cell).is_empty())
        .map(|cell| (of(cell).clone(), mark(cell).clone()))
        .collect();
    let before = cells.len();
    cells.retain(|cell| {
        mark(cell).is_empty() || newest.get(of(cell)).is_none_or(|wanted| wanted == mark(cell))
    });
    before - cells.len()
}
