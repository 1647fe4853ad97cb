//! `touchstone swap`.

use super::Ended;
use super::common::{Known, begin, ended, newest, stopped};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use touchstone::case::{self, Case, Guests};
use touchstone::experiment::{Asked, Session, go_on, serve, workload};
use touchstone::plan::{Budget, Filter, Plan, refusal};
use touchstone::record::{
    self, Coordinate, Experiment, PointBook, RecordFile, Refusal, SWAPS, Status, experiments_folder,
};
use touchstone::run::{SamplingName, seed, shown};
use touchstone::supervise::Stop;
use touchstone::swap::{self, Method};
use touchstone::terminal::{complain, print};
use touchstone_executor::adapter::MeasuredEngine;

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
    /// Swap N times by each method that the filter and `soak` of benches/swap.toml match, and read
    /// the resident memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(20..))]
    swaps: Option<u64>,
    /// Read the kinds of messages from this file [default: benches/swap.toml of the project]
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Replace the records in FILE [default: records/swap.jsonl of the project; in target/ with a
    /// filter or a plan]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Serve as a process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

/// The name of swaps under load in filters.
const UNDER_LOAD: &str = "under_load";

/// A method of an engine, or swaps under load on it.
type Way<'a> = (&'a Arc<dyn MeasuredEngine>, Option<Method>);

fn name((engine, way): &Way<'_>) -> String {
    let way = way.map_or_else(|| UNDER_LOAD.to_owned(), |method| method.to_string());
    format!("{}/{way}", engine.id())
}

impl Swap {
    pub(super) fn execute(self) -> Result<Ended> {
        if self.worker {
            let all = Experiment::all(experiments_folder())?;
            return serve(&all, &touchstone_runtimes::engines()).map(|()| Ended::Well);
        }
        let (cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
        let plan = swap::load(&swap::file(self.plan.as_deref()), &cases)?;
        let kinds = swap::kinds(plan.kinds.each_ref(), &mut Guests::built())?;
        let (swapped, left_out) = swap::engines(&engines);
        let refusal =
            |(engine, reason): &swap::LeftOut| refusal(&**engine, Status::NotAsked, reason.clone());
        let mut refusals: Vec<Refusal> = left_out.iter().map(refusal).collect();
        let ways = Method::ALL.into_iter().map(Some).chain([None]);
        let ways = swapped.iter().flat_map(|engine| ways.clone().map(move |way| (engine, way)));
        let filter = Filter::new(self.filter.as_deref())?;
        let soak = Filter::new(plan.soak.as_deref())?;
        let meant: Vec<Way<'_>> = filter.select("no method", ways, name)?;
        let mut compares = Vec::new();
        for ways in meant.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(a, b)) {
            let methods: Vec<Method> = ways.iter().filter_map(|(_, way)| *way).collect();
            let (all, refused) = plan.compares(ways[0].0, &kinds)?;
            refusals.extend(refused.into_iter().filter(|_| !methods.is_empty()));
            let all = all.into_iter().filter(|(method, _)| methods.contains(method));
            compares.extend(all.map(|(_, compare)| compare));
        }
        for Refusal { engine, reason, .. } in &refusals {
            complain(&format!("left out: {engine}: {reason}"));
        }
        let is_whole = self.filter.is_none() && self.plan.is_none();
        let default = || record::output_path(SWAPS, is_whole);
        let path = self.records.clone().unwrap_or_else(default);
        let (mut file, before) = RecordFile::go_on(&path)?;
        let budget = match self.sampling {
            SamplingName::Full => Budget::full(seed(self.seed)),
            SamplingName::Quick => Budget::quick(seed(self.seed)),
        };
        let both = plan.kinds.each_ref().map(|case| Case::clone(case));
        let mut guests = Guests::built();
        let both = Plan::new(&both, &engines, &mut guests)?;
        let known = Known { cases, engines, plan: both, guests };
        let budget = Budget { name: "swap".to_owned(), ..budget };
        let engines = known.engines.clone();
        let all = Experiment::all(experiments_folder())?;
        let own = all.iter().filter(|own| own.command == "swap");
        let experiments = own.filter_map(|own| Some((own, workload(&own.name)?))).collect();
        let (stop, worker) = (Stop::default(), ["swap", "--worker"]);
        let asked = self.asked(&meant, &soak);
        let session =
            Session { experiments, engines: &engines, worker: &worker, asked, stop: &stop };
        let came =
            known.compare(compares, refusals, budget, &session.digest()?, (&mut file, before))?;
        let ended = ended(&came, came.failed() == 0)?;
        if came.stopped {
            return Ok(stopped(&file));
        }
        begin(&stop, false)?;
        let ran = go_on(&session, &mut file)?;
        if ran.stopped {
            return Ok(stopped(&file));
        }
        file.finish()?;
        let book = newest(&path, "make swap")?;
        for (_, refused, point) in book.points.values().flat_map(PointBook::refused) {
            if !refused.status.is_failure() {
                complain(&format!("left out: {}: {}", point.place, refused.reason));
            }
        }
        print(&touchstone_report::show::all(&book))?;
        complain(&format!("records: {}", shown(&path)));
        Ok(if ran.failed { Ended::Badly } else { ended })
    }

    /// Swaps under load, and memory over many swaps: experiments of the same command.
    fn asked(&self, meant: &[Way<'_>], soak: &Filter) -> Asked {
        let texts = |ways: Vec<String>| ways.into_iter().map(Coordinate::from).collect();
        let under_load = meant.iter().filter(|(_, method)| method.is_none());
        let under_load = under_load.map(|(engine, _)| engine.id().to_owned()).collect();
        let methods = meant.iter().filter(|(_, method)| method.is_some()).map(name);
        let methods = methods.filter(|name| soak.matches(name)).collect();
        let mut values = BTreeMap::from([
            ("engine".to_owned(), texts(under_load)),
            ("method".to_owned(), texts(methods)),
        ]);
        values.extend(self.swaps.map(|swaps| ("swaps".to_owned(), vec![swaps.into()])));
        Asked { values, seed: self.seed, file: self.plan.clone(), ..Asked::default() }
    }
}
