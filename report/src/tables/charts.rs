//! The data file of the charts. It names engines, strategies, guests and cases; the report's code
//! names none.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use touchstone_record::Executor;
use touchstone_record::data::{self, executor};
use touchstone_record::files::{self, FilePath};

/// Most rows of a chart: more cannot be read in a page.
const ROWS: usize = 15;

/// The charts to draw. What is left out is not drawn.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charts {
    /// The colour of each engine, the same in every chart; grey where there is none.
    #[serde(default)]
    pub hues: BTreeMap<String, Hue>,
    /// Strategies on one engine, for several works.
    pub ladder: Option<Ladder>,
    /// Engines on one work: the runtime's best strategy and Touchstone's.
    pub engines: Option<Engines>,
    /// The time of a call on one thread and on several.
    pub threads: Option<Threads>,
    /// Execution relative to native code, suite by suite.
    pub execution: Option<Suites>,
    /// Compilation, load and a number of calls.
    pub break_even: Option<BreakEven>,
    /// Published values beside ours.
    #[serde(default)]
    pub then_and_now: Vec<ThenAndNow>,
}

/// A colour, as readers call it; its shade depends on the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hue {
    /// Blue.
    Blue,
    /// Light blue.
    Sky,
    /// Violet.
    Violet,
    /// Orange.
    Orange,
    /// Yellow.
    Yellow,
    /// Green.
    Green,
    /// Red.
    Red,
    /// Pink.
    Pink,
    /// Brown.
    Brown,
    /// Grey.
    #[default]
    Grey,
}

/// A case on a guest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartWork {
    /// Name in the chart and in its sentence: `empty call`.
    pub label: String,
    /// The case's name.
    pub case: String,
    /// The guest, as records name it.
    pub guest: String,
}

/// An executor with what it is called.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Label in plain words.
    pub label: String,
    /// The executor, written as engine and strategy with `_` between.
    #[serde(deserialize_with = "executor")]
    pub executor: Executor,
}

/// Strategies on one engine, for several works.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Its heading.
    pub title: String,
    /// The engine's name in the sentence.
    pub engine: String,
    /// The works, a group of rows each.
    pub works: Vec<ChartWork>,
    /// The executors, a row each in every group; the sentence holds the others against the
    /// first.
    pub rows: Vec<Named>,
}

/// Engines on one work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engines {
    /// Its heading.
    pub title: String,
    /// The work.
    pub work: ChartWork,
    /// The engines, a row each. The baseline is a line across all rows and not one of them.
    pub engines: Vec<String>,
}

/// The time of a call on one thread and on several.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// Its heading.
    pub title: String,
    /// The work.
    pub work: ChartWork,
    /// The executors, a row each.
    pub rows: Vec<Named>,
}

/// Execution relative to native code.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suites {
    /// Its heading.
    pub title: String,
    /// The engines, a row each.
    pub engines: Vec<String>,
    /// The suites, a column each.
    pub suites: Vec<Suite>,
}

/// A suite of cases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Label.
    pub label: String,
    /// Its guests, as records name them.
    pub guests: Vec<String>,
    /// Its cases; all of the guests when left out.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Cases that are no part of it: those that do nothing.
    #[serde(default)]
    pub without: Vec<String>,
}

/// Compilation, load and a number of calls.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakEven {
    /// Its heading.
    pub title: String,
    /// The work.
    pub work: ChartWork,
    /// The executors, a line each.
    pub lines: Vec<Named>,
    /// The number of calls at the end of the axis.
    pub most_calls: u64,
}

/// Published values beside ours.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThenAndNow {
    /// The name of its files.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// The file of `benches/tables` with the published values, without `.toml`.
    pub table: String,
    /// When and on what they were measured.
    pub then: String,
    /// Headings of columns of that table, a bar each.
    pub columns: Vec<String>,
    /// The two of these columns that the sentence compares, the slower one of then first; the
    /// first and the last when left out.
    pub compared: Option<[String; 2]>,
    /// Pattern of its cases.
    pub cases: BTreeMap<String, String>,
    /// Pattern of its guests.
    pub guests: BTreeMap<String, String>,
}

/// The file of the charts: `benches/charts.toml` in the project.
#[must_use]
pub fn default_path() -> PathBuf {
    files::project("benches/charts.toml")
}

/// Reads the file of the charts; no chart where there is no file.
///
/// # Errors
///
/// When the file cannot be read or is wrong; the message has the line and the column.
pub fn load(place: impl Into<FilePath>) -> Result<Charts> {
    let place = place.into();
    if !place.exists() {
        return Ok(Charts::default());
    }
    let charts: Charts = data::read(&place, "the charts")?;
    charts.check().with_context(|| format!("the charts {place}"))?;
    Ok(charts)
}

impl Charts {
    /// The colour of an engine.
    #[must_use]
    pub fn hue(&self, engine: &str) -> Hue {
        self.hues.get(engine).copied().unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        let rows = [
            ("ladder", self.ladder.as_ref().map(|own| own.works.len() * own.rows.len())),
            ("engines", self.engines.as_ref().map(|own| own.engines.len())),
            ("threads", self.threads.as_ref().map(|own| own.rows.len())),
            ("execution", self.execution.as_ref().map(|own| own.engines.len())),
            ("break_even", self.break_even.as_ref().map(|own| own.lines.len())),
        ];
        for (name, rows) in rows {
            let rows = rows.unwrap_or(1);
            ensure!((1..=ROWS).contains(&rows), "{name} has {rows} rows, not 1 to {ROWS}");
        }
        for (index, own) in self.then_and_now.iter().enumerate() {
            let ThenAndNow { name, columns, .. } = own;
            let is_name = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
            if name.is_empty() || !name.bytes().all(is_name) {
                bail!("then_and_now has the name '{name}': use a-z, 0-9 and _");
            }
            let is_taken = self.then_and_now[..index].iter().any(|other| other.name == *name);
            let is_fixed = rows.iter().any(|(fixed, _)| fixed == name);
            ensure!(!is_taken && !is_fixed, "two charts have the name {name}");
            let bars = columns.len();
            ensure!((1..=3).contains(&bars), "{name} has {bars} columns, not 1 to 3");
            for heading in own.compared.iter().flatten() {
                ensure!(columns.contains(heading), "{name} compares {heading}, which it lacks");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn parsed(text: &str) -> Result<Charts> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("charts.toml");
        std::fs::write(&path, text).unwrap();
        load(&path)
    }

    #[test]
    fn the_charts_of_the_project_are_valid() {
        let charts = load(default_path()).unwrap();
        assert!(charts.ladder.is_some() && charts.then_and_now.len() == 3);
    }

    #[test]
    fn no_file_means_no_charts() {
        assert!(load(Path::new("/nowhere/charts.toml")).unwrap().ladder.is_none());
    }

    #[test]
    fn errors_name_the_line_or_the_chart() {
        let then = "[[then_and_now]]\nname = \"N\"\ntitle = \"t\"\ntable = \"t\"\nthen = \"2022\"\n\
                    columns = [\"a\"]\ncases = {}\nguests = {}\n";
        let twice = then.replace("\"N\"", "\"ladder\"");
        for (text, says) in [
            ("[hues]\na = \"mauve\"\n", "line 2"),
            ("[engine]\n", "unknown field `engine`"),
            ("[execution]\ntitle = \"t\"\nengines = []\nsuites = []\n", "execution has 0 rows"),
            (then, "has the name 'N'"),
            (&*twice, "two charts have the name ladder"),
        ] {
            let error = format!("{:#}", parsed(text).unwrap_err());
            assert!(error.contains(says), "{error}");
        }
    }
}
