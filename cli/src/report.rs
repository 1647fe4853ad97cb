//! `touchstone report`.

use super::Ended;
use anyhow::Result;
use std::path::{Path, PathBuf};
use touchstone::files::project;
use touchstone::run::shown;
use touchstone::terminal::progress::Progress;
use touchstone::terminal::{complain, print, warn_of_skipped};
use touchstone_report::gate::Closed;
use touchstone_report::{self as report, Options, Written};

/// Generates BENCHMARK.md, the interactive page and the charts from the records alone.
///
/// The report shows the newest run of each record file. If numbers contradict each other, it
/// lists the broken rules, writes nothing and exits with 1. Files are replaced only after all
/// of them are written, so a failure leaves the old report complete.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Report {
    /// Read the benchmarks' records from FILE, and the other records from the files beside it
    /// [default: the project's records/records.jsonl]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Write the page to FILE and keep the text outside its markers [default: BENCHMARK.md of
    /// the project]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the charts to DIR [default: `image` beside the page]
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Write the detailed pages to DIR [default: `benchmark` beside the page]
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Read from FILE what stands on which page [default: the project's benches/pages.toml]
    #[arg(long, value_name = "FILE")]
    division: Option<PathBuf>,
    /// Read the hand-made tables from DIR [default: the project's
    /// benches/tables]
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Read what the charts show from FILE [default: the project's benches/charts.toml]
    #[arg(long, value_name = "FILE")]
    charts: Option<PathBuf>,
    /// Read the explanations of numbers that break a rule of the publishing gate from FILE
    /// [default: the project's benches/explanations.toml]
    #[arg(long, value_name = "FILE")]
    explanations: Option<PathBuf>,
    /// Write the page even if rules of the publishing gate are broken, and list them at the end
    #[arg(long)]
    draft: bool,
    /// Write nothing; print the files that would change, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

impl Report {
    /// A draft: of a folder of cases in it, of other records beside them, or of the project.
    pub(super) fn draft(cases: Option<&Path>, records: Option<PathBuf>) -> Self {
        let at = |name: &str| cases.map(|folder| folder.join(name));
        let beside = || Some(records.as_ref()?.with_file_name("BENCHMARK.md"));
        Self {
            page: at("BENCHMARK.md").or_else(beside),
            division: at("pages.toml"),
            tables: at("tables"),
            charts: at("charts.toml"),
            explanations: at("explanations.toml"),
            records,
            draft: true,
            ..Self::default()
        }
    }

    /// The files that the report reads and writes.
    pub(super) fn options(self) -> Options {
        // The README shows the project's own numbers.
        let is_own = self.page.is_none() && self.records.is_none();
        let own = Options::of_project(self.page.unwrap_or_else(|| project("BENCHMARK.md")));
        Options {
            readme: is_own.then(|| project("README.md")),
            records: self.records.unwrap_or(own.records),
            images: self.images.unwrap_or(own.images),
            pages: self.pages.unwrap_or(own.pages),
            division: self.division.unwrap_or(own.division),
            tables: self.tables.unwrap_or(own.tables),
            experiments: own.experiments,
            charts: self.charts.unwrap_or(own.charts),
            explanations: self.explanations.unwrap_or(own.explanations),
            draft: self.draft,
            page: own.page,
        }
    }

    pub(super) fn execute(self) -> Result<Ended> {
        let is_check = self.check;
        let options = self.options();
        let progress = Progress::new(1, true);
        progress.next("reading the records, drawing the charts");
        let made = if is_check { check(&options) } else { write(&options) };
        drop(progress);
        // The broken rules, where that is why there is no report.
        let closed: Closed = match made {
            Ok(ended) => return Ok(ended),
            Err(error) => error.downcast()?,
        };
        print(&closed.reasons.iter().map(|reason| format!("{reason}\n")).collect::<String>())?;
        complain(&format!(
            "{closed}; explain them in benches/explanations.toml, measure again, or use --draft"
        ));
        Ok(Ended::Badly)
    }
}

fn paths(what: &str, all: &[PathBuf]) -> String {
    all.iter().map(|path| format!("{what}{}\n", shown(path))).collect()
}

pub(super) fn warn(made: &Written) {
    for (path, lines) in &made.skipped {
        warn_of_skipped(path, lines);
    }
}

fn write(options: &Options) -> Result<Ended> {
    let made = report::write(options)?;
    warn(&made);
    let records = shown(&options.records);
    let mut text = paths("wrote    ", &made.files);
    text += &paths("removed  ", &made.removed);
    text += &format!("{} cells and {} comparisons, from {records}\n", made.cells, made.comparisons);
    if made.older_runs > 0 {
        text += &format!("{} older runs in {records} left out\n", made.older_runs);
    }
    print(&text)?;
    Ok(Ended::Well)
}

fn check(options: &Options) -> Result<Ended> {
    let made = report::check(options)?;
    warn(&made);
    let differ = [made.files, made.removed].concat();
    if differ.is_empty() {
        print("the report matches the records\n")?;
        return Ok(Ended::Well);
    }
    print(&paths("", &differ))?;
    complain(&format!(
        "{} of the report's files do not match the records; `touchstone report` writes them",
        differ.len()
    ));
    Ok(Ended::Badly)
}
