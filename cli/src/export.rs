use super::Ended;
use anyhow::{Result, bail, ensure};
use serde_json::Value;
use std::path::PathBuf;
use touchstone::record::{self, BENCH, Book, export};
use touchstone::run::shown;
use touchstone::terminal::{print, warn_of_skipped};

/// Prints the cells and comparisons of record files as flat rows, for other programs.
///
/// `csv` and `jsonl` have a row for each cell or comparison and metric: run, machine, commit,
/// names, unit, median, ends of the 95 % interval, † as `marked`. Every run of each file is
/// printed. docs/data.md describes the columns and has queries for DuckDB, which also writes
/// Parquet. `bencher` and `github` have the times of calls (ns) and the ratios of the newest run,
/// as Bencher's adapter `json` and github-action-benchmark (customSmallerIsBetter) read them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone export --format csv >records.csv")]
pub(super) struct Export {
    /// The record files [default: the project's records/records.jsonl]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The form of the rows
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Print a row for each sample instead of each estimate (csv, jsonl)
    #[arg(long)]
    samples: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Comma-separated values with a line of names
    Csv,
    /// One JSON object per line
    Jsonl,
    /// JSON for Bencher
    Bencher,
    /// JSON for github-action-benchmark
    Github,
}

impl Export {
    pub(super) fn execute(self) -> Result<Ended> {
        let files = match self.files.is_empty() {
            true => vec![record::default_path(BENCH)],
            false => self.files,
        };
        let mut books = Vec::new();
        for path in &files {
            let loaded = record::load(path)?;
            warn_of_skipped(path, &loaded.skipped);
            let own = loaded.runs.into_iter().map(|(header, lines)| Book::of(header, lines));
            let has_rows = |book: &Book| !book.cells.is_empty() || !book.comparisons.is_empty();
            let own: Vec<Book> = own.filter(has_rows).collect();
            ensure!(!own.is_empty(), "{} holds no cells or comparisons to export", shown(path));
            books.push(own);
        }
        if let Format::Bencher | Format::Github = self.format {
            ensure!(!self.samples, "--samples is for csv and jsonl");
            let [own] = &books[..] else { bail!("name one record file for this format") };
            let Some(newest) = own.last() else { return Ok(Ended::Well) };
            let value = match self.format {
                Format::Bencher => export::bencher(newest),
                _ => export::github(newest),
            };
            return print(&format!("{value:#}\n")).map(|()| Ended::Well);
        }
        let columns = export::columns(self.samples);
        if self.format == Format::Csv {
            let names: Vec<Value> = columns.iter().map(|name| (*name).into()).collect();
            print(&export::csv(&names))?;
        }
        for book in books.iter().flatten() {
            let rows = if self.samples { export::samples(book) } else { export::rows(book) };
            print(&match self.format {
                Format::Csv => export::as_csv(&rows, &columns),
                _ => export::as_jsonl(&rows, &columns),
            })?;
        }
        Ok(Ended::Well)
    }
}
