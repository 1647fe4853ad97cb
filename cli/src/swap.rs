//! `touchstone swap`.

use super::Ended;
use super::common::{Known, ended, newest};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;
use touchstone::case::{self, Case, Guests};
use touchstone::lab::{Lab, Refused, config_for};
use touchstone::plan::{Budget, Filter, Plan, cores};
use touchstone::record::{self, Line, RecordFile, Refusal, SWAPS, Sink, SoakPoint};
use touchstone::run::{SamplingName, seed, shown};
use touchstone::swap::{self, Method, Ready};
use touchstone::terminal::{complain, print};
use touchstone_executor::Engine;

/// Measures replacing modules while messages arrive.
///
/// Each of two kinds of messages (benches/swap.toml) is answered by its own module. The methods
/// that provide the right module are recompile, load_artifact, instantiate, two_live_instances and
/// pool. Each is compared with recompile, and with the same messages sorted by kind, in at least
/// three fresh processes. Then threads call while another thread replaces the module (under_load).
/// With --swaps, a method makes N swaps while the resident memory is read. Every answer is compared
/// with the expected one.
///
/// Exits with 1 when a call failed or an answer was wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Swap {
    /// Measure only names that this regular expression matches: `<engine>/<method>` or
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
    /// Make the swaps of --swaps only by methods that this regular expression matches:
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

/// A method of an engine, or swaps under load on it.
type Way<'a> = (&'a Arc<dyn Engine>, Option<Method>);

fn name((engine, way): &Way<'_>) -> String {
    let way = way.map_or_else(|| UNDER_LOAD.to_owned(), |method| method.to_string());
    format!("{}/{way}", engine.id())
}

impl Swap {
    pub(super) fn execute(self) -> Result<Ended> {
        let (cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
        let plan = swap::load(&self.plan.clone().unwrap_or_else(swap::default_file), &cases)?;
        let mut lab = Lab::new(Guests::built(), config_for(cores()));
        let kinds = swap::kinds(plan.kinds.each_ref(), lab.guests())?;
        let (swapped, mut refusals) = plan.engines(&engines);
        let ways = Method::ALL.into_iter().map(Some).chain([None]);
        let ways = swapped.iter().flat_map(|engine| ways.clone().map(move |way| (engine, way)));
        let filter = Filter::new(self.filter.as_deref())?;
        let soak = Filter::new(self.soak.as_deref())?;
        let meant: Vec<Way<'_>> = filter.select("no method", ways, name)?;
        let mut compares = Vec::new();
        for ways in meant.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(a, b)) {
            let methods: Vec<Method> = ways.iter().filter_map(|(_, way)| *way).collect();
            let (all, refused) = plan.compares(ways[0].0, &kinds);
            refusals.extend(refused.into_iter().filter(|_| !methods.is_empty()));
            let all = all.into_iter().filter(|(method, _)| methods.contains(method));
            compares.extend(all.map(|(_, compare)| compare));
        }
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
        let mut guests = Guests::built();
        let both = Plan::new(&both, &engines, &mut guests)?;
        let known = Known { cases, engines, plan: both, guests };
        let budget = Budget { name: "swap".to_owned(), ..budget };
        let (came, _) = known.compare(compares, refusals, budget, &mut records)?;
        if came.stopped {
            complain("stopped; the comparisons that were made are recorded");
        }
        let ended = ended(&came, true)?;
        if came.stopped {
            return Ok(ended);
        }
        let mut failed = came.failed();
        for way in &meant {
            let name = name(way);
            let made = match (*way, self.swaps) {
                ((engine, None), _) => swap::under_load(engine, &kinds, &mut lab, plan.load),
                ((engine, Some(method)), Some(swaps)) if soak.matches(&name) => {
                    let progress = |SoakPoint { swaps, rss_kib }| {
                        complain(&format!("{name}: {swaps} swaps, {rss_kib} KiB"));
                    };
                    let ready = Ready::new(method, engine, &kinds, &mut lab);
                    let made = ready.and_then(|ready| swap::soak(ready, swaps, progress));
                    made.map(|swap| (swap, None)).map_err(Into::into)
                }
                _ => continue,
            };
            failed += keep(&mut records, &name, made)?;
        }
        print(&touchstone_report::show::all(&newest(&path, "make swap")?))?;
        complain(&format!("records: {}", shown(&path)));
        Ok(Ended::well_if(failed == 0))
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
