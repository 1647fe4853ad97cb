//! Tables of the report that are laid out by hand: data files, one each.
//!
//! They put some executors beside each other, in the shape of a table that was
//! published elsewhere where there is one, with its numbers beside ours.

pub(crate) mod charts;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use touchstone_record::Executor;
use touchstone_record::data::{self, executor, executors, repeated};
use touchstone_record::files::FilePath;

/// One table: executors across, benchmark functions down.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layout {
    /// The name of its file, without the ending.
    #[serde(skip)]
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Text above the table, Markdown.
    pub text: String,
    /// Executors across.
    pub columns: Vec<Column>,
    /// Functions down.
    pub rows: Vec<Row>,
    /// Show the operators that each function executes.
    pub operators: bool,
    /// Show each time as a multiple of the first row's.
    pub relative: bool,
    /// The same for the first column.
    pub multiples: bool,
    /// Heading of published values that belong to no executor.
    pub aside: Option<String>,
    /// Why ratios differ from published ones.
    pub causes: Vec<Cause>,
}

/// Why ratios of published values differ from ours.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cause {
    /// Headings of the rows or columns that are slower where they were published; any when
    /// left out, here and below.
    pub slower: Vec<String>,
    /// Headings of those that they are compared with.
    pub faster: Vec<String>,
    /// Headings of the columns or rows, or names of the engines, with which that is so.
    pub at: Vec<String>,
    /// The cause as it was measured, or why there is none; Markdown of one paragraph.
    pub text: String,
}

/// Tables of the parts of calls.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shares {
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) text: String,
    #[serde(deserialize_with = "executors")]
    pub(crate) executors: Vec<Executor>,
    pub(crate) panels: Vec<Panel>,
}

/// A call that is taken apart. It has to be timed on used instances too, with what taking the
/// input costs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    pub(crate) heading: String,
    pub(crate) guest: String,
    pub(crate) case: String,
    /// The case of the same guest that does nothing.
    pub(crate) noop: String,
}

/// A column of executors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Heading.
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
    /// `true` for the call on a used instance.
    #[serde(default)]
    pub warm: bool,
    /// Heading; by default the function's name.
    pub heading: Option<String>,
    /// Published values, column by column; `""` for a gap. Each line of a text is a value.
    #[serde(default)]
    pub published: Vec<String>,
    /// Published values of no executor, one a line.
    pub aside: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    table: Option<Layout>,
    shares: Option<Shares>,
}

/// The number in a published text: a time in ns, a difference in per cent as a ratio, or a count.
pub fn number(text: &str) -> Option<f64> {
    let words = text.split_whitespace();
    words.clone().zip(words.skip(1).chain([""])).find_map(|(word, unit)| {
        let units = [("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
        let scale = units.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, ns)| *ns);
        match word.strip_suffix('%') {
            Some(share) => Some(1.0 + share.replace('−', "-").parse::<f64>().ok()? / 100.0),
            None => Some(word.parse::<f64>().ok()? * scale),
        }
    })
}

/// The tables of a folder, sorted by file name.
#[derive(Debug, Default)]
pub struct Tables {
    /// Executors beside each other.
    pub layouts: Vec<Layout>,
    /// Parts of calls.
    pub(crate) shares: Vec<Shares>,
}

impl Tables {
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let layouts = self.layouts.iter().map(|own| own.name.as_str());
        layouts.chain(self.shares.iter().map(|own| own.name.as_str()))
    }

    /// Reads a folder; no tables where there is none.
    /// Fails when a file cannot be read or is wrong; the message has the line and the column.
    pub fn load(folder: impl Into<FilePath>) -> Result<Self> {
        let (folder, mut all) = (folder.into(), Self::default());
        if !folder.exists() {
            return Ok(all);
        }
        for place in data::files(&folder, "the tables")? {
            let name = place.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match data::read(&place, "the table")? {
                File { table: Some(table), shares: None } => {
                    check(&table).with_context(|| format!("the table {place}"))?;
                    all.layouts.push(Layout { name, ..table });
                }
                File { table: None, shares: Some(own) } => all.shares.push(Shares { name, ..own }),
                _ => bail!("{place} must contain either [table] or [shares]"),
            }
        }
        Ok(all)
    }
}

fn check(Layout { title, columns, rows, .. }: &Layout) -> Result<()> {
    let is_whole = !title.is_empty() && !columns.is_empty() && !rows.is_empty();
    ensure!(is_whole, "needs a title, columns and rows");
    for Row { case, threads, published, .. } in rows {
        let (columns, values) = (columns.len(), published.len());
        ensure!(
            values == 0 || values == columns,
            "has {columns} columns, but {values} published values for {case} on {threads} threads"
        );
    }
    if let Some(executor) = repeated(columns.iter().map(|column| &column.executor)) {
        bail!("has {executor} in two columns");
    }
    let works = rows.iter().map(|row| (&row.case, &row.guest, row.threads, row.warm));
    if let Some((case, guest, threads, _)) = repeated(works) {
        bail!("has {case} from {guest} on {threads} threads in two rows");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_end_of_a_name_that_is_a_strategy_is_the_strategy() {
        let [lazy, pool] = ["wasmi_lazy_interpreted", "wasmtime_pooling_cow_resident"]
            .map(|name| name.parse::<Executor>().unwrap());
        assert_eq!((&*lazy.engine, &*lazy.strategy.to_string()), ("wasmi_lazy", "interpreted"));
        let found = (&*pool.engine, &*pool.strategy.to_string());
        assert_eq!(found, ("wasmtime", "pooling_cow_resident"));
        for wrong in ["", "wasmtime", "interpreted", "_interpreted", "wasmtime_pooling_warm"] {
            assert!(wrong.parse::<Executor>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_repeated_column_or_row_is_an_error() {
        let column = |name: &str| Column {
            heading: "an executor".to_owned(),
            executor: name.parse().unwrap(),
        };
        let row = |case: &str| Row {
            case: case.to_owned(),
            guest: "a_guest".to_owned(),
            threads: 1,
            warm: false,
            heading: None,
            published: Vec::new(),
            aside: None,
        };
        let table = |columns: [&str; 2], rows: [&str; 2]| Layout {
            title: "a table".to_owned(),
            columns: columns.map(column).into(),
            rows: rows.map(row).into(),
            ..Layout::default()
        };
        let (two, twice) = (["wasmi_interpreted", "wasm3_interpreted"], ["wasmi_interpreted"; 2]);
        check(&table(two, ["a", "b"])).unwrap();
        let columns = check(&table(twice, ["a", "b"])).unwrap_err().to_string();
        assert_eq!(columns, "has wasmi_interpreted in two columns");
        let rows = check(&table(two, ["a", "a"])).unwrap_err().to_string();
        assert_eq!(rows, "has a from a_guest on 1 threads in two rows");
    }

    #[test]
    fn the_error_names_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[shares]\ntitle = \"a\"\ntext = \"b\"\nexecutors = [\"zebra\"]\npanels = []\n";
        std::fs::write(folder.path().join("x.toml"), text).unwrap();
        let error = format!("{:#}", Tables::load(folder.path()).unwrap_err());
        for part in ["x.toml", "line 4", "'zebra' is no executor"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
