//! `touchstone report`.

use super::Ended;
use touchstone::terminal::{complain, print, short, warn_of_skipped};
use touchstone::terminal::progress::Progress;
use anyhow::Result;
use std::path::{Path, PathBuf};
use touchstone::record::findings;
use touchstone::report::{self, LeftOut, Options};
use touchstone::tables;
use touchstone::{cost, record};

/// Makes BENCHMARK.md and the charts from the records alone.
///
/// Each file is replaced in one step and none before all of them could be
/// written: when a folder cannot be written, the old report stays whole.
#[derive(Debug, clap::Args)]
pub(super) struct Report {
    /// The records [default: $TOUCHSTONE_RECORDS, or the project's records/records.jsonl]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// The counts, if there are any [default: $TOUCHSTONE_COSTS, or `costs.json` beside
    /// the records]
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// The findings of `make checks`, if there are any [default: `trust` beside the records]
    #[arg(long, value_name = "DIR")]
    trust: Option<PathBuf>,
    /// The page; what stands outside its markers is kept [default: the
    /// project's BENCHMARK.md]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The folder of the charts [default: `image` beside the page]
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Write nothing; print the files that differ from what would be written,
    /// and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

impl Report {
    pub(super) fn execute(self) -> Result<Ended> {
        let page =
            self.page.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("BENCHMARK.md"));
        let images = self.images.unwrap_or_else(|| page.with_file_name("image"));
        let costs = self.costs.unwrap_or_else(|| match &self.records {
            Some(records) => cost::beside(records),
            None => cost::default_path(),
        });
        let records = self.records.unwrap_or_else(record::default_path);
        let trust = self.trust.unwrap_or_else(|| findings::beside(&records));
        let options =
            Options { records, page, images, tables: tables::default_folder(), costs, trust };
        let progress = Progress::new(1, true);
        progress.next("reading the records, drawing the charts");
        let ended = if self.check { check(&options) } else { write(&options) };
        drop(progress);
        ended
    }
}

fn write(options: &Options) -> Result<Ended> {
    let written = report::write(options)?;
    warn_of_skipped(&options.records, &written.skipped_lines);
    let mut text = String::new();
    for path in &written.files {
        text += &format!("wrote    {}\n", short(path));
    }
    for path in &written.removed {
        text += &format!("removed  {}\n", short(path));
    }
    text += &format!(
        "{} cells and {} pairs, from {}\n",
        written.cells,
        written.pairs,
        short(&options.records)
    );
    text += &left_out(&written.left_out);
    print(&text)?;
    Ok(Ended::Well)
}

fn left_out(left_out: &LeftOut) -> String {
    let parts: Vec<String> = [
        (left_out.superseded, "made again later"),
        (left_out.other_machine, "of another machine"),
        (left_out.other_guest, "of other guest bytes"),
        (left_out.other_version, "of another runtime version"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, why)| format!("{count} {why}"))
    .collect();
    match left_out.total() {
        0 => String::new(),
        total => format!("{total} older records left out: {}\n", parts.join(", ")),
    }
}

fn check(options: &Options) -> Result<Ended> {
    let differ = report::check(options)?;
    warn_of_skipped(&options.records, &record::load(&options.records)?.skipped);
    if differ.is_empty() {
        print("the report is what the records say\n")?;
        return Ok(Ended::Well);
    }
    let list: String = differ.iter().map(|path| format!("{}\n", short(path))).collect();
    print(&list)?;
    complain(&format!(
        "{} of the report's files are not what the records say; `touchstone report` writes them",
        differ.len()
    ));
    Ok(Ended::Badly)
}
