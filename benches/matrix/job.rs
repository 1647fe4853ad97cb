//! What a process is to do, and what stands in its records.

use crate::arguments::Arguments;
use anyhow::Result;
use std::collections::HashSet;
use std::path::Path;
use touchstone::guests::Guests;
use touchstone::matrix::Cell;
use touchstone::pairs::Pair;
use touchstone::plan::Plan;
use touchstone::provenance;
use touchstone::record::{self, Provenance, Record};
use touchstone::run::go_on;
use touchstone::session::{Session, config_for, cores, refused_beforehand};
use touchstone::worker::{Place, Worker};

pub(crate) struct Job<'a> {
    pub(crate) cells: Vec<&'a Cell>,
    pub(crate) pairs: Vec<&'a Pair>,
    pub(crate) plan: Plan,
    pub(crate) session: Session,
    pub(crate) provenance: Provenance,
    pub(crate) place: Place,
    /// Whether it is a worker's part of a run, whose cells are those that it was given.
    pub(crate) is_part: bool,
}

impl<'a> Job<'a> {
    /// All of some cells and pairs.
    pub(crate) fn new(arguments: &Arguments, cells: &'a [Cell], pairs: &'a [Pair]) -> Result<Self> {
        let cores = cores();
        let most = most_threads(cells);
        if most > cores {
            println!("rows of more than {cores} threads are skipped: there are {cores} processors");
        }
        let total = cells.iter().filter(|cell| is_run(cell)).count() + pairs.len();
        let plan = arguments.plan(total);
        Ok(Self {
            cells: cells.iter().collect(),
            pairs: pairs.iter().collect(),
            provenance: provenance::of_this_run(plan.sampling()),
            plan,
            session: session(cells),
            place: Place { total, ..Place::default() },
            is_part: false,
        })
    }

    /// What a worker's parent wants of it.
    pub(crate) fn of_worker(worker: &Worker, cells: &'a [Cell], pairs: &'a [Pair]) -> Self {
        Self {
            cells: cells.iter().filter(|cell| worker.is_to_do(&cell.key.id())).collect(),
            pairs: pairs.iter().filter(|pair| worker.is_to_do(&pair.id())).collect(),
            plan: worker.plan(),
            session: session(cells),
            provenance: worker.provenance(),
            place: worker.place(),
            is_part: true,
        }
    }

    /// Leaves out what the last run in a file has finished, and goes on with that run.
    pub(crate) fn go_on(&mut self, records: &Path, cells: &[Cell]) -> Result<()> {
        let Some(done) = go_on(records, &mut self.provenance, cells, &mut self.session)? else {
            println!("there is no run of this build on this machine to go on with");
            return Ok(());
        };
        println!("going on with the run {}: {} cells are done", self.provenance.run, done.len());
        let done: HashSet<String> = done.into_iter().collect();
        self.cells.retain(|cell| !done.contains(&cell.key.id()));
        self.pairs.retain(|pair| !done.contains(&pair.id()));
        self.place.total = self.cells.iter().filter(|cell| is_run(cell)).count() + self.pairs.len();
        Ok(())
    }

    /// Leaves out all but the cells that were disturbed when they were last timed.
    pub(crate) fn only_disturbed(&mut self, records: &Path) -> Result<()> {
        let disturbed: HashSet<String> = record::newest(record::load(records)?.records)
            .into_iter()
            .filter_map(|record| match record {
                Record::Cell(cell) => cell.is_disturbed().then(|| cell.key.id()),
                Record::Pair(_) | Record::Swap(_) => None,
            })
            .collect();
        self.cells.retain(|cell| disturbed.contains(&cell.key.id()));
        self.pairs.clear();
        self.place.total = self.cells.len();
        println!("{} cells were disturbed when they were last timed", self.cells.len());
        Ok(())
    }

    /// The backends of the cells and pairs, in their order.
    pub(crate) fn backends(&self) -> Vec<String> {
        let names = self.pairs.iter().map(|pair| &pair.cell.key.backend);
        let mut backends: Vec<String> = Vec::new();
        for name in self.cells.iter().map(|cell| &cell.key.backend).chain(names) {
            if !backends.contains(name) {
                backends.push(name.clone());
            }
        }
        backends
    }
}

/// Whether a cell is more than looked up.
pub(crate) fn is_run(cell: &Cell) -> bool {
    refused_beforehand(cell, cores()).is_none()
}

fn most_threads(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.key.threads).max().unwrap_or(0)
}

fn session(cells: &[Cell]) -> Session {
    Session::new(Guests::built(), config_for(most_threads(cells).min(cores())))
}
