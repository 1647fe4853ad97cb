//! `touchstone swap`.

use super::common::{Comparing, cases, judged, newest};
use super::{Ended, show};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::{Case, Guests};
use touchstone::compare::Judged;
use touchstone::lab::{Lab, Refused, config_for};
use touchstone::plan::{Budget, Compare, Filter, Plan, cores, near};
use touchstone::record::{
    self, Book, Contender, Line, Means, RecordFile, Refusal, SWAPS, Sink, SoakPoint, SwapFound,
};
use touchstone::report::units::{marked, time};
use touchstone::run::{SamplingName, seed, shown};
use touchstone::swap::{self, Kind, Method, Ready, SwapPlan};
use touchstone::terminal::{Style, Table, complain, print};
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
        let cases = cases()?;
        let plan = swap::load(&self.plan.clone().unwrap_or_else(swap::default_file), &cases)?;
        let engines = touchstone_runtimes::engines();
        let mut lab = Lab::new(Guests::built(), config_for(cores()));
        let kinds = swap::kinds(plan.kinds.each_ref(), lab.guests())?;
        let Work { compares, refusals, loads, soaks } = self.work(&plan, &kinds, &engines)?;
        for Refusal { engine, reason, .. } in &refusals {
            complain(&format!("left out: {engine}: {reason}"));
        }
        let path = self.records.clone().unwrap_or_else(|| record::default_path(SWAPS));
        let mut records = RecordFile::append_to(&path)?;
        let budget = match self.sampling {
            SamplingName::Full => Budget::full(seed(self.seed)),
            SamplingName::Quick => Budget::quick(seed(self.seed)),
        };
        let both = plan.kinds.each_ref().map(|case| Case::clone(case));
        let comparing = Comparing {
            cases: &cases,
            engines: &engines,
            plan: &Plan::new(&both, &engines, &mut Guests::built())?,
            compares,
            refusals,
            budget: Budget { name: "swap".to_owned(), ..budget },
            limit: LIMIT,
        };
        let (came, _) = comparing.run(&mut records)?;
        if came.stopped {
            complain("stopped; the comparisons that were made are recorded");
            return Ok(Ended::Stopped);
        }
        let mut failed = came.failed();
        for engine in &loads {
            let made = swap::under_load(engine, &kinds, &mut lab, plan.load);
            failed += keep(&mut records, &format!("{}/{UNDER_LOAD}", engine.id()), made)?;
        }
        for (engine, method) in &soaks {
            let name = format!("{}/{method}", engine.id());
            let progress = |SoakPoint { swaps, rss_kib }| {
                complain(&format!("{name}: {swaps} swaps, {rss_kib} KiB"));
            };
            let ready = Ready::new(*method, engine, &kinds, &mut lab);
            let swaps = self.swaps.unwrap_or_default();
            let made = ready.and_then(|ready| swap::soak(ready, swaps, progress));
            failed += keep(&mut records, &name, made.map(|swap| (swap, None)).map_err(Into::into))?;
        }
        print(&tables(&newest(&path)?))?;
        complain(&format!("records: {}", shown(&path)));
        Ok(Ended::well_if(failed == 0))
    }

    /// What the filters match.
    fn work(&self, plan: &SwapPlan, kinds: &[Kind; 2], all: &[Arc<dyn Engine>]) -> Result<Work> {
        let filter = Filter::new(self.filter.as_deref())?;
        let soak = Filter::new(self.soak.as_deref())?;
        let (engines, refusals) = plan.engines(all);
        let mut work =
            Work { compares: Vec::new(), refusals, loads: Vec::new(), soaks: Vec::new() };
        let mut names = Vec::new();
        for engine in engines {
            let name = |what: &str| format!("{}/{what}", engine.id());
            let methods = Method::ALL.map(|method| (method, name(method.name())));
            let is_meant = |method: Method| filter.matches(&name(method.name()));
            let (compares, refusals) = plan.compares(&engine, kinds);
            if Method::ALL.into_iter().any(is_meant) {
                work.refusals.extend(refusals);
            }
            let compares = compares.into_iter().filter(|(method, _)| is_meant(*method));
            work.compares.extend(compares.map(|(_, compare)| compare));
            for (method, name) in methods {
                if self.swaps.is_some() && is_meant(method) && soak.matches(&name) {
                    work.soaks.push((Arc::clone(&engine), method));
                }
                names.push(name);
            }
            names.push(name(UNDER_LOAD));
            if filter.matches(&name(UNDER_LOAD)) {
                work.loads.push(Arc::clone(&engine));
            }
        }
        if let (Some(text), true) = (&self.filter, !names.iter().any(|name| filter.matches(name))) {
            bail!("no method matches '{text}'{}", near(text, &names));
        }
        Ok(work)
    }
}

/// Records what was found and says what went wrong, if anything: 1 for a failure.
fn keep(
    records: &mut RecordFile,
    name: &str,
    made: Result<(record::Swap, Option<String>)>,
) -> Result<usize> {
    let problem = match made {
        Ok((swap, problem)) => {
            records.append(&Line::Swap(Box::new(swap)))?;
            problem
        }
        Err(error) => match error.downcast_ref::<Refused>() {
            Some(refused) if !refused.status.is_failure() => {
                complain(&format!("left out: {name}: {error:#}"));
                None
            }
            _ => Some(format!("{error:#}")),
        },
    };
    if let Some(problem) = &problem {
        complain(&format!("failed: {name}: {problem}"));
    }
    Ok(usize::from(problem.is_some()))
}

/// The results as tables.
fn tables(book: &Book) -> String {
    let style = Style::of_stdout();
    let head = ["a message", "sorted", "a swap", "against recompile", "engine/method", "strategy"];
    let mut methods = Table::new(&head).right(&[0, 1, 2, 3]);
    for (of, processes) in &book.comparisons {
        let (Means::Sorted { .. }, Some(own)) = (&of.baseline.means, judged(processes)) else {
            continue;
        };
        let recompile = book.comparisons.iter().find(|(other, _)| {
            other.subject == of.subject && other.baseline.means != of.baseline.means
        });
        let recompile = recompile.and_then(|(_, processes)| judged(processes));
        methods.row(row(&of.subject, &own, recompile.as_ref()));
    }
    let mut text = String::new();
    if !book.comparisons.is_empty() {
        text += &methods.render(style);
        text += "Half of the messages are of another kind than the one before; sorted, no swap is \
                 timed. Against recompile: times slower, below 1 is faster. †: too few clean \
                 samples.\n";
    }
    for swap in &book.swaps {
        let what = match &swap.found {
            SwapFound::UnderLoad { .. } => UNDER_LOAD,
            SwapFound::Soak { .. } => &swap.method,
        };
        text += &format!("{}/{what}: {}\n", swap.executor.engine, show::found(&swap.found));
    }
    text
}

fn row(of: &Contender, own: &Judged, recompile: Option<&Judged>) -> [String; 6] {
    let swap = (own.subject_ns - own.baseline_ns) * 2.0;
    let [message, sorted, swap] =
        [own.subject_ns, own.baseline_ns, swap].map(|ns| marked(time(ns), own.ratio.marked));
    let against =
        recompile.map(|judged| marked(format!("{:.4}", judged.ratio.median), judged.ratio.marked));
    [
        message,
        sorted,
        swap,
        against.unwrap_or_else(|| "-".to_owned()),
        of.to_string(),
        of.executor.strategy.to_string(),
    ]
}
