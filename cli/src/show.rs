use super::Ended;
use super::common::{newest, print_lines};
use anyhow::Result;
use serde_json::Value;
use std::path::PathBuf;
use touchstone::plan::Filter;
use touchstone::record::{self, BENCH};
use touchstone::run::shown;
use touchstone::terminal::print;
use touchstone_report::show::{entries, tables};

/// Shows the newest run of a record file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone show 'serde_json_big.*/wasmtime_'")]
pub(super) struct Show {
    /// Show only entries whose name this regular expression matches
    filter: Option<String>,
    /// Print one JSON object per line; values that were not measured are null
    #[arg(long)]
    json: bool,
    /// With --json: also print the raw samples and rounds
    #[arg(long, requires = "json")]
    samples: bool,
    /// Read the records from FILE [default: the project's records/records.jsonl]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
}

impl Show {
    pub(super) fn execute(self) -> Result<Ended> {
        let path = self.records.unwrap_or_else(|| record::default_path(BENCH));
        let book = newest(&path, "touchstone bench")?;
        let filter = Filter::new(self.filter.as_deref())?;
        let none = format!("nothing in {}", shown(&path));
        let entries = filter.select(&none, entries(&book), |entry| entry.name(&book))?;
        if self.json {
            let lines = entries.iter().map(|entry| entry.json(&book, self.samples));
            print_lines(lines.collect::<Result<Vec<Value>>>()?)?;
        } else {
            print(&tables(&book, &entries))?;
        }
        Ok(Ended::Well)
    }
}
