//! `touchstone resets`.

use super::Ended;
use super::common::{begin, names, newest, stopped};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::Arc;
use touchstone::case::Guests;
use touchstone::compare::races;
use touchstone::measure::probe;
use touchstone::plan::{Budget, Cell, Filter, Plan, Random, cores, crowded, shuffled};
use touchstone::record::{
    self, Drift, Executor, Line, Place, RESETS, Refusal, Replacement, ResetPoint, Sink, Status,
    Touch, estimate,
};
use touchstone::resets::{
    Ask, FromProcess, Measured, Selection, Wanted, default_file, preferred_engine, serve,
};
use touchstone::run::{header, seed, shown};
use touchstone::solo::{Asked, available_memory};
use touchstone::supervise::{Parent, Stop};
use touchstone::terminal::progress::Progress;
use touchstone::terminal::{complain, print};
use touchstone_executor::{Engine, Scratch};

/// Measures clean calls that write more and more pages, under each strategy.
///
/// Shows from which size on dropping written pages is faster than restoring them, and which way
/// of finding written pages suits which guest. All executors of an engine are timed in turns in
/// one process; each point is measured in at least three processes. Before anything is timed,
/// and once after it, the guest reads every page that it writes: each must be clean.
///
/// Without --pages, --touch, --place, --drift and --threads, the points are those of
/// benches/resets.toml, which take five to twelve minutes. With any of them, they are all
/// combinations of what is given; what is not given is one byte of each page, contiguous, the
/// same pages in each call, one thread, and all sizes.
///
/// Exits with 1 when a call failed, a page was not clean or an output was wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Resets {
    /// Measure only executors whose name this regular expression matches [default: every strategy
    /// of the compiling engine with the most strategies]
    filter: Option<String>,
    /// Write N pages of 4 KiB in each call; may be given several times
    #[arg(long, value_name = "N")]
    pages: Vec<u64>,
    /// Write one byte of each page or all of it; may be given several times
    #[arg(long, value_parser = names::<Touch>())]
    touch: Vec<Touch>,
    /// Write contiguous or scattered pages; may be given several times
    #[arg(long, value_parser = names::<Place>())]
    place: Vec<Place>,
    /// Write the same pages in each call, a tenth other pages, or all other pages; may be given
    /// several times
    #[arg(long, value_parser = names::<Drift>())]
    drift: Vec<Drift>,
    /// Call on N threads at the same time; may be given several times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,
    /// Measure each point in N fresh processes
    #[arg(long, value_name = "N", default_value_t = estimate::PROCESSES as u32,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(record::MOST_PROCESSES)))]
    processes: u32,
    /// Make N rounds in each process; a round times every executor once
    #[arg(long, value_name = "N", default_value = "6",
        value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// End a process that occupies more than N MiB [default: half of the available memory]
    #[arg(long, value_name = "N")]
    memory: Option<u64>,
    /// Use this seed for the order of points and rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace the records in FILE [default: records/resets.jsonl of the project; in target/ with a
    /// filter or points]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Serve as a process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

impl Resets {
    pub(super) fn execute(self) -> Result<Ended> {
        let engines = touchstone_runtimes::engines();
        let selection = Selection::load(&default_file())?;
        if self.worker {
            let parent = Parent::<Ask, FromProcess>::join()?;
            let parent = parent.context("--worker is for this program's own use")?;
            return serve(parent, &selection, &engines, Guests::built()).map(|()| Ended::Well);
        }
        let wanted = Wanted {
            pages: self.pages.clone(),
            touch: self.touch.clone(),
            place: self.place.clone(),
            drift: self.drift.clone(),
            threads: self.threads.iter().map(|threads| usize::from(*threads)).collect(),
        };
        let is_whole = self.filter.is_none() && wanted == Wanted::default();
        let points = selection.points(&wanted)?;
        let (points, skipped): (Vec<ResetPoint>, Vec<ResetPoint>) =
            points.into_iter().partition(|point| point.threads <= cores());
        // Which executors there are does not depend on the point.
        let case = selection.case(&ResetPoint {
            threads: 1,
            ..*points.iter().chain(&skipped).next().context("no point is selected")?
        });
        let plan = Plan::new(&[case], &engines, &mut Guests::built())?;
        let groups = self.groups(&engines, &plan)?;
        let budget = Budget {
            name: "resets".to_owned(),
            processes: self.processes,
            rounds: usize::from(self.rounds),
            ..Budget::full(seed(self.seed))
        };
        let path = self.records.clone().unwrap_or_else(|| record::output_path(RESETS, is_whole));
        let mut file = Replacement::of(&path)?;
        file.append(&Line::Run(Box::new(header(budget.sampling(false), &engines, &plan))))?;
        skip(&skipped, &groups, &mut file)?;
        let stop = Stop::default();
        begin(&stop, false)?;
        let memory = self.memory.map_or_else(|| available_memory() / 2, |mib| mib << 20);
        let ended = measure(&points, &groups, &budget, memory, &stop, &mut file)?;
        if ended == Ended::Stopped {
            return Ok(stopped(&file));
        }
        file.finish()?;
        let book = newest(&path, "make resets")?;
        print(&touchstone_report::show::all(&book))?;
        for race in races(&book) {
            print(&format!("{}: {}\n", race.course, race.sentence()))?;
        }
        complain(&format!("records: {}", shown(&path)));
        Ok(ended)
    }

    /// The executors to measure, engine by engine.
    fn groups(&self, engines: &[Arc<dyn Engine>], plan: &Plan) -> Result<Vec<Vec<Executor>>> {
        // Where the code comes from makes no difference to a call.
        let cells: Vec<Cell> =
            plan.cells.iter().filter(|cell| !cell.key.strategy.is_precompiled()).cloned().collect();
        let filter = Filter::new(self.filter.as_deref())?;
        let preferred = preferred_engine(engines, &cells);
        let is_meant = |cell: &&Cell| match filter {
            Filter::All => Some(cell.key.engine.as_str()) == preferred,
            _ => true,
        };
        let meant = cells.iter().filter(is_meant);
        let meant = filter.select("no executor", meant, |cell| cell.key.executor().to_string())?;
        let executors: Vec<Executor> = meant.iter().map(|cell| cell.key.executor()).collect();
        let groups = executors.chunk_by(|a, b| a.engine == b.engine).map(<[Executor]>::to_vec);
        Ok(groups.collect())
    }
}

/// Says and records that points with more threads than processors are skipped.
fn skip(points: &[ResetPoint], groups: &[Vec<Executor>], sink: &mut dyn Sink) -> Result<()> {
    let mut threads: Vec<usize> = points.iter().map(|point| point.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    for threads in threads {
        let reason = crowded(threads);
        complain(&format!("skipped: {reason}"));
        for group in groups {
            sink.append(&Line::Refusal(Refusal {
                engine: group[0].engine.clone(),
                strategy: None,
                guest: None,
                case: None,
                threads: Some(threads),
                status: Status::Skipped,
                reason: reason.clone(),
            }))?;
        }
    }
    Ok(())
}

/// Measures every point on every engine, in as many passes as there are processes for each. The
/// points of a pass are in random order.
fn measure(
    points: &[ResetPoint],
    groups: &[Vec<Executor>],
    budget: &Budget,
    memory: u64,
    stop: &Stop,
    sink: &mut dyn Sink,
) -> Result<Ended> {
    let artifacts = Scratch::new()?;
    let probe_ns = probe::calibrate();
    let mut random = Random::new(budget.seed);
    let progress = Progress::new(points.len() * groups.len() * budget.processes as usize, true);
    let mut seen = Seen { refusals: Vec::new(), setups: Vec::new(), ended: Ended::Well };
    for process in 0..budget.processes {
        let all = points.iter().flat_map(|point| groups.iter().map(move |group| (point, group)));
        for (point, group) in shuffled(all.collect(), &mut random) {
            progress.next(format!("{point} of {}", group[0].engine));
            let ask = Ask {
                point: *point,
                executors: group.clone(),
                process,
                budget: budget.clone(),
                probe_ns,
                artifacts: artifacts.path().to_owned(),
            };
            let asked = ask.put(&["resets", "--worker"], memory, stop)?;
            let measured = match asked {
                Asked::Answered(measured) => measured,
                Asked::Stopped => return Ok(Ended::Stopped),
                Asked::Refused(refused) => {
                    let all = group.iter().cloned();
                    let all = all.map(|of| (of, refused.status, refused.reason.clone()));
                    Measured { refused: all.collect(), ..Measured::default() }
                }
            };
            seen.take(*point, measured, sink, &progress)?;
        }
    }
    Ok(seen.ended)
}

/// What was recorded once and is not recorded again.
struct Seen {
    refusals: Vec<Refusal>,
    setups: Vec<Executor>,
    ended: Ended,
}

impl Seen {
    fn take(
        &mut self,
        point: ResetPoint,
        measured: Measured,
        sink: &mut dyn Sink,
        progress: &Progress,
    ) -> Result<()> {
        for (Executor { engine, strategy }, status, reason) in measured.refused {
            let of = Executor { engine: engine.clone(), strategy };
            progress.print(&format!("{of} at {point}: {reason}"));
            if status.is_failure() {
                self.ended = Ended::Badly;
            }
            let refusal = Refusal {
                engine,
                strategy: Some(strategy),
                guest: None,
                case: None,
                threads: Some(point.threads),
                status,
                reason: format!("{point}: {reason}"),
            };
            if !self.refusals.contains(&refusal) {
                sink.append(&Line::Refusal(refusal.clone()))?;
                self.refusals.push(refusal);
            }
        }
        for setup in measured.setups {
            if !self.setups.contains(&setup.executor) {
                self.setups.push(setup.executor.clone());
                sink.append(&Line::Setup(setup))?;
            }
        }
        measured.resets.into_iter().try_for_each(|reset| sink.append(&Line::Reset(Box::new(reset))))
    }
}
