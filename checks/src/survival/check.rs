//! Checks that a record file is complete.

use super::Scenario;
use super::job::{Job, PROCESSES, name};
use super::place::{Place, Told};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone::record::{self, Line, Metric, Observations, Refusals};

/// The content of a record file.
#[derive(Default)]
pub(super) struct Kept {
    /// Observations by name.
    pub(super) seen: BTreeMap<String, Vec<Observations>>,
    pub(super) refusals: Refusals,
    /// Number of incomplete lines.
    pub(super) skipped: usize,
}

pub(super) fn kept(path: &Path) -> Result<Kept> {
    let mut kept = Kept::default();
    // The run was stopped before it wrote anything.
    if !path.exists() {
        return Ok(kept);
    }
    let loaded = record::load(path)?;
    kept.skipped = loaded.skipped.len();
    for line in loaded.runs.into_iter().flat_map(|(_, lines)| lines) {
        match line {
            Line::Observations(seen) => {
                kept.seen.entry(name(&seen.cell, seen.process)).or_default().push(seen);
            }
            Line::Refusal(refusal) => drop(kept.refusals.insert(refusal)),
            _ => {}
        }
    }
    Ok(kept)
}

impl Job {
    /// The names of all observations of a run.
    pub(super) fn names(&self) -> Result<BTreeSet<String>> {
        let cells = self.cells()?;
        Ok(cells.iter().flat_map(|cell| (0..PROCESSES).map(move |at| name(cell, at))).collect())
    }
}

impl Scenario {
    /// Ends a round with a check of the records: each finished cell is in the file once and
    /// complete, and a resumed run measures the rest and no more.
    pub(super) fn look_after(&mut self, place: &Place<'_>, job: &Job, told: &Told) -> Result<()> {
        self.rounds += 1;
        let all = job.names()?;
        let broken_off = kept(&job.records)?;
        self.finished += told.finished.len();
        let lost = |kept: &Kept, finished: &[String]| {
            finished.iter().filter(|name| !kept.seen.contains_key(*name)).count()
        };
        self.lost += lost(&broken_off, &told.finished);
        self.expect(broken_off.skipped <= 1, || {
            format!("{} lines were cut off by one end", broken_off.skipped)
        });
        for (name, seen) in &broken_off.seen {
            let whole = |seen: &Observations| {
                seen.metrics.get(&Metric::Call).is_some_and(|samples| !samples.0.is_empty())
            };
            self.expect(all.contains(name) && seen.iter().all(whole), || {
                format!("a record of '{name}' is not what the run has written")
            });
        }

        // A file that does not exist cannot be resumed.
        let again =
            Job { resume: job.records.exists(), mishaps: Vec::new(), room: None, ..job.clone() };
        let ran = place.run(&again)?;
        self.expect(ran.death.is_success(), || {
            format!("the run that went on {}: {}", ran.death, ran.complaint)
        });
        self.finished += ran.told.finished.len();
        let in_the_end = kept(&job.records)?;
        self.lost += lost(&in_the_end, &ran.told.finished);
        self.half_lines += in_the_end.skipped;
        let missing = all.iter().filter(|name| !in_the_end.seen.contains_key(*name)).count();
        self.expect(missing == 0, || format!("{missing} cells were never done"));
        let twice = broken_off
            .seen
            .iter()
            .filter(|(name, before)| {
                in_the_end.seen.get(*name).is_some_and(|after| after.len() > before.len())
            })
            .count();
        self.expect(twice == 0, || format!("{twice} finished cells were done twice"));
        Ok(())
    }
}
