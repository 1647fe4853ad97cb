//! Whether a record file holds what it has to.

use super::Look;
use super::job::Job;
use super::place::{Place, Told};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone::record::{self, CellRecord, Record, Status};

/// What lies in a record file: the cells' records by name, and the cut lines.
pub(super) struct Kept {
    pub(super) cells: BTreeMap<String, Vec<CellRecord>>,
    pub(super) skipped: usize,
}

pub(super) fn kept(path: &Path) -> Result<Kept> {
    let mut kept = Kept { cells: BTreeMap::new(), skipped: 0 };
    // Broken off before anything was written.
    if !path.exists() {
        return Ok(kept);
    }
    let loaded = record::load(path)?;
    kept.skipped = loaded.skipped.len();
    for record in loaded.records {
        if let Record::Cell(cell) = record {
            kept.cells.entry(cell.key.id()).or_default().push(*cell);
        }
    }
    Ok(kept)
}

impl Look {
    /// After something has happened to a run: everything that it said was finished is in
    /// the file, whole and once, and a run that goes on does the rest and no more.
    pub(super) fn look_after(&mut self, place: &Place<'_>, job: &Job, told: &Told) -> Result<()> {
        let all: BTreeSet<String> = job.cells()?.iter().map(|cell| cell.key.id()).collect();
        let broken_off = kept(&job.records)?;
        self.finished += told.finished.len();
        let lost = |kept: &Kept, finished: &[String]| {
            finished.iter().filter(|id| !kept.cells.contains_key(*id)).count()
        };
        self.lost += lost(&broken_off, &told.finished);
        self.expect(broken_off.skipped <= 1, || {
            format!("{} lines were cut off by one end", broken_off.skipped)
        });
        for (id, records) in &broken_off.cells {
            let whole = |cell: &CellRecord| {
                cell.status != Status::Ok || (cell.median_ns.is_some() && cell.samples.len() == 10)
            };
            self.expect(all.contains(id) && records.iter().all(whole), || {
                format!("a record of '{id}' is not what the run has written")
            });
        }

        // A file that is not there yet cannot be gone on with.
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
        let missing = all.iter().filter(|id| !in_the_end.cells.contains_key(*id)).count();
        self.expect(missing == 0, || format!("{missing} cells were never done"));
        let well =
            |records: &[CellRecord]| records.last().is_some_and(|it| it.status == Status::Ok);
        let unwell = in_the_end.cells.values().filter(|records| !well(records)).count();
        self.expect(unwell == 0, || format!("{unwell} cells were not done again"));
        let twice = broken_off
            .cells
            .iter()
            .filter(|(id, before)| well(before) && in_the_end.cells[*id].len() > before.len())
            .count();
        self.expect(twice == 0, || format!("{twice} finished cells were done twice"));
        Ok(())
    }
}
