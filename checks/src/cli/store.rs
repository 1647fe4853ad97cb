//! Keeping findings for the report.

use anyhow::Result;
use std::path::PathBuf;
use touchstone::plan::Plan;
use touchstone::record::{
    CHECKS, Check, Finding, Line, RecordFile, Sampling, Sink, default_path, load,
};
use touchstone::run::{header, shown};
use touchstone::terminal::print;
use touchstone_runtimes::engines;

#[derive(Debug, clap::Args)]
pub(super) struct Keep {
    /// Replace the stored findings of this check; not with a filter
    #[arg(long, conflicts_with = "filter")]
    store: bool,
    /// Store the findings in FILE [default: records/checks.jsonl of the project]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
}

impl Keep {
    /// Fails before the check if the folder cannot be written or the file holds something else.
    pub(super) fn ensure_possible(&self) -> Result<()> {
        if self.store { RecordFile::ensure_replaceable(&self.path()) } else { Ok(()) }
    }

    fn path(&self) -> PathBuf {
        self.records.clone().unwrap_or_else(|| default_path(CHECKS))
    }

    /// Stores what a check found, if that was asked for, and says where. Earlier findings of
    /// the same check are dropped, those of other checks stay.
    pub(super) fn keep(self, check: Check, seed: u64, findings: Vec<Finding>) -> Result<()> {
        if !self.store {
            return Ok(());
        }
        let path = self.path();
        let mut file = RecordFile::replacing(&path)?;
        let stored = if path.exists() { load(&path)?.runs } else { Vec::new() };
        for (header, mut others) in stored {
            others.retain(|line| !matches!(line, Line::Finding(old) if old.check == check));
            if !others.is_empty() {
                file.append(&Line::Run(Box::new(header)))?;
                others.iter().try_for_each(|line| file.append(line))?;
                file.end()?;
            }
        }
        let sampling = Sampling::untimed("checks", seed);
        let none = Plan::default();
        file.append(&Line::Run(Box::new(header(sampling, &engines(), &none))))?;
        let mut lines = findings.into_iter().map(|finding| Line::Finding(Box::new(finding)));
        lines.try_for_each(|line| file.append(&line))?;
        file.finish()?;
        print(&format!("wrote {}\n", shown(&path)))
    }
}
