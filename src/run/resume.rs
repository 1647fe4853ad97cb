//! Going on with a run that was broken off.

use super::{Job, Task};
use crate::record::{CellKey, Header, Line, Refusal, Samples, estimate};
use std::collections::{BTreeMap, BTreeSet};

/// What a run has done so far.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// By task: the processes in which it was done, and whether each of them was clean.
    pub tasks: BTreeMap<Task, BTreeMap<u32, bool>>,
    /// What is refused.
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

    /// Whether a cell is refused for good.
    #[must_use]
    pub fn is_refused(&self, cell: &CellKey) -> bool {
        self.refusals.iter().any(|refusal| refusal.is_of(cell))
    }

    /// Processes in which a task gave enough clean samples.
    #[must_use]
    pub fn clean_processes(&self, task: &Task) -> usize {
        self.tasks.get(task).map_or(0, |seen| seen.values().filter(|clean| **clean).count())
    }
}

/// Whether a process's samples of a sampled metric count. What is observed once always does.
fn is_clean(samples: &Samples) -> bool {
    let clean = samples.0.iter().filter(|sample| sample.clean).count();
    clean >= estimate::CLEAN_SAMPLES.min(samples.0.len())
}

/// Makes a job go on with the last run of a file, if that was made on this machine, by this
/// build, and in the same way. Gives back how many tasks have been done in some process.
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
        // What failed may have been the machine's fault: it is tried again.
        if let Line::Refusal(refusal) = line
            && refusal.status.is_failure()
        {
            continue;
        }
        job.done.take(line);
    }
    Some(job.done.tasks.len())
}
