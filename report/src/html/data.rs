//! A run's timed cells, column by column; names, reasons and settings are indices into lists.

use crate::matrix::{Executor, Matrix};
use crate::rank::Pick;
use indexmap::IndexSet;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::hash::Hash;
use touchstone_executor::{Owner, Strategy};
use touchstone_record::estimate::{CLEAN_SAMPLES, PROCESSES, STUDENT};
use touchstone_record::{Book, CellKey, Metric, Observations, Refusal, SCHEMA, Sample, Setup};

/// All that the page's script gets.
#[derive(Debug, Serialize)]
pub(super) struct Data<'a> {
    /// The version of record files that can be compared with this run.
    schema: u32,
    /// The rules of [`estimate`](touchstone_record::estimate), for a file that is compared.
    rules: Rules,
    run: Run<'a>,
    engines: IndexSet<&'a str>,
    strategies: IndexSet<Strategy>,
    guests: IndexSet<&'a str>,
    cases: IndexSet<&'a str>,
    works: Vec<WorkLine>,
    executors: Vec<ExecutorLine>,
    cells: Columns,
    statuses: Vec<String>,
    refusals: Vec<RefusalLine>,
    texts: IndexSet<&'a str>,
    settings: IndexSet<Vec<usize>>,
    setups: Vec<SetupLine>,
    start: Start,
}

/// Numbers of [`estimate`](touchstone_record::estimate).
#[derive(Debug, Serialize)]
struct Rules {
    processes: usize,
    clean: usize,
    /// Quantiles of Student's t distribution.
    student: [f64; 30],
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    id: &'a str,
    started: &'a str,
    commit: &'a str,
    binary: &'a str,
    cpu: &'a str,
    kernel: &'a str,
}

/// Case, guest, and the first digits of the SHA-256 of the bytes that the engines got.
type WorkLine = (usize, usize, String);

/// Engine, strategy, and what its calls leak.
type ExecutorLine = (usize, usize, String);

/// Engine, strategy, guest, case, threads, status and reason; −1 stands for all.
type RefusalLine = (usize, isize, isize, isize, isize, usize, usize);

/// Executor, guest, how Touchstone does the strategy (−1: the runtime does it), settings.
type SetupLine = (usize, usize, isize, usize);

#[derive(Debug, Serialize)]
struct Start {
    work: usize,
    threads: usize,
    baseline: usize,
}

#[derive(Debug, Default, Serialize)]
struct Columns {
    executor: Vec<usize>,
    work: Vec<usize>,
    threads: Vec<usize>,
    /// ns per call, as the estimate is.
    median: Vec<Number>,
    /// Ends of the interval, ns; 0 where there is none.
    low: Vec<Number>,
    high: Vec<Number>,
    marked: Vec<usize>,
    /// Cells whose processes fall into two modes.
    modes: Vec<usize>,
    /// Timed calls of all processes.
    calls: Vec<u64>,
    /// For each process its number, then its samples in ns per call, four digits each. A
    /// sample with interference is negative.
    samples: Vec<Vec<Vec<Number>>>,
}

/// A number in its shortest form: a whole one without ".0".
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl Number {
    /// With twelve significant digits: logarithms differ in the last ones between machines.
    fn fine(value: f64) -> Self {
        Self(format!("{value:.11e}").parse().unwrap_or(value))
    }

    /// With four significant digits.
    fn short(value: f64) -> Self {
        Self(format!("{value:.3e}").parse().unwrap_or(value))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Exact: a double below 2^53 without a fraction is that whole number.
        let is_whole = self.0.fract() == 0.0 && self.0.abs() < 9e15;
        if is_whole { to.serialize_i64(self.0 as i64) } else { to.serialize_f64(self.0) }
    }
}

/// The place of a value in a list, which takes it in where it is new.
fn place<T: Hash + Eq>(of: T, list: &mut IndexSet<T>) -> usize {
    list.insert_full(of).0
}

/// The place of a value in a list; −1 where there is no value, `None` where the list lacks it.
fn known<T: Hash + Eq>(of: Option<T>, list: &IndexSet<T>) -> Option<isize> {
    let Some(of) = of else { return Some(-1) };
    list.get_index_of(&of)?.try_into().ok()
}

fn sorted<T: Ord + Hash>(all: impl IntoIterator<Item = T>) -> IndexSet<T> {
    all.into_iter().collect::<BTreeSet<T>>().into_iter().collect()
}

/// Case and guest.
type Call<'a> = (&'a str, &'a str);

impl<'a> Data<'a> {
    /// The timed cells of a run. The page begins with the work of the first pick.
    pub(super) fn of(matrix: &'a Matrix<'_>, picks: &[Pick<'_>]) -> Self {
        let book = matrix.book;
        let header = &book.header;
        let engines = header.engines.keys().map(String::as_str).chain(matrix.engines());
        let engines: IndexSet<&str> = sorted(engines);
        let refused = book.refusals.iter().filter_map(|Refusal { engine, strategy, .. }| {
            Some(Executor { engine: engine.clone(), strategy: (*strategy)? })
        });
        let mut executors = sorted(matrix.executors.iter().cloned().chain(refused));
        executors.retain(|own| engines.contains(&*own.engine));
        let strategies = sorted(executors.iter().map(|own| own.strategy));
        let untimed = header.works.iter().map(|facts| (&*facts.case, &*facts.guest));
        let timed = matrix.works.iter().map(|work| (&*work.case, &*work.guest));
        let works: IndexSet<Call<'_>> = timed.chain(untimed).collect();
        let guests: IndexSet<&str> = works.iter().map(|(_, guest)| *guest).collect();
        let cases: IndexSet<&str> = works.iter().map(|(case, _)| *case).collect();
        let (mut texts, mut settings) = (IndexSet::new(), IndexSet::new());
        let at = |of: &str, list: &IndexSet<&str>| list.get_index_of(of).unwrap_or_default();
        let line = |(case, guest): &Call<'_>| {
            let bytes = book.work(case, guest);
            let bytes =
                bytes.map(|of| of.init.as_ref().map_or(&of.guest_sha256, |own| &own.sha256));
            let digest = bytes.map_or("", |bytes| bytes.get(..16).unwrap_or(bytes)).to_owned();
            (at(case, &cases), at(guest, &guests), digest)
        };
        let of_executor = |executor: &Executor| {
            let strategy = strategies.get_index_of(&executor.strategy).unwrap_or_default();
            (at(&executor.engine, &engines), strategy, matrix.records.checks.leaks(executor))
        };
        let statuses = sorted(book.refusals.iter().map(|own| own.status));
        let refusal = |own: &'a Refusal| {
            Some((
                engines.get_index_of(&*own.engine)?,
                known(own.strategy, &strategies)?,
                known(own.guest.as_deref(), &guests)?,
                known(own.case.as_deref(), &cases)?,
                own.threads.and_then(|threads| threads.try_into().ok()).unwrap_or(-1),
                statuses.get_index_of(&own.status)?,
                place(&*own.reason, &mut texts),
            ))
        };
        let refusals = book.refusals.iter().filter_map(refusal).collect();
        let setup = |((executor, guest), setup): (&(Executor, String), &'a Setup)| {
            let executor = executors.get_index_of(executor)?;
            let guest = guests.get_index_of(&**guest)?;
            let emulated = setup.emulated.as_deref().map(|text| place(text, &mut texts));
            let emulated = emulated.and_then(|at| isize::try_from(at).ok()).unwrap_or(-1);
            let pairs = setup.effective.iter();
            let pairs = pairs.flat_map(|(name, own)| [&**name, own.as_deref().unwrap_or_default()]);
            let pairs: Vec<usize> = pairs.map(|text| place(text, &mut texts)).collect();
            Some((executor, guest, emulated, place(pairs, &mut settings)))
        };
        let setups = book.setups.iter().filter_map(setup).collect();
        Self {
            schema: SCHEMA,
            rules: Rules { processes: PROCESSES, clean: CLEAN_SAMPLES, student: STUDENT },
            run: Run {
                id: &header.run,
                started: &header.started_at,
                commit: &header.tools.commit,
                binary: &header.tools.binary,
                cpu: &header.machine.cpu,
                kernel: &header.machine.kernel,
            },
            works: works.iter().map(line).collect(),
            cells: Columns::of(matrix, &executors, &works),
            start: Start::of(matrix, &executors, &works, picks),
            executors: executors.iter().map(of_executor).collect(),
            statuses: statuses.iter().map(ToString::to_string).collect(),
            refusals,
            setups,
            engines,
            strategies,
            guests,
            cases,
            texts,
            settings,
        }
    }
}

impl Columns {
    fn of(matrix: &Matrix<'_>, executors: &IndexSet<Executor>, works: &IndexSet<Call<'_>>) -> Self {
        let mut columns = Self::default();
        for work in &matrix.works {
            let Some(at) = works.get_index_of(&(&*work.case, &*work.guest)) else { continue };
            for threads in matrix.threads(work) {
                for executor in &matrix.executors {
                    let Some(time) = matrix.time(executor, work, threads) else { continue };
                    let Some(place) = executors.get_index_of(executor) else { continue };
                    let (low, high) = time.interval.unwrap_or_default();
                    columns.marked.extend(time.marked.then_some(columns.executor.len()));
                    columns.modes.extend(time.modes.map(|_| columns.executor.len()));
                    columns.executor.push(place);
                    columns.work.push(at);
                    columns.threads.push(threads);
                    columns.median.push(Number(time.median));
                    columns.low.push(Number::fine(low));
                    columns.high.push(Number::fine(high));
                    let key = executor.cell(&work.case, &work.guest, threads);
                    columns.push_samples(matrix.book, &key);
                }
            }
        }
        columns
    }

    fn push_samples(&mut self, book: &Book, cell: &CellKey) {
        let mut calls = 0;
        let mut process = |seen: &Observations| {
            let own = &seen.metrics.get(&Metric::Call)?.0;
            calls += own.iter().map(|sample| sample.calls).sum::<u64>();
            let value = |sample: &Sample| {
                let value = sample.per_call();
                Number::short(if sample.clean { value } else { -value })
            };
            let number = Number(f64::from(seen.process));
            Some(std::iter::once(number).chain(own.iter().map(value)).collect())
        };
        let mut all: Vec<&Observations> = book.cells.get(cell).into_iter().flatten().collect();
        all.sort_by_key(|seen| seen.process);
        self.samples.push(all.into_iter().filter_map(&mut process).collect());
        self.calls.push(calls);
    }
}

impl Start {
    /// The work of the first pick on one thread. The baseline is the pick among what runtimes
    /// offer themselves, or the fastest executor where there is none.
    fn of(
        matrix: &Matrix<'_>,
        executors: &IndexSet<Executor>,
        works: &IndexSet<Call<'_>>,
        picks: &[Pick<'_>],
    ) -> Self {
        let first = picks.first().map(|pick| &pick.need.call).or(matrix.works.first());
        let Some(work) = first else { return Self { work: 0, threads: 1, baseline: 0 } };
        let threads = matrix.threads(work).first().copied().unwrap_or(1);
        let runtime = picks.iter().find(|pick| pick.need.owner == Some(Owner::Runtime));
        let time = |own| Some((matrix.time(own, work, threads)?.median, own));
        let timed = matrix.executors.iter().filter_map(time);
        let fastest = timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, own)| own);
        let baseline = runtime.map(|pick| &pick.executor).or(fastest);
        Self {
            work: works.get_index_of(&(&*work.case, &*work.guest)).unwrap_or_default(),
            threads,
            baseline: baseline.and_then(|own| executors.get_index_of(own)).unwrap_or_default(),
        }
    }
}
