//! The selected cells as a table that can be asked.

use super::order;
use super::rank::Timing;
use crate::record::{CellRecord, Status};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A backend with a strategy: a column of the tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Executor {
    /// Backend, as the records name it.
    pub backend: String,
    /// Strategy, as the records name it.
    pub strategy: String,
}

impl Executor {
    /// The name in tables and charts.
    pub(super) fn name(&self) -> String {
        format!("{}_{}", self.backend, self.strategy)
    }

    /// The same without regard to where its code comes from.
    pub(super) fn base(&self) -> Self {
        self.with(self.strategy.strip_suffix(order::PRECOMPILED).unwrap_or(&self.strategy))
    }

    /// The same backend with another strategy.
    pub(super) fn with(&self, strategy: &str) -> Self {
        Self { backend: self.backend.clone(), strategy: strategy.to_owned() }
    }
}

/// A case on a guest: what is done, whoever does it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Work {
    /// Guest module.
    pub guest: String,
    /// Case.
    pub case: String,
}

/// The cells with the lists of their names, all in the order of the tables.
#[derive(Debug)]
pub(super) struct Matrix {
    cells: Vec<CellRecord>,
    /// Where the cells of each executor stand: thousands of cells are looked up a hundred
    /// thousand times.
    of_executors: HashMap<Executor, Vec<usize>>,
    /// The same for each work.
    of_works: HashMap<Work, Vec<usize>>,
    /// Every executor that has a cell.
    pub executors: Vec<Executor>,
    /// Every case on every guest that has a cell.
    pub works: Vec<Work>,
}

impl Matrix {
    /// Takes cells that are in the order of the tables.
    pub(super) fn new(cells: Vec<CellRecord>) -> Self {
        let mut executors: Vec<Executor> = cells.iter().map(executor_of).collect();
        executors.dedup();
        let works: BTreeSet<Work> = cells.iter().map(work_of).collect();
        let mut works: Vec<Work> = works.into_iter().collect();
        works.sort_by(|a, b| {
            order::guests(&a.guest, &b.guest).then_with(|| order::cases(&a.case, &b.case))
        });
        let mut of_executors: HashMap<Executor, Vec<usize>> = HashMap::new();
        let mut of_works: HashMap<Work, Vec<usize>> = HashMap::new();
        for (position, cell) in cells.iter().enumerate() {
            of_executors.entry(executor_of(cell)).or_default().push(position);
            of_works.entry(work_of(cell)).or_default().push(position);
        }
        Self { cells, of_executors, of_works, executors, works }
    }

    /// All cells.
    pub(super) fn cells(&self) -> &[CellRecord] {
        &self.cells
    }

    /// The cells that were timed.
    pub(super) fn timed(&self) -> impl Iterator<Item = &CellRecord> {
        self.cells.iter().filter(is_timed)
    }

    /// The cells of an executor, in the order of the tables.
    pub(super) fn of(&self, executor: &Executor) -> impl Iterator<Item = &CellRecord> {
        self.of_executors.get(executor).into_iter().flatten().map(|&at| &self.cells[at])
    }

    /// The cells of a work, in the order of the tables.
    fn of_work(&self, work: &Work) -> impl Iterator<Item = &CellRecord> {
        self.of_works.get(work).into_iter().flatten().map(|&at| &self.cells[at])
    }

    /// One cell.
    pub(super) fn get(
        &self,
        executor: &Executor,
        work: &Work,
        threads: usize,
    ) -> Option<&CellRecord> {
        self.of(executor).find(|cell| {
            let key = &cell.key;
            key.threads == threads && key.case == work.case && key.guest == work.guest
        })
    }

    /// The time of one cell, if it was timed.
    pub(super) fn time(&self, executor: &Executor, work: &Work, threads: usize) -> Option<Timing> {
        Timing::of(self.get(executor, work, threads)?)
    }

    /// The throughput of one cell, calls a second, if it was timed.
    pub(super) fn throughput(
        &self,
        executor: &Executor,
        work: &Work,
        threads: usize,
    ) -> Option<f64> {
        let cell = self.get(executor, work, threads).filter(|cell| cell.status == Status::Ok)?;
        cell.throughput_per_s.filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    /// The backends, in alphabetical order.
    pub(super) fn backends(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.executors.iter().map(|e| e.backend.as_str()).collect();
        names.dedup();
        names
    }

    /// The guests, in the order of the tables.
    pub(super) fn guests(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.works.iter().map(|work| work.guest.as_str()).collect();
        names.dedup();
        names
    }

    /// The numbers of threads at which anything was timed for a work.
    pub(super) fn threads(&self, work: &Work) -> Vec<usize> {
        let all: BTreeSet<usize> =
            self.of_work(work).filter(is_timed).map(|cell| cell.key.threads).collect();
        all.into_iter().collect()
    }

    /// The works for which anything was timed.
    pub(super) fn timed_works(&self) -> Vec<&Work> {
        self.works.iter().filter(|work| self.most_threads(work).is_some()).collect()
    }

    /// The executors without those whose backend cannot do the strategy at all.
    pub(super) fn usable(&self) -> Vec<&Executor> {
        let usable = |cell: &CellRecord| cell.status != Status::Unsupported;
        let usable: BTreeSet<Executor> =
            self.cells.iter().filter(|cell| usable(cell)).map(executor_of).collect();
        self.executors.iter().filter(|executor| usable.contains(executor)).collect()
    }

    /// Whether an executor is precompiled, and its strategy was timed with
    /// code made in the process as well.
    pub(super) fn is_twin(&self, executor: &Executor) -> bool {
        let base = executor.base();
        base != *executor && self.of(&base).any(|cell| is_timed(&cell))
    }

    /// The most threads at which anything was timed for a work.
    pub(super) fn most_threads(&self, work: &Work) -> Option<usize> {
        self.of_work(work).filter(is_timed).map(|cell| cell.key.threads).max()
    }

    /// The guest for statements about one guest: the small one if it is there.
    pub(super) fn main_guest(&self) -> Option<&str> {
        let guests = self.guests();
        guests.iter().find(|guest| **guest == order::TEST_GUEST).or(guests.first()).copied()
    }

    /// A case on the main guest, if there are cells of it.
    pub(super) fn main_work(&self, case: &str) -> Option<&Work> {
        let guest = self.main_guest()?;
        self.works.iter().find(|work| work.guest == guest && work.case == case)
    }

    /// The works that the overview charts show: the two well-known cases on
    /// every guest; if there are none of them, the first two works there are.
    pub(super) fn overview(&self) -> Vec<&Work> {
        let known: Vec<&Work> = self
            .works
            .iter()
            .filter(|work| work.case == order::EMPTY || work.case == order::DIRTY)
            .collect();
        if known.is_empty() { self.works.iter().take(2).collect() } else { known }
    }

    /// How an executor was found to run code; what its strategy is called if
    /// no record says more.
    pub(super) fn execution(&self, executor: &Executor) -> Execution {
        let mut timed = self.of(executor).filter(is_timed);
        let found = timed.find_map(|cell| cell.effective.get("execution"));
        match found {
            Some(how) if how.starts_with("interpreted") => Execution::Interpreted,
            Some(how) if how.starts_with("compiled") => Execution::Compiled,
            Some(how) if how.starts_with("native") => Execution::Native,
            None if executor.strategy == "interpreted" => Execution::Interpreted,
            _ => Execution::Unknown,
        }
    }

    /// Whether a backend runs no modules: a baseline to hold the others against,
    /// and none to choose.
    pub(super) fn is_baseline(&self, backend: &str) -> bool {
        let mut own = self.executors.iter().filter(|executor| executor.backend == backend);
        own.any(|executor| self.execution(executor) == Execution::Native)
    }

    /// A backend's name in headings and legends.
    pub(super) fn label(&self, backend: &str) -> String {
        let note = if self.is_baseline(backend) { " (baseline)" } else { "" };
        format!("{backend}{note}")
    }

    /// The same without baselines: what there is to choose from.
    pub(super) fn candidates(&self) -> Self {
        let baselines: BTreeSet<&str> =
            self.backends().into_iter().filter(|backend| self.is_baseline(backend)).collect();
        let cells = self.cells.iter().filter(|cell| !baselines.contains(&*cell.key.backend));
        Self::new(cells.cloned().collect())
    }

    /// The same without some executors.
    pub(super) fn without(&self, unwanted: impl Fn(&Executor) -> bool) -> Self {
        let cells = self.cells.iter().filter(|cell| !unwanted(&executor_of(cell)));
        Self::new(cells.cloned().collect())
    }

    /// The cells of some works alone.
    pub(super) fn of_works(&self, wanted: impl Fn(&Work) -> bool) -> Self {
        let wanted: HashSet<&Work> = self.works.iter().filter(|work| wanted(work)).collect();
        Self::new(
            self.cells.iter().filter(|cell| wanted.contains(&work_of(cell))).cloned().collect(),
        )
    }

    /// Whether a work is on one of the guests of the overview.
    pub(super) fn is_on_overview_guest(&self, work: &Work) -> bool {
        self.overview().iter().any(|known| known.guest == work.guest)
    }

    /// Whether each backend was asked for a work under one strategy at most: it is about
    /// what the guest does. Of a single executor, nothing can be told.
    pub(super) fn is_once(&self, work: &Work) -> bool {
        let own = || self.of_work(work);
        let executors: BTreeSet<Executor> = own().map(executor_of).collect();
        let backends: BTreeSet<&str> = own().map(|cell| &*cell.key.backend).collect();
        executors.len() > 1 && executors.len() == backends.len()
    }

    /// Whether the runtime itself does an executor's strategy.
    pub(super) fn is_native(&self, executor: &Executor) -> bool {
        self.of(executor).filter(is_timed).any(|cell| cell.support.as_deref() == Some("native"))
    }
}

/// How code is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execution {
    /// Instruction by instruction.
    Interpreted,
    /// As machine code.
    Compiled,
    /// Not as a module at all: the guest's code was compiled into the host.
    Native,
    /// No record says.
    Unknown,
}

fn is_timed(cell: &&CellRecord) -> bool {
    cell.status == Status::Ok
}

/// The executor of a cell.
fn executor_of(cell: &CellRecord) -> Executor {
    Executor { backend: cell.key.backend.clone(), strategy: cell.key.strategy.clone() }
}

/// The work of a cell.
fn work_of(cell: &CellRecord) -> Work {
    Work { guest: cell.key.guest.clone(), case: cell.key.case.clone() }
}
