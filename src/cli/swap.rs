//! `touchstone swap`.

use super::Ended;
use super::bench::worker;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use touchstone::case::{self, Case};
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::lab::{Guests, Lab, Refused, config_for, cores};
use touchstone::plan::{Budget, Compare, Filter, Plan, near};
use touchstone::record::{
    self, Book, Comparison, Contender, Line, Means, RecordFile, Refusal, SWAPS, Sink, SoakPoint,
    SwapFound, Tail,
};
use touchstone::run::{self, Host, Job, Observer, Progress, SamplingName, watch_for_ctrl_c};
use touchstone::supervise::Stop;
use touchstone::swap::{self, Kind, LoadPlan, Method, Ready, SwapPlan};
use touchstone::terminal::{Style, Table, complain, print, short};
use touchstone_executor::Engine;

/// Measure what replacing modules costs
///
/// Messages of two kinds (benches/swap.toml) are each answered by a module of its own. The
/// methods to have the right one at hand are recompile, load_artifact, instantiate,
/// two_live_instances and pool. Each is compared with recompile, and with the same messages
/// sorted by kind, in at least three fresh processes. Then threads call while another one
/// replaces the module (under_load). With --swaps, a method swaps for long and the resident
/// memory is read on the way. Every answer is compared with the expected one. Exits with 1
/// when a call failed or an answer was wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Swap {
    /// Measure only what this regular expression matches: `<engine>/<method>`, or
    /// `<engine>/under_load`
    filter: Option<String>,
    /// Take many samples, or few with wider intervals
    #[arg(long, value_enum, value_name = "HOW", default_value = "full")]
    sampling: SamplingName,
    /// Use this seed for the order of messages and rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Swap N times by each method that --soak matches, and read the resident memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(20..))]
    swaps: Option<u64>,
    /// Swap for long only by the methods that this regular expression matches:
    /// `<engine>/<method>`
    #[arg(long, value_name = "REGEX", requires = "swaps")]
    soak: Option<String>,
    /// Read the kinds of messages from this file [default: benches/swap.toml of the project]
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Append the records to this file [default: records/swap.jsonl of the project]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
}

/// The name of swaps under load in filters.
const UNDER_LOAD: &str = "under_load";
/// Longest time of a comparison in a process.
const LIMIT: Duration = Duration::from_secs(1800);

/// The selected work.
struct Work {
    compares: Vec<Compare>,
    refusals: Vec<Refusal>,
    loads: Vec<Arc<dyn Engine>>,
    soaks: Vec<(Arc<dyn Engine>, Method)>,
}

impl Swap {
    pub(super) fn execute(self) -> Result<Ended> {
        let cases = case::load_all(&case::default_folder())?;
        let plan = swap::load(&self.plan.clone().unwrap_or_else(swap::default_file), &cases)?;
        let engines = touchstone_runtimes::engines();
        let mut lab = Lab::new(Guests::built(), config_for(cores()));
        let kinds = swap::kinds(plan.kinds.each_ref(), lab.guests())?;
        let work = self.work(&plan, &kinds, &engines)?;
        for Refusal { engine, reason, .. } in &work.refusals {
            complain(&format!("left out: {engine}: {reason}"));
        }
        let path = self.records.clone().unwrap_or_else(|| record::default_path(SWAPS));
        let mut records = RecordFile::append_to(&path)?;
        let mut failed = self.compare(&cases, &plan, &engines, &work, &mut records)?;
        let load = LoadPlan {
            threads: cores(),
            replacements: plan.replacements,
            pause: plan.pause,
        };
        for engine in &work.loads {
            match swap::under_load(engine, &kinds, &mut lab, load) {
                Ok((swap, problem)) => {
                    failed += usize::from(problem.is_some());
                    if let Some(problem) = problem {
                        complain(&format!("{}/{UNDER_LOAD}: {problem}", engine.id()));
                    }
                    records.append(&Line::Swap(Box::new(swap)))?;
                }
                Err(error) => failed += usize::from(is_failure(engine, UNDER_LOAD, &error)),
            }
        }
        for (engine, method) in &work.soaks {
            let progress = |SoakPoint { swaps, rss_kib }| {
                complain(&format!("{}/{method}: {swaps} swaps, {rss_kib} KiB", engine.id()));
            };
            let ready = Ready::new(*method, engine, &kinds, &mut lab);
            let swaps = self.swaps.unwrap_or_default();
            match ready.and_then(|ready| swap::soak(ready, swaps, progress)) {
                Ok(swap) => records.append(&Line::Swap(Box::new(swap)))?,
                Err(refused) => {
                    failed += usize::from(is_failure(engine, method.name(), &refused.into()));
                }
            }
        }
        let (header, lines) = record::load(&path)?.runs.pop().context("the run is not there")?;
        print(&tables(&Book::of(header, lines)))?;
        complain(&format!("records: {}", short(&path)));
        Ok(if failed == 0 { Ended::Well } else { Ended::Badly })
    }

    /// What the filters match.
    fn work(
        &self,
        plan: &SwapPlan,
        kinds: &[Kind; 2],
        all: &[Arc<dyn Engine>],
    ) -> Result<Work> {
        let filter = Filter::new(self.filter.as_deref())?;
        let soak = Filter::new(self.soak.as_deref())?;
        let (engines, left_out) = plan.engines(all);
        let mut work =
            Work { compares: Vec::new(), refusals: left_out, loads: Vec::new(), soaks: Vec::new() };
        let mut names = Vec::new();
        for engine in &engines {
            let name = |what: &str| format!("{}/{what}", engine.id());
            let (compares, refusals) = plan.compares(engine, kinds);
            let matches = |what: &str| filter.matches(&name(what));
            if Method::ALL.iter().any(|method| matches(method.name())) {
                work.refusals.extend(refusals);
            }
            let compares = compares.into_iter().filter(|(method, _)| matches(method.name()));
            work.compares.extend(compares.map(|(_, compare)| compare));
            if matches(UNDER_LOAD) {
                work.loads.push(Arc::clone(engine));
            }
            for method in Method::ALL {
                let name = name(method.name());
                if self.swaps.is_some() && filter.matches(&name) && soak.matches(&name) {
                    work.soaks.push((Arc::clone(engine), method));
                }
                names.push(name);
            }
            names.push(name(UNDER_LOAD));
        }
        if let (Some(text), true) = (&self.filter, !names.iter().any(|name| filter.matches(name))) {
            bail!("no method matches '{text}'{}", near(text, &names));
        }
        Ok(work)
    }

    /// Makes the comparisons below a new header, and gives how many failed.
    fn compare(
        &self,
        cases: &[Case],
        plan: &SwapPlan,
        engines: &[Arc<dyn Engine>],
        work: &Work,
        records: &mut RecordFile,
    ) -> Result<usize> {
        let seed = self.seed.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.map_or(1, |now| now.as_secs())
        });
        let budget = match self.sampling {
            SamplingName::Full => Budget::full(seed),
            SamplingName::Quick => Budget::quick(seed),
        };
        let both = plan.kinds.each_ref().map(|case| Case::clone(case));
        let mut sampling = budget.sampling(false);
        "swap".clone_into(&mut sampling.name);
        let job = Job {
            header: run::header(
                sampling,
                engines,
                &Plan::new(&both, engines, &mut Guests::built())?,
            ),
            cells: Vec::new(),
            compares: work.compares.clone(),
            refusals: work.refusals.clone(),
            budget,
            in_process: false,
            done: run::Finished::default(),
        };
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, false)?;
        let artifacts = run::artifacts()?;
        let host = Host {
            cases,
            engines,
            guests: &Guests::built,
            worker: &worker,
            limit: LIMIT,
            artifacts: Some(run::shared_in(&artifacts)),
            stop: stop.clone(),
        };
        let tasks = job.tasks().len() * job.budget.processes as usize;
        let mut progress = Progress::new(tasks);
        let came = run::run(job, &host, records, &mut progress as &mut dyn Observer)?;
        if came.stopped {
            bail!("stopped; the comparisons that were made are recorded");
        }
        Ok(came.failed())
    }
}

/// Prints why something was not done, and returns whether that is a failure.
fn is_failure(engine: &Arc<dyn Engine>, what: &str, error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<Refused>();
    let failed = refused.is_none_or(|refused| refused.status.is_failure());
    let how = if failed { "failed" } else { "left out" };
    complain(&format!("{how}: {}/{what}: {error:#}", engine.id()));
    failed
}

/// The results as tables.
fn tables(book: &Book) -> String {
    let style = Style::of_stdout();
    let judged = |processes: &Vec<Comparison>| {
        judge(&processes.iter().collect::<Vec<_>>(), MARGIN)
    };
    let mut text = String::new();
    let head = ["a message", "sorted", "a swap", "against recompile", "engine/method", "strategy"];
    let mut methods = Table::new(&head).right(&[0, 1, 2, 3]);
    for (of, processes) in &book.comparisons {
        let (Means::Sorted { .. }, Some(own)) = (&of.baseline.means, judged(processes)) else {
            continue;
        };
        let recompile = |(other, _): &(&record::Match, _)| {
            other.subject == of.subject && other.baseline.means != of.baseline.means
        };
        let recompile = book.comparisons.iter().find(recompile);
        let recompile = recompile.and_then(|(_, processes)| judged(processes));
        methods.row(row(&of.subject, &own, recompile.as_ref()));
    }
    if !book.comparisons.is_empty() {
        text += &methods.render(style);
        text += "Half of the messages are of another kind than the one before; sorted, no swap is \
                 timed. Against recompile: times slower, below 1 is faster. †: too few clean \
                 samples.\n";
    }
    for swap in &book.swaps {
        let (engine, method) = (&swap.executor.engine, &swap.method);
        text += &match &swap.found {
            SwapFound::UnderLoad { threads, replacements, failed, wrong, swapping, still, .. } => {
                format!(
                    "{engine}/{UNDER_LOAD}: {threads} threads, {replacements} replacements, {failed} \
                     failed, {wrong} wrong; swapping: {}; without: {}\n",
                    tail(swapping),
                    tail(still)
                )
            }
            SwapFound::Soak { points } => {
                let point = |point: Option<&SoakPoint>| {
                    point.map_or_else(String::new, |p| format!("{} KiB at {}", p.rss_kib, p.swaps))
                };
                let (first, last) = (point(points.first()), point(points.last()));
                format!("{engine}/{method}: resident {first} swaps, {last} swaps\n")
            }
        };
    }
    text
}

fn row(of: &Contender, own: &Judged, recompile: Option<&Judged>) -> [String; 6] {
    let marked = |mark: bool, text: String| if mark { format!("{text} †") } else { text };
    let method = match &of.means {
        Means::Swap { method } => method.as_str(),
        _ => "",
    };
    [
        marked(own.marked, time(own.subject_ns)),
        marked(own.marked, time(own.baseline_ns)),
        marked(own.marked, time((own.subject_ns - own.baseline_ns) * 2.0)),
        recompile.map_or_else(
            || "-".to_owned(),
            |judged| marked(judged.marked, format!("{:.4}", judged.ratio)),
        ),
        format!("{}/{method}", of.executor.engine),
        of.executor.strategy.to_string(),
    ]
}

fn tail(tail: &Tail) -> String {
    let [p50, p99, max] = [tail.p50_ns, tail.p99_ns, tail.max_ns].map(|ns| time(ns as f64));
    format!("{} messages, p50 {p50}, p99 {p99}, max {max}", tail.calls)
}

/// A time with its unit.
fn time(ns: f64) -> String {
    match ns.abs() {
        below if below < 1e3 => format!("{ns:.0} ns"),
        below if below < 1e6 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}
