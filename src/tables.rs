//! Tables of the report that are laid out by hand: data files, one a table.
//!
//! They put some executors beside each other, in the shape of a table that was
//! published elsewhere where there is one, with its numbers beside ours.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// One table. Either executors stand across and benchmark functions down
/// (`columns` and `rows`), or functions across and every executor down, with a
/// last column for the ratio of the last function to the first (`functions`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Its heading.
    pub title: String,
    /// What it shows and how to read it, Markdown.
    pub text: String,
    /// Executors across.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// Functions down.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// Functions across, two or more; then there are neither columns nor rows.
    #[serde(default)]
    pub functions: Vec<Row>,
}

/// A column of executors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// What stands above it.
    pub heading: String,
    /// The executor, backend and strategy with `_` between.
    pub executor: String,
}

/// A benchmark function: a case on a guest on a number of threads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The case's name.
    pub case: String,
    /// The guest, as records name it.
    pub guest: String,
    /// Threads that make calls at the same time.
    pub threads: usize,
    /// What the row or column is called; the function's name when left out.
    #[serde(default)]
    pub heading: Option<String>,
    /// What was published elsewhere, column by column; `""` where there was
    /// nothing.
    #[serde(default)]
    pub published: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    table: Layout,
}

/// The folder of the tables: `benches/tables` in the project, or the path in
/// `TOUCHSTONE_TABLES`.
#[must_use]
pub fn default_folder() -> PathBuf {
    std::env::var_os("TOUCHSTONE_TABLES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tables"), PathBuf::from)
}

/// All tables of a folder, sorted by file name; none where there is no folder.
///
/// # Errors
///
/// When a file cannot be read or is wrong; the message has the line and the
/// column.
pub fn load_all(folder: &Path) -> Result<Vec<Layout>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => {
            entries.with_context(|| format!("cannot read the tables in {}", folder.display()))?
        }
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files.iter().map(|path| load(path)).collect()
}

fn load(path: &Path) -> Result<Layout> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the table {}", path.display()))?;
    let file: File =
        toml::from_str(&text).with_context(|| format!("the table {} is wrong", path.display()))?;
    let Layout { columns, rows, functions, .. } = &file.table;
    let path = path.display();
    if functions.is_empty() == (columns.is_empty() || rows.is_empty()) || functions.len() == 1 {
        bail!("the table {path} needs either columns and rows, or two functions or more");
    }
    let misfit = |row: &&Row| !row.published.is_empty() && row.published.len() != columns.len();
    if let Some(row) = rows.iter().chain(functions).find(misfit) {
        bail!(
            "the table {path} has {} columns, but {} published values for {} on {} threads",
            columns.len(),
            row.published.len(),
            row.case,
            row.threads
        );
    }
    Ok(file.table)
}
