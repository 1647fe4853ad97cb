//! The cells of one run as a table that can be asked: what every section and chart is
//! made of. No case, guest or engine is named here; the run's header says which is which.

use super::Records;
use crate::markdown::code;
use crate::tables::Row;
use crate::tables::charts::ChartWork;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use touchstone_executor::{Execution, Owner};
use touchstone_record::{
    Book, COUNTS, CellKey, Estimate, Metric, OVERSUBSCRIBED, Refusal, Role, WorkFacts,
};

pub(super) use touchstone_record::Executor;

/// A case on a guest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Work {
    pub(crate) guest: String,
    pub(crate) case: String,
}

impl From<&ChartWork> for Work {
    fn from(named: &ChartWork) -> Self {
        Self { guest: named.guest.clone(), case: named.case.clone() }
    }
}

impl From<&Row> for Work {
    fn from(row: &Row) -> Self {
        Self { guest: row.guest.clone(), case: row.case.clone() }
    }
}

impl Work {
    fn of(cell: &CellKey) -> Self {
        Self { guest: cell.guest.clone(), case: cell.case.clone() }
    }

    /// Both names, Markdown.
    pub(super) fn names(&self) -> String {
        format!("{} on {}", code(&self.case), code(&self.guest))
    }
}

/// The timed cells of a run, with the lists of their names in the order of the tables:
/// engines alphabetical, strategies as [`Strategy`](touchstone_executor::Strategy) orders
/// them, guests and cases by their place in the header, the guests of the overview first.
pub(super) struct Matrix<'a> {
    pub records: &'a Records,
    pub book: &'a Book,
    /// The time of one call of each timed cell, ns.
    calls: HashMap<&'a CellKey, Estimate>,
    /// The numbers of threads at which anything was timed for a work.
    threads: HashMap<Work, BTreeSet<usize>>,
    /// Every executor that has a time.
    pub executors: Vec<Executor>,
    /// Every case on every guest that has a time.
    pub works: Vec<Work>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    /// The time of one call, ns.
    Timed(Estimate),
    Refused(&'a Refusal),
    /// It was not part of the run.
    Absent,
}

impl<'a> Matrix<'a> {
    pub(super) fn of(records: &'a Records) -> Self {
        Self::by(records, &records.bench, Metric::Call)
    }

    /// The cells of a run that have a metric, but for those on more threads than processors.
    pub(super) fn by(records: &'a Records, book: &'a Book, metric: Metric) -> Self {
        let value = |cell| {
            let value = book.estimate(cell, metric).filter(|_| !book.is_crowded(cell))?;
            // Nothing that is called takes no time.
            (metric != Metric::Call || value.median > 0.0).then_some((cell, value))
        };
        let calls: HashMap<&CellKey, Estimate> = book.cells.keys().filter_map(value).collect();
        let executors: BTreeSet<Executor> = calls.keys().map(|cell| cell.executor()).collect();
        let mut threads: HashMap<Work, BTreeSet<usize>> = HashMap::new();
        for cell in calls.keys() {
            threads.entry(Work::of(cell)).or_default().insert(cell.threads);
        }
        let mut works: Vec<Work> = threads.keys().cloned().collect();
        works.sort_by_cached_key(|work| place(&book.header.works, work));
        Self { records, book, calls, threads, executors: executors.into_iter().collect(), works }
    }

    /// How many cells have a time, and how many of these times are marked, as a number and as a
    /// share.
    pub(super) fn counts(&self) -> (usize, usize, f64) {
        let (cells, marked) = (self.calls.len(), self.calls.values().filter(|call| call.marked));
        let marked = marked.count();
        (cells, marked, marked as f64 / cells.max(1) as f64)
    }

    /// The fewest and the most processes that timed a cell.
    pub(super) fn processes(&self) -> Option<(usize, usize)> {
        let all = self.calls.keys().map(|cell| self.book.samples(cell, Metric::Call).len());
        all.clone().min().zip(all.max())
    }

    /// How many cells have processes of two modes.
    pub(super) fn two_modes(&self) -> usize {
        self.calls.values().filter(|call| call.modes.is_some()).count()
    }

    pub(super) fn cell(&self, executor: &Executor, work: &Work, threads: usize) -> Cell<'a> {
        let key = executor.cell(&work.case, &work.guest, threads);
        match (self.calls.get(&key), self.book.refusal(&key)) {
            (Some(call), _) => Cell::Timed(*call),
            (None, Some(refusal)) => Cell::Refused(refusal),
            (None, None) => Cell::Absent,
        }
    }

    /// The time of one call of a cell, ns.
    pub(super) fn time(&self, of: &Executor, work: &Work, threads: usize) -> Option<Estimate> {
        self.calls.get(&of.cell(&work.case, &work.guest, threads)).copied()
    }

    /// The run with cells on more threads than processors: a file of its own, or the benchmarks.
    pub(super) fn crowded_book(&self) -> &'a Book {
        let own = self.records.book(OVERSUBSCRIBED);
        own.unwrap_or(&self.records.bench)
    }

    /// The time of one call of a cell on more threads than processors, ns.
    pub(super) fn crowded_time(&self, cell: &CellKey) -> Option<Estimate> {
        let book = self.crowded_book();
        book.estimate(cell, Metric::Call).filter(|_| book.is_crowded(cell))
    }

    /// Throughput of all threads by their number, calls per second, where it was measured.
    pub(super) fn throughputs(&self, of: &Executor, work: &Work) -> Vec<(usize, f64)> {
        let rate = |threads: usize| {
            let cell = of.cell(&work.case, &work.guest, threads);
            self.calls.get(&cell)?;
            Some((threads, self.book.throughput(&cell)?.median))
        };
        self.threads(work).into_iter().filter_map(rate).collect()
    }

    /// Another metric of a cell on one thread.
    pub(super) fn metric(&self, of: &Executor, work: &Work, metric: Metric) -> Option<Estimate> {
        self.book.estimate(&of.cell(&work.case, &work.guest, 1), metric)
    }

    /// Throughput on several threads over that on one.
    pub(super) fn scaling(&self, of: &Executor, work: &Work, threads: usize) -> Option<Estimate> {
        let key = of.cell(&work.case, &work.guest, threads);
        self.calls.get(&key).and_then(|_| self.book.scaling(&key))
    }

    /// How many times longer a call takes on several threads than on one: their number over the
    /// [scaling](Self::scaling).
    pub(super) fn slow_down(&self, of: &Executor, work: &Work, threads: usize) -> Option<Estimate> {
        let scaling = self.scaling(of, work, threads)?;
        Some(Estimate::known(threads as f64).over(scaling))
    }

    /// Operators that the guest executes in one call, the first on a clean instance or a later
    /// one. `None` where nobody counted them for the same guest.
    pub(super) fn operators(&self, work: &Work, warm: bool) -> Option<u64> {
        let metric = if warm { Metric::WarmOperators } else { Metric::Operators };
        let counts = &self.records.book(COUNTS)?.counts;
        let counted = counts.get(&(work.case.clone(), work.guest.clone()))?;
        let is_same = self.facts(work)?.guest_sha256 == counted.guest_sha256;
        counted.metrics.get(&metric).copied().filter(|_| is_same)
    }

    /// The engines, in alphabetical order.
    pub(super) fn engines(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.executors.iter().map(|e| e.engine.as_str()).collect();
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
        self.threads.get(work).into_iter().flatten().copied().collect()
    }

    /// The most threads at which anything was timed for a work.
    pub(super) fn most_threads(&self, work: &Work) -> Option<usize> {
        self.threads(work).last().copied()
    }

    fn facts(&self, work: &Work) -> Option<&'a WorkFacts> {
        self.book.work(&work.case, &work.guest)
    }

    /// The first work that plays a part, the first guest's where it has one.
    pub(super) fn main_work(&self, role: Role) -> Option<&Work> {
        let role_of = |work: &&Work| self.facts(work).and_then(|facts| facts.role);
        self.works.iter().find(|work| role_of(work) == Some(role))
    }

    pub(super) fn main_works(&self, roles: &[Role]) -> Vec<&Work> {
        roles.iter().filter_map(|role| self.main_work(*role)).collect()
    }

    /// How an engine runs code; `None` where the header does not say.
    pub(super) fn execution(&self, engine: &str) -> Option<Execution> {
        self.book.header.engines.get(engine).map(|facts| facts.execution)
    }

    /// `true` for an engine that runs no modules: the native baseline.
    pub(super) fn is_baseline(&self, engine: &str) -> bool {
        self.execution(engine) == Some(Execution::Native)
    }

    /// `true` if the runtime itself implements the strategy, on every guest.
    pub(super) fn is_native(&self, executor: &Executor) -> bool {
        let own = self.book.setups.iter().filter(|((of, _), _)| of == executor);
        let mut emulated = own.map(|(_, setup)| setup.emulated.is_some()).peekable();
        match emulated.peek() {
            Some(_) => !emulated.any(|emulated| emulated),
            None => executor.strategy.owner() == Owner::Runtime,
        }
    }
}

/// Where a work stands: the guests of the overview first, then guests and cases by their
/// place in the header, then whatever the header does not know.
fn place(works: &[WorkFacts], work: &Work) -> impl Ord + use<> {
    let places = || works.iter().enumerate().map(|(index, facts)| (facts, (facts.place, index)));
    let of_guest = || places().filter(|(facts, _)| facts.guest == work.guest);
    let own = of_guest().find(|(facts, _)| facts.case == work.case).map(|(_, place)| place);
    let guest = of_guest().map(|(_, place)| place).min();
    let is_overview = |role| matches!(role, Some(Role::EmptyCall | Role::DirtyMemory));
    let leads = of_guest().any(|(facts, _)| is_overview(facts.role));
    let end = (usize::MAX, usize::MAX);
    (!leads, guest.unwrap_or(end), own.unwrap_or(end), work.clone())
}
