//! `touchstone bench`.

use super::{Ended, common};
use anyhow::Result;
use std::process::Command;
use touchstone::record::Purpose;
use touchstone::run::{Arguments, Asked, serve_if_worker, shown, watch_for_ctrl_c};
use touchstone::supervise::Stop;
use touchstone::terminal::complain;
use touchstone::terminal::progress::Progress;

/// Measures cells and comparisons, and appends the records.
///
/// A cell is a case on a guest, an engine, a strategy and a number of threads. Each is
/// measured in at least three fresh processes, one per engine and pass, in random order. The
/// output is compared before anything is timed. A probe detects interference by other tenants
/// of the processor. Samples with interference are repeated, and estimates with too few
/// clean samples are marked † in the report.
///
/// Exits with 1 when a cell failed, and with 130 when the run was stopped.
#[derive(Debug, clap::Args)]
pub(super) struct Bench {
    #[command(flatten)]
    arguments: Arguments,
    /// Serve as a worker process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

impl Bench {
    pub(super) fn execute(self) -> Result<Ended> {
        let engines = touchstone_runtimes::engines();
        if self.worker {
            anyhow::ensure!(serve_if_worker(&engines)?, "--worker is for this program's own use");
            return Ok(Ended::Well);
        }
        let purposes = match self.arguments.selection.overview {
            true => vec![Purpose::Null],
            false => vec![Purpose::Null, Purpose::Overhead, Purpose::Deadline, Purpose::Against],
        };
        let asked = Asked {
            arguments: &self.arguments,
            engines: &engines,
            purposes,
            exact: false,
            worker: &worker,
        };
        let (cases, job) = asked.job()?;
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, self.arguments.in_process)?;
        let mut progress = Progress::new(job.tasks().len() * job.budget.processes as usize, true);
        let came = asked.run(&cases, job, &stop, &mut progress)?;
        drop(progress);
        complain(&format!(
            "{} cells and {} comparisons measured, {} and {} of them marked †; {} left out with the \
             reason, {} failed; records: {}",
            came.cells.measured,
            came.comparisons.measured,
            came.cells.marked,
            came.comparisons.marked,
            came.cells.left_out,
            came.failed(),
            shown(&asked.records())
        ));
        if came.stopped {
            complain("stopped; what is finished is recorded: continue with --resume");
        }
        Ok(common::ended(&came))
    }
}

/// The command that starts this program as a worker.
pub(super) fn worker() -> Result<Command> {
    common::this_program(&["bench", "--worker"])
}
