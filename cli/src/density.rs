//! `touchstone density`.

use super::Ended;
use super::common::{begin, newest, stopped};
use anyhow::{Context, Result};
use std::path::PathBuf;
use touchstone::case::{self, Guests};
use touchstone::density::{Ask, COUNTS, FromProcess, serve};
use touchstone::plan::{Filter, Plan};
use touchstone::record::{self, DENSITY, Line, Refusal, Replacement, Sampling, Sink};
use touchstone::run::{header, seed, shown};
use touchstone::solo::{Asked, available_memory};
use touchstone::supervise::{Parent, Stop, this_program};
use touchstone::terminal::progress::Progress;
use touchstone::terminal::{complain, print};
use touchstone_executor::Scratch;

const CASE: &str = "call_empty_function";

/// Measures many live instances in one process: memory, mappings, and calls on random ones.
///
/// Each number of instances of an executor has its own process. All instances are prepared. Then
/// each is called once in random order, and random ones after that. The time of a call includes
/// preparing the instance for the next call. Instances of Touchstone's pool are prepared only for
/// a call. If a process dies or exceeds its memory or two minutes, the command reports the reason
/// and leaves out larger numbers.
///
/// Exits with 1 when a call failed or returned a wrong output.
#[derive(Debug, clap::Args)]
pub(super) struct Density {
    /// Measure only executors whose name this regular expression matches
    filter: Option<String>,
    /// Make N live instances; repeatable [default: 1 to 20000 in six steps]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    instances: Vec<u64>,
    /// Call the export of this case
    #[arg(long, value_name = "CASE", default_value = CASE)]
    case: String,
    /// End a process that occupies more than N MiB [default: half of the available memory]
    #[arg(long, value_name = "N")]
    memory: Option<u64>,
    /// Use this seed for the order of calls [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace the records in FILE [default: records/density.jsonl of the project; in target/ with a
    /// filter, --instances or --case]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Serve as a process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

impl Density {
    pub(super) fn execute(self) -> Result<Ended> {
        let (mut cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
        let mut guests = Guests::built();
        if self.worker {
            let parent = Parent::<Ask, FromProcess>::join()?;
            let parent = parent.context("--worker is for this program's own use")?;
            return serve(parent, cases, &engines, guests).map(|()| Ended::Well);
        }
        cases.retain(|case| case.name == self.case);
        let plan = Plan::new(&cases, &engines, &mut guests)?;
        let is_whole = self.filter.is_none() && self.instances.is_empty() && self.case == CASE;
        let filter = Filter::new(self.filter.as_deref())?;
        let first = plan.cells.first();
        let first =
            first.with_context(|| format!("no executor can run the case '{}'", self.case))?;
        // Where the code comes from makes no difference to what lives.
        let cells = plan.cells.iter().filter(|cell| {
            let key = &cell.key;
            key.guest == first.key.guest && key.threads == 1 && !key.strategy.is_precompiled()
        });
        let cells = filter.select("no executor", cells, |cell| cell.key.executor().to_string())?;
        let counts = if self.instances.is_empty() { COUNTS.to_vec() } else { self.instances };
        let memory = self.memory.map_or_else(|| available_memory() / 2, |mib| mib << 20);
        let path = self.records.unwrap_or_else(|| record::output_path(DENSITY, is_whole));
        let seed = seed(self.seed);
        let header = header(Sampling::untimed("density", seed), &engines, &plan);
        let mut file = Replacement::of(&path)?;
        file.append(&Line::Run(Box::new(header)))?;
        let (artifacts, stop) = (Scratch::new()?, Stop::default());
        begin(&stop, false)?;
        let progress = Progress::new(cells.len() * counts.len(), true);
        let mut ended = Ended::Well;
        for cell in cells {
            for &instances in &counts {
                let executor = cell.key.executor();
                progress.next(format!("{instances} of {executor}"));
                let artifacts = artifacts.path().to_owned();
                let ask = Ask { cell: cell.key.clone(), instances, seed, artifacts };
                match ask.put(this_program(&["density", "--worker"]), memory, &stop)? {
                    Asked::Answered(density) => file.append(&Line::Density(density))?,
                    Asked::Stopped => {
                        drop(progress);
                        return Ok(stopped(&file));
                    }
                    Asked::Refused(refused) => {
                        progress.print(&format!("{executor}: {refused}"));
                        if refused.status.is_failure() {
                            ended = Ended::Badly;
                        }
                        file.append(&Line::Refusal(Refusal {
                            engine: executor.engine,
                            strategy: Some(executor.strategy),
                            guest: Some(cell.key.guest.clone()),
                            case: Some(cell.key.case.clone()),
                            threads: None,
                            status: refused.status,
                            reason: refused.reason,
                        }))?;
                        break;
                    }
                }
            }
        }
        drop(progress);
        file.finish()?;
        print(&touchstone_report::show::all(&newest(&path, "make density")?))?;
        complain(&format!("records: {}", shown(&path)));
        Ok(ended)
    }
}
