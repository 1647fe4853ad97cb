//! Tables of the report that are laid out by hand: data files, one each.
//!
//! They put some executors beside each other, in the shape of a table that was
//! published elsewhere where there is one, with its numbers beside ours.

use crate::record::Executor;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Deserializer, de::Error};
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
    /// Whether the operators that each function executes stand beside the times.
    #[serde(default)]
    pub operators: bool,
    /// With functions across: whether the others are given as differences from the
    /// first, in per cent, instead of the last column.
    #[serde(default)]
    pub relative: bool,
    /// With executors across: whether how many times the first one's time the others take
    /// stands beside their times.
    #[serde(default)]
    pub multiples: bool,
    /// What the values are that others published beside a function, and that belong to
    /// none of the executors.
    pub aside: Option<String>,
}

/// What calls are made of, as tables.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Its heading.
    pub title: String,
    /// What it shows and how to read it, Markdown.
    pub text: String,
    /// The executors from above, each written as engine and strategy with `_` between.
    #[serde(deserialize_with = "executors")]
    pub executors: Vec<Executor>,
    /// The calls.
    pub panels: Vec<Panel>,
}

/// A call that is taken apart.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// What it is called.
    pub heading: String,
    /// The guest, as records name it.
    pub guest: String,
    /// The case. It has to be timed on used instances too, with what taking the input
    /// costs.
    pub case: String,
    /// The case of the same guest that does nothing.
    pub noop: String,
}

/// All that is laid out by hand.
#[derive(Debug, Clone, Default)]
pub struct Layouts {
    /// Tables.
    pub tables: Vec<Layout>,
    /// What calls are made of.
    pub shares: Vec<Shares>,
}

/// A column of executors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// What stands above it.
    pub heading: String,
    /// The executor, written as engine and strategy with `_` between.
    #[serde(deserialize_with = "executor")]
    pub executor: Executor,
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
    /// Whether the call is the one on an instance that was used before.
    #[serde(default)]
    pub warm: bool,
    /// What the row or column is called; the function's name when left out.
    pub heading: Option<String>,
    /// What was published elsewhere, column by column; `""` where there was
    /// nothing.
    #[serde(default)]
    pub published: Vec<String>,
    /// What others published, where the table has a heading for that.
    pub aside: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    table: Option<Layout>,
    shares: Option<Shares>,
}

/// An engine and a strategy with `_` between. The name of an engine may have `_` itself:
/// the longest end that names a strategy is the strategy.
///
/// # Errors
///
/// When no end of the name is a strategy, or nothing is left for the engine.
fn parse(name: &str) -> Result<Executor, String> {
    let executor = |(at, _): (usize, &str)| {
        let engine = name[..at].to_owned();
        let strategy = name[at + 1..].parse().ok()?;
        (!engine.is_empty()).then_some(Executor { engine, strategy })
    };
    name.match_indices('_')
        .find_map(executor)
        .ok_or_else(|| format!("'{name}' is no executor: an engine, '_' and a strategy are wanted"))
}

fn executor<'de, D: Deserializer<'de>>(from: D) -> Result<Executor, D::Error> {
    parse(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn executors<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Executor>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| parse(name).map_err(D::Error::custom)).collect()
}

/// The folder of the tables: `benches/tables` in the project.
#[must_use]
pub fn default_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tables")
}

/// All that a folder holds, sorted by file name; nothing where there is no folder.
///
/// # Errors
///
/// When a file cannot be read or is wrong; the message has the line and the
/// column.
pub fn load_all(folder: &Path) -> Result<Layouts> {
    let mut layouts = Layouts::default();
    if !folder.exists() {
        return Ok(layouts);
    }
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the tables in {}", folder.display()))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    for path in &files {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the table {name}"))?;
        match toml::from_str(&text).with_context(|| format!("the table {name} is wrong"))? {
            File { table: Some(table), shares: None } => {
                check(&table, path)?;
                layouts.tables.push(table);
            }
            File { table: None, shares: Some(shares) } => layouts.shares.push(shares),
            _ => bail!("{name} has to hold either a [table] or [shares]"),
        }
    }
    Ok(layouts)
}

fn check(table: &Layout, path: &Path) -> Result<()> {
    let Layout { columns, rows, functions, .. } = table;
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_are_parsed_when_a_file_is_loaded() {
        let [lazy, pool] = ["wasmi_lazy_interpreted", "wasmtime_pooling_late_tracked"]
            .map(|name| parse(name).unwrap());
        assert_eq!(
            (lazy.engine.as_str(), lazy.strategy.to_string()),
            ("wasmi_lazy", "interpreted".to_owned())
        );
        assert_eq!(
            (pool.engine.as_str(), pool.strategy.to_string()),
            ("wasmtime", "pooling_late_tracked".to_owned())
        );
        for wrong in ["", "wasmtime", "interpreted", "_interpreted", "wasmtime_pooling_warm"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_error_names_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[shares]\ntitle = \"a\"\ntext = \"b\"\nexecutors = [\"zebra\"]\npanels = []\n";
        std::fs::write(folder.path().join("x.toml"), text).unwrap();
        let error = format!("{:#}", load_all(folder.path()).unwrap_err());
        for part in ["x.toml", "line 4", "'zebra' is no executor"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
