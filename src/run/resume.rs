use super::{Job, Task};
use crate::record::estimate::{has_enough, median_of, needed, of_processes, processes_for};
use crate::record::{Header, Line, Metric, Refusals, Setups};
use std::collections::BTreeMap;
use std::path::Path;

/// The finished part of a run.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// `true` if its header is written.
    pub begun: bool,
    /// By task: the processes in which it was done, and `true` for clean ones.
    pub tasks: BTreeMap<Task, BTreeMap<u32, bool>>,
    /// By task: the medians of calls, and times to compile, in processes in which they are clean.
    pub medians: BTreeMap<(Task, Metric), BTreeMap<u32, f64>>,
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
                let task = Task::Cell(seen.cell.clone());
                for metric in [Metric::Call, Metric::Compile] {
                    let samples = seen.metrics.get(&metric).filter(|own| has_enough(own));
                    let median = samples.and_then(|own| of_processes(&[own]));
                    let own = self.medians.entry((task.clone(), metric)).or_default();
                    own.extend(median.map(|own| (seen.process, own.median)));
                }
                self.tasks.entry(task).or_default().insert(seen.process, clean);
            }
            Line::Comparison(comparison) => {
                let clean = comparison.timed().into_iter().filter(|(_, is_clean)| *is_clean);
                let subject: Vec<f64> = clean.map(|((subject, _), _)| subject).collect();
                let clean = subject.len() >= needed(comparison.rounds.len());
                let task = Task::Compare(comparison.of.clone());
                let own = self.medians.entry((task.clone(), Metric::Call)).or_default();
                let median = median_of(&subject).filter(|_| clean);
                own.extend(median.map(|median| (comparison.process, median)));
                self.tasks.entry(task).or_default().insert(comparison.process, clean);
            }
            Line::Refusal(refusal) => drop(self.refusals.insert(refusal.clone())),
            Line::Setup(setup) => drop(self.setups.recorded(setup.clone())),
            _ => {}
        }
    }

    /// Clean processes that a task should have: `first`, then as many as the spread of the calls,
    /// of a comparison's subject, and of the times to compile asks for.
    pub fn wanted(&self, task: &Task, (first, share, most): (usize, f64, usize)) -> usize {
        let needed = |metric: Metric| {
            let medians = self.medians.get(&(task.clone(), metric))?.values().copied();
            let medians: Vec<f64> = medians.take(first).collect();
            (medians.len() == first).then(|| processes_for(&medians, share, most))
        };
        needed(Metric::Call).map_or(first, |calls| calls.max(needed(Metric::Compile).unwrap_or(0)))
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
