use super::Ended;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use touchstone::files;
use touchstone::record::BENCH;
use touchstone::run::shown;
use touchstone::terminal::{Progress, complain, print, warn_of_skipped};
use touchstone_report::gate::Closed;
use touchstone_report::{self as report, Options, Written};

/// Generates BENCHMARK.md, the interactive page and the charts from the records alone.
///
/// The report shows the newest run of each record file. If numbers contradict each other, it
/// lists the broken rules, writes nothing and exits with 1. Files are replaced only after all
/// of them are written, so a failure leaves the old report complete.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Example:\n  touchstone report --records results/records.jsonl --page results/BENCHMARK.md --draft"
)]
pub(super) struct Report {
    /// Read the benchmarks' records from FILE, and the other records from the files beside it
    /// [default: records/records.jsonl]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Write the page to FILE and keep the text outside its markers [default: BENCHMARK.md]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the charts to DIR [default: `image` beside the page]
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Write the detailed pages to DIR [default: `benchmark` beside the page]
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Write the page of a folder of cases from the records in it, as `touchstone bench --cases`
    /// does: a draft
    #[arg(long, value_name = "DIR", conflicts_with_all = ["layout", "records", "page"])]
    cases: Option<PathBuf>,
    /// Read what stands on which page, what the charts show, hand-made tables and explanations of
    /// numbers that break a rule of the publishing gate from pages.toml, charts.toml, tables/ and
    /// explanations.toml in DIR [default: the project's benches]
    #[arg(long, value_name = "DIR")]
    layout: Option<PathBuf>,
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
        let beside = || Some(records.as_ref()?.with_file_name("BENCHMARK.md"));
        let page = cases.is_none().then(beside).flatten();
        Self { page, cases: cases.map(Path::to_owned), records, draft: true, ..Self::default() }
    }

    /// The files that the report reads and writes.
    pub(super) fn options(mut self) -> Options {
        if let Some(folder) = &self.cases {
            let records = || folder.join("records").join(BENCH);
            self.records.get_or_insert_with(records);
            self.page.get_or_insert_with(|| folder.join("BENCHMARK.md"));
            self.draft = true;
        }
        let layout = self.layout.or(self.cases);
        // The README shows the project's own numbers.
        let is_own = self.page.is_none() && self.records.is_none();
        let readme = files::clone().filter(|_| is_own).map(|clone| clone.join("README.md"));
        let own = Options::of_project(self.page.unwrap_or_else(|| files::own("BENCHMARK.md")));
        let data = |name: &str, own| layout.as_ref().map_or(own, |folder| folder.join(name));
        Options {
            readme,
            records: self.records.unwrap_or(own.records),
            images: self.images.unwrap_or(own.images),
            pages: self.pages.unwrap_or(own.pages),
            division: data("pages.toml", own.division),
            tables: data("tables", own.tables),
            charts: data("charts.toml", own.charts),
            explanations: data("explanations.toml", own.explanations),
            experiments: own.experiments,
            draft: self.draft,
            page: own.page,
        }
    }

    pub(super) fn execute(self) -> Result<Ended> {
        let is_check = self.check;
        if let Some(folder) = &self.layout {
            ensure!(
                LAYOUT.iter().any(|name| folder.join(name).exists()),
                "--layout needs a folder with {}, and {} has none of them",
                LAYOUT.join(", "),
                shown(folder)
            );
        }
        let options = self.options();
        let progress = Progress::new(1, true);
        progress.next("reading the records, drawing the charts");
        let made = if is_check { report::check(&options) } else { report::write(&options) };
        drop(progress);
        let made = match made {
            Ok(made) => made,
            // The broken rules, where that is why there is no report.
            Err(error) => {
                let closed: Closed = error.downcast()?;
                print(&closed.reasons.iter().map(|own| format!("{own}\n")).collect::<String>())?;
                complain(&format!(
                    "{closed}; explain them in benches/explanations.toml, measure again, or use \
                     --draft"
                ));
                return Ok(Ended::Badly);
            }
        };
        warn(&made);
        let paths = |what: &str, all: &[PathBuf]| -> String {
            all.iter().map(|path| format!("{what}{}\n", shown(path))).collect()
        };
        if !is_check {
            let records = shown(&options.records);
            let (cells, comparisons, older) = (made.cells, made.comparisons, made.older_runs);
            let mut text = paths("wrote    ", &made.files) + &paths("removed  ", &made.removed);
            text += &format!("{cells} cells and {comparisons} comparisons, from {records}\n");
            if older > 0 {
                text += &format!("{older} older runs in {records} left out\n");
            }
            return print(&text).map(|()| Ended::Well);
        }
        let differ = [made.files, made.removed].concat();
        if differ.is_empty() {
            return print("the report matches the records\n").map(|()| Ended::Well);
        }
        print(&paths("", &differ))?;
        complain(&format!(
            "{} of the report's files do not match the records; `touchstone report` writes them",
            differ.len()
        ));
        Ok(Ended::Badly)
    }
}

/// The content of a layout, any of it.
const LAYOUT: [&str; 4] = ["pages.toml", "charts.toml", "tables", "explanations.toml"];

pub(super) fn warn(made: &Written) {
    for (path, lines) in &made.skipped {
        warn_of_skipped(path, lines);
    }
    for warning in &made.warnings {
        complain(&format!("warning: {warning}"));
    }
}
