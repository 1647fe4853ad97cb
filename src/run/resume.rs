use super::{Job, Task};
use crate::record::estimate::{has_enough, needed, of_processes, processes_for};
use crate::record::{CellKey, Header, Line, Metric, Refusals, Setups};
use std::collections::BTreeMap;
use std::path::Path;

/// The finished part of a run.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// `true` if its header is written.
    pub begun: bool,
    /// By task: the processes in which it was done, and `true` for clean ones.
    pub tasks: BTreeMap<Task, BTreeMap<u32, bool>>,
    /// By cell: the medians of the processes whose calls are clean, ns.
    pub medians: BTreeMap<CellKey, BTreeMap<u32, f64>>,
    pub refusals: Refusals,
    pub setups: Setups,
}

impl Done {
    pub fn take(&mut self, line: &Line) {
        match line {
            Line::Observations(seen) => {
                // The steps of a call have their own mark, and no pass for their sake.
                let counts = |metric: &Metric| seen.metrics.get(metric).is_none_or(has_enough);
                let clean = [Metric::Call, Metric::WarmCall, Metric::WarmTake].iter().all(counts);
                let call = seen.metrics.get(&Metric::Call).filter(|call| has_enough(call));
                if let Some(median) = call.and_then(|call| of_processes(&[call])) {
                    let own = self.medians.entry(seen.cell.clone()).or_default();
                    own.insert(seen.process, median.median);
                }
                let task = Task::Cell(seen.cell.clone());
                self.tasks.entry(task).or_default().insert(seen.process, clean);
            }
            Line::Comparison(comparison) => {
                let (all, noisy) = (comparison.rounds.len(), comparison.noisy.len());
                let clean = all.saturating_sub(noisy) >= needed(all);
                let task = Task::Compare(comparison.of.clone());
                self.tasks.entry(task).or_default().insert(comparison.process, clean);
            }
            Line::Refusal(refusal) => drop(self.refusals.insert(refusal.clone())),
            Line::Setup(setup) => drop(self.setups.recorded(setup.clone())),
            _ => {}
        }
    }

    /// Clean processes that a cell should have: `first`, then as many as their spread asks for.
    pub fn wanted(&self, cell: &CellKey, (first, share, most): (usize, f64, usize)) -> usize {
        let medians = self.medians.get(cell).into_iter().flatten().map(|(_, median)| *median);
        let medians: Vec<f64> = medians.take(first).collect();
        if medians.len() < first { first } else { processes_for(&medians, share, most) }
    }

    /// Number of processes in which a task has enough clean samples.
    pub fn clean_processes(&self, task: &Task) -> usize {
        self.tasks.get(task).map_or(0, |seen| seen.values().filter(|clean| **clean).count())
    }
}

/// The message that an interrupted run continues, of which so much is done.
pub fn going_on(run: &str, done: &str) -> String {
    format!("going on with the run {run}: {done}")
}

/// The message about an interrupted run that cannot go on: its file starts again.
pub fn starting_again(part: &Path) -> String {
    let part = super::shown(part);
    format!(
        "no run of these questions by this build on this machine can be continued; the lines in \
         {part} are removed"
    )
}

/// `true` if a run can continue an earlier one: that was made on this machine, by this build, of
/// the same questions and in the same way.
pub fn goes_on(before: &Header, ours: &Header) -> bool {
    before.is_of_build(ours)
        && before.sampling.name == ours.sampling.name
        && before.sampling.in_process == ours.sampling.in_process
        && before.works == ours.works
        && before.questions == ours.questions
        && before.shard == ours.shard
}

/// Makes a job resume the last run of a file, if it can. Returns how many tasks were begun.
pub fn go_on(job: &mut Job, runs: Vec<(Header, Vec<Line>)>) -> Option<usize> {
    let (header, lines) = runs.into_iter().next_back()?;
    if !goes_on(&header, &job.header) {
        return None;
    }
    job.budget.seed = header.sampling.seed;
    job.header = header;
    job.done.begun = true;
    for line in &lines {
        // Failures are tried again: the machine may have caused them.
        if let Line::Refusal(refusal) = line
            && refusal.status.is_failure()
        {
            continue;
        }
        job.done.take(line);
    }
    Some(job.done.tasks.len())
}
