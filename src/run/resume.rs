//! Continues an interrupted run.

use super::{Job, Task};
use crate::record::{CellKey, Header, Line, Refusal, Samples, estimate};
use std::collections::{BTreeMap, BTreeSet};

/// What a run has done so far.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// By task: the processes that performed it, and whether each was clean.
    pub tasks: BTreeMap<Task, BTreeMap<u32, bool>>,
    /// The refusals.
    pub refusals: BTreeSet<Refusal>,
}

impl Done {
    /// Takes in a line.
    pub fn take(&mut self, line: &Line) {
        match line {
            Line::Observations(seen) => {
                let clean = seen.metrics.values().all(is_clean);
                let task = Task::Cell(seen.cell.clone());
                self.tasks.entry(task).or_default().insert(seen.process, clean);
            }
            Line::Comparison(comparison) => {
                let clean = comparison.noisy.is_empty();
                let task = Task::Compare(comparison.of.clone());
                self.tasks.entry(task).or_default().insert(comparison.process, clean);
            }
            Line::Refusal(refusal) => drop(self.refusals.insert(refusal.clone())),
            _ => {}
        }
    }

    /// Whether a cell is refused.
    #[must_use]
    pub fn is_refused(&self, cell: &CellKey) -> bool {
        self.refusals.iter().any(|refusal| refusal.is_of(cell))
    }

    /// Number of processes in which a task has enough clean samples.
    #[must_use]
    pub fn clean_processes(&self, task: &Task) -> usize {
        self.tasks.get(task).map_or(0, |seen| seen.values().filter(|clean| **clean).count())
    }
}

/// Whether enough samples of a metric are clean. A single observation always counts.
fn is_clean(samples: &Samples) -> bool {
    let clean = samples.0.iter().filter(|sample| sample.clean).count();
    clean >= estimate::CLEAN_SAMPLES.min(samples.0.len())
}

/// Makes a job continue the last run of a file, if it has the same machine, binary, sampling
/// and guests. Returns the number of tasks that some process has performed.
#[must_use]
pub fn go_on(job: &mut Job, runs: Vec<(Header, Vec<Line>)>) -> Option<usize> {
    let (header, lines) = runs.into_iter().next_back()?;
    let ours = &job.header;
    let same = header.machine == ours.machine
        && !header.tools.binary.is_empty()
        && header.tools.binary == ours.tools.binary
        && header.sampling.name == ours.sampling.name
        && header.sampling.in_process == ours.sampling.in_process
        && header.works == ours.works;
    if !same {
        return None;
    }
    job.budget.seed = header.sampling.seed;
    job.header = header;
    for line in &lines {
        // Failures are tried again, because the machine may have caused them.
        if let Line::Refusal(refusal) = line
            && refusal.status.is_failure()
        {
            continue;
        }
        job.done.take(line);
    }
    Some(job.done.tasks.len())
}
