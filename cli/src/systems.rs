//! `touchstone systems`.

use super::Ended;
use super::common::{begin, names, newest, stopped};
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;
use strum::VariantArray;
use touchstone::case::{self, Guests};
use touchstone::plan::{Filter, Plan};
use touchstone::record::{self, Line, Replacement, SYSTEMS, Sampling, Sink};
use touchstone::run::{header, seed, shown};
use touchstone::supervise::Stop;
use touchstone::systems::{Measuring, Name, Size, requests, serve_pipeline};
use touchstone::terminal::progress::Progress;
use touchstone::terminal::{complain, print};

/// Measures executors where people use them: a host over HTTP, a node, shared memory, a pipeline.
///
/// Exits with 1 when a call failed or an answer was wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Systems {
    /// Measure only these systems [default: all]
    #[arg(value_parser = names::<Name>())]
    systems: Vec<Name>,
    /// Measure only executors whose name this regular expression matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// Do everything once and small, to see that it works; the times are not comparable
    #[arg(long)]
    small: bool,
    /// Use this seed for arrival times, orders and messages [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Make every 200th call of the host of requests take N ms longer
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    stall_ms: u64,
    /// Serve as a host of requests for another run
    #[arg(long, hide = true)]
    requests_host: bool,
    /// Replace the records in FILE [default: records/systems.jsonl of the project; in target/ with
    /// --small, a filter or some systems]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Serve as the server of the pipeline of another process
    #[arg(long, hide = true)]
    pipeline_server: bool,
}

impl Systems {
    pub(super) fn execute(self) -> Result<Ended> {
        if self.pipeline_server {
            return serve_pipeline().map(|()| Ended::Well);
        }
        let (cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
        let mut guests = Guests::built();
        if self.requests_host {
            return requests::serve(&cases, &engines, guests).map(|()| Ended::Well);
        }
        let plan = Plan::new(&cases, &engines, &mut guests)?;
        let filter = Filter::new(self.filter.as_deref())?;
        let is_whole = self.systems.is_empty() && self.filter.is_none() && !self.small;
        let systems = match self.systems.is_empty() {
            true => <Name as VariantArray>::VARIANTS.to_vec(),
            false => self.systems,
        };
        let seed = seed(self.seed);
        let path = self.records.unwrap_or_else(|| record::output_path(SYSTEMS, is_whole));
        let mut records = Replacement::of(&path)?;
        let header = header(Sampling::untimed("systems", seed), &engines, &plan);
        records.append(&Line::Run(Box::new(header)))?;
        let stop = Stop::default();
        begin(&stop, false)?;
        let progress = Progress::new(0, true);
        let mut measuring = Measuring {
            engines: &engines,
            guests: &mut guests,
            filter: &filter,
            size: if self.small { Size::Small } else { Size::Full },
            seed,
            stop: &stop,
            progress: &progress,
            records: &mut records,
            stall: Duration::from_millis(self.stall_ms),
            failed: false,
        };
        for system in systems {
            system.measure(&mut measuring)?;
            if stop.asked() {
                return Ok(stopped(&records));
            }
        }
        let failed = measuring.failed;
        drop(progress);
        records.finish()?;
        print(&touchstone_report::show::all(&newest(&path, "make systems")?))?;
        complain(&format!("records: {}", shown(&path)));
        Ok(Ended::well_if(!failed))
    }
}
