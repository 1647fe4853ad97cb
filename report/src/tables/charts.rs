//! The data file of the charts. It names engines, strategies, guests and cases; the report's code
//! names none.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use touchstone_record::Executor;
use touchstone_record::data::{self, executor};
use touchstone_record::files::FilePath;

/// Most rows of a chart: more cannot be read in a page.
const ROWS: usize = 15;

/// The charts to draw. `benches/charts.toml` explains the keys, also those below.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Charts {
    #[serde(default)]
    hues: BTreeMap<String, Hue>,
    pub(crate) ladder: Option<Ladder>,
    pub(crate) engines: Option<Engines>,
    pub(crate) threads: Option<Threads>,
    pub(crate) execution: Option<Suites>,
    pub(crate) break_even: Option<BreakEven>,
    #[serde(default)]
    pub(crate) then_and_now: Vec<ThenAndNow>,
}

/// A colour, as readers call it; its shade depends on the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hue {
    Blue,
    Sky,
    Violet,
    Orange,
    Yellow,
    Green,
    Red,
    Pink,
    Brown,
    #[default]
    Grey,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChartWork {
    /// Name in the chart and in its sentence: `empty call`.
    pub(crate) label: String,
    pub(crate) case: String,
    pub(crate) guest: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub(crate) label: String,
    #[serde(deserialize_with = "executor")]
    pub(crate) executor: Executor,
}

/// Strategies on one engine, for several works.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ladder {
    pub(crate) title: String,
    pub(crate) engine: String,
    pub(crate) works: Vec<ChartWork>,
    pub(crate) rows: Vec<Named>,
}

/// Engines on one work: the runtime's best strategy and Touchstone's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Engines {
    pub(crate) title: String,
    pub(crate) work: ChartWork,
    pub(crate) engines: Vec<String>,
}

/// The time of a call on one thread and on several.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threads {
    pub(crate) title: String,
    pub(crate) work: ChartWork,
    pub(crate) rows: Vec<Named>,
}

/// Execution relative to native code, a column for each suite.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suites {
    pub(crate) title: String,
    pub(crate) engines: Vec<String>,
    pub(crate) suites: Vec<Suite>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    pub(crate) label: String,
    pub(crate) guests: Vec<String>,
    #[serde(default)]
    pub(crate) cases: Vec<String>,
    #[serde(default)]
    pub(crate) without: Vec<String>,
}

/// Compilation, load and a number of calls.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BreakEven {
    pub(crate) title: String,
    pub(crate) work: ChartWork,
    pub(crate) lines: Vec<Named>,
    /// The number of calls at the end of the axis.
    pub(crate) most_calls: u64,
}

/// Published values beside ours.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThenAndNow {
    pub(crate) name: String,
    pub(crate) title: String,
    /// The file of `benches/tables` with the published values, without `.toml`.
    pub(crate) table: String,
    /// When and on what they were measured.
    pub(crate) then: String,
    pub(crate) columns: Vec<String>,
    pub(crate) compared: Option<[String; 2]>,
    pub(crate) cases: BTreeMap<String, String>,
    pub(crate) guests: BTreeMap<String, String>,
}

/// Reads the file of the charts; no chart where there is no file.
/// Fails when the file cannot be read or is wrong; the message has the line and the column.
pub(crate) fn load(place: impl Into<FilePath>) -> Result<Charts> {
    let place = place.into();
    if !place.exists() {
        return Ok(Charts::default());
    }
    let charts: Charts = data::read(&place, "the charts")?;
    charts.check().with_context(|| format!("the charts {place}"))?;
    Ok(charts)
}

impl Charts {
    pub(crate) fn hue(&self, engine: &str) -> Hue {
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
        let charts = load(touchstone_record::files::project("benches/charts.toml")).unwrap();
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
