//! `touchstone bench`.

use super::{Ended, common};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::case::Suite;
use touchstone::record::Purpose;
use touchstone::report::{self, Options};
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
    /// Measure the cases of DIR, with the guests (*.wasm, listed in SHA256SUMS) beside them, and
    /// write records and a report to DIR; `touchstone init` makes such a folder
    #[arg(long, value_name = "DIR", conflicts_with = "overview")]
    cases: Option<PathBuf>,
    /// Serve as a worker process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

impl Bench {
    pub(super) fn execute(self) -> Result<Ended> {
        let suite = Suite::of(self.cases.as_deref())?;
        let engines = touchstone_runtimes::engines();
        if self.worker {
            anyhow::ensure!(
                serve_if_worker(&engines, &suite)?,
                "--worker is for this program's own use"
            );
            return Ok(Ended::Well);
        }
        let purposes = match (&self.cases, self.arguments.selection.overview) {
            // The comparisons are those of the project's own cases.
            (Some(_), _) => Vec::new(),
            (None, true) => vec![Purpose::Null],
            (None, false) => {
                vec![Purpose::Null, Purpose::Overhead, Purpose::Deadline, Purpose::Against]
            }
        };
        let asked = Asked {
            arguments: &self.arguments,
            suite: &suite,
            engines: &engines,
            purposes,
            exact: false,
            worker: &|| {
                let mut command = worker()?;
                if let Some(folder) = &self.cases {
                    command.arg("--cases").arg(folder);
                }
                Ok(command)
            },
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
            shown(asked.records().path())
        ));
        if came.stopped {
            complain("stopped; what is finished is recorded: continue with --resume");
        }
        if let Some(folder) = self.cases.as_ref().filter(|_| !came.stopped) {
            report(folder, asked.records().path().to_owned())?;
        }
        Ok(common::ended(&came))
    }
}

/// Writes the report of a folder of cases into it, whatever the publishing gate finds.
fn report(folder: &Path, records: PathBuf) -> Result<()> {
    let at = |name: &str| folder.join(name);
    let made = report::write(&Options {
        page: at("BENCHMARK.md"),
        readme: None,
        records,
        images: at("image"),
        pages: at("benchmark"),
        division: at("pages.toml"),
        tables: at("tables"),
        charts: at("charts.toml"),
        explanations: at("explanations.toml"),
        draft: true,
    })?;
    let page = made.files.iter().find(|file| file.ends_with("benchmark/index.html"));
    let pages = [Some(&at("BENCHMARK.md")), page].map(|path| path.map(|path| shown(path)));
    complain(&format!("report: {}", pages.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    Ok(())
}

/// The command that starts this program as a worker.
pub(super) fn worker() -> Result<Command> {
    common::this_program(&["bench", "--worker"])
}
