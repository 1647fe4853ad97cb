use super::Ended;
use super::common::Known;
use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use touchstone::lab::{Lab, Opened, config_for};
use touchstone::measure::{Caller, Crew, RoundPlan, Work, steps};
use touchstone::plan::Filter;
use touchstone::record::Metric;
use touchstone::record::estimate::of_processes;
use touchstone::terminal::{Progress, Style, Table, print};
use touchstone_executor::harness::thread_usage;

/// Repeats a call and prints its cost: time, steps, page faults, context switches.
///
/// Use it under a profiler: `perf record -- touchstone repeat …`, `strace -cf touchstone
/// repeat …`. Outputs are compared. On several threads, faults and switches are those of a
/// separate measurement on one thread.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  perf record touchstone repeat call_empty_function_from_test_runtime/wasmi_instance_reuse/1_threads"
)]
pub(super) struct Repeat {
    /// Run the cells whose name this regular expression matches, one after the other
    filter: String,
    /// Run each cell for this many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "2", value_parser = touchstone::run::seconds)]
    seconds: Duration,
    /// Stop after N calls per thread instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,
}

const ROUND: Duration = Duration::from_millis(50);

impl Repeat {
    pub(super) fn execute(self) -> Result<Ended> {
        let filter = Filter::new(Some(&self.filter))?;
        let Known { plan, guests, .. } = Known::load(&touchstone::case::Suite::BuiltIn)?;
        let cells = plan.select(&filter)?;
        let most = cells.iter().map(|cell| cell.key.threads).max().unwrap_or(1);
        let mut lab = Lab::new(guests, config_for(most));
        let [own, kernel] =
            [["prepare", "invoke", "finish"], ["in the kernel", "faults", "switches"]];
        let head = [&["cell", "calls", "ns a call"][..], &own, &kernel].concat();
        let mut table = Table::new(&head).right(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let (mut ended, mut refused) = (Ended::Badly, String::new());
        let progress = Progress::new(cells.len(), true);
        for cell in cells {
            let name = cell.name();
            progress.next(name.clone());
            match lab.open(cell) {
                Ok(opened) => {
                    let row = self.repeat(&opened, cell.key.threads);
                    let row = row.with_context(|| name.clone())?;
                    table.row(std::iter::once(name).chain(row));
                    ended = Ended::Well;
                }
                Err(reason) => refused += &format!("not run: {name}: {reason}\n"),
            }
        }
        drop(progress);
        print(&(table.render(Style::of_stdout()) + &refused))?;
        Ok(ended)
    }

    fn repeat(&self, opened: &Opened, threads: usize) -> Result<[String; 8]> {
        let metrics = steps(opened, ROUND)?;
        let step = |metric| {
            let samples = metrics.get(&metric).and_then(|samples| of_processes(&[samples]));
            samples.map_or_else(|| "–".to_owned(), |step| format!("{:.0}", step.median))
        };
        let work = opened.clone();
        let mut crew = Crew::start(threads, move || Caller::new(&work))?;
        let plan = crew.plan(ROUND, opened.estimate_ns)?;
        let (mut calls, mut ns) = (0, 0.0);
        let (started, wanted) = (Instant::now(), self.calls.unwrap_or(u64::MAX));
        while calls < wanted && (self.calls.is_some() || started.elapsed() < self.seconds) {
            let left = wanted - calls;
            let (now, batch) = (plan.calls.min(left), plan.batch.min(left));
            let sample = crew.round(RoundPlan { calls: now, batch, step: batch, ..plan })?.sample();
            calls += sample.calls / threads as u64;
            ns += sample.total / threads as f64;
        }
        drop(crew);
        // What the kernel counts is of the calling thread: a share of the calls, made here.
        let mut caller = Caller::new(opened)?;
        let counted = (ROUND.as_nanos() as u64 / opened.estimate_ns.max(1)).clamp(1, 1000);
        caller.time(counted)?;
        let usage = || thread_usage().context("the kernel does not report page faults");
        let before = usage()?;
        caller.time(counted)?;
        let after = usage()?;
        let each = |count: u64| count as f64 / counted as f64;
        let whole = |value: f64| format!("{value:.0}");
        Ok([
            calls.to_string(),
            whole(ns / calls.max(1) as f64),
            step(Metric::Prepare),
            step(Metric::Invoke),
            step(Metric::Finish),
            whole(each((after.system - before.system).as_nanos() as u64)),
            format!("{:.3}", each(after.page_faults - before.page_faults)),
            format!("{:.4}", each(after.switches - before.switches)),
        ])
    }
}
