//! Declarations of experiments: dimensions, metrics, and how both are shown. A data file each.

use super::files::{self, FilePath};
use super::{Coordinate, Executor, Place, data};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use touchstone_executor::guest::text::plural;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name in records, which is that of its file without the ending.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    /// The command that measures it; several experiments may share one.
    pub command: String,
    pub help: String,
    pub records: String,
    /// The command that makes these records.
    pub made_by: String,
    /// The detailed page that shows it where no page names it.
    pub page: String,
    /// The paragraph above the tables, Markdown. `{commit}`, `{processes}`, `{rounds}` and names of
    /// dimensions in braces stand for their values.
    pub text: String,
    /// Executors that are measured if none are asked for, a regular expression; all when left out.
    pub executors: Option<String>,
    /// The help of the filter, where it selects by other names than those of executors.
    pub filter: Option<String>,
    /// The help of the option that names another data file, of commands that have one.
    pub plan: Option<String>,
    #[serde(default)]
    pub dimensions: Vec<Dimension>,
    pub metrics: BTreeMap<String, PointMetric>,
    #[serde(default)]
    pub tables: Vec<PointTable>,
    /// The columns of `touchstone show`; those of the first table when left out.
    #[serde(default)]
    pub show: Vec<PointColumn>,
    pub failed: Option<PointTable>,
    pub chart: Option<PointChart>,
    /// Settings that only the workload reads.
    #[serde(default)]
    pub settings: toml::Table,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dimension {
    /// Its name in records, in filters and as an option of the command.
    pub name: String,
    /// The help of its option; there is none when left out.
    pub help: Option<String>,
    /// The values that are measured if none are asked for.
    pub values: Vec<Coordinate>,
    /// Words for the values that there are, in their order; any value when left out.
    pub words: Vec<(String, String)>,
    /// The noun that numbers stand with.
    pub noun: Option<String>,
    /// `true` for numbers of pages of 4 KiB, which are shown as sizes too.
    pub pages: bool,
    /// Smallest and largest number.
    pub range: Option<(u64, u64)>,
    /// `true` if the larger numbers are left out where one was refused.
    pub ends: bool,
    /// `true` if values that are asked for are measured beside everything else.
    pub beside: bool,
}

impl Dimension {
    /// The place of a value among those with words.
    fn place(&self, value: &Coordinate) -> Option<usize> {
        let text = value.to_string();
        self.words.iter().position(|(name, _)| *name == text)
    }

    pub fn check(&self, value: &Coordinate) -> Result<()> {
        let is_known = self.words.is_empty() || self.place(value).is_some();
        ensure!(is_known, "'{value}' is no value of '{}'", self.name);
        Ok(())
    }

    /// The words of a value; the value itself where there are none.
    pub fn words(&self, value: &Coordinate) -> String {
        match (value, &self.noun) {
            (Coordinate::Number(number), Some(noun)) => {
                format!("{number} {}", plural(noun, *number))
            }
            _ => {
                self.place(value).map_or_else(|| value.to_string(), |own| self.words[own].1.clone())
            }
        }
    }

    pub fn order(&self, value: &Coordinate) -> (usize, Coordinate) {
        (self.place(value).unwrap_or(0), value.clone())
    }
}

/// A metric of an experiment. Less is better unless it says otherwise.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointMetric {
    /// The unit, or the parts that it consists of.
    pub unit: PointUnit,
    /// `true` if it is sampled repeatedly in each process, in turns with the other executors.
    #[serde(default)]
    pub sampled: bool,
    /// `true` if values are marked whose quartiles differ more than twofold.
    #[serde(default)]
    pub spread: bool,
    /// `true` if any value but 0 is a failure.
    #[serde(default)]
    pub zero: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointUnit {
    Ns,
    Kib,
    Count,
    /// A number each second.
    Rate,
    /// Quantiles of times: `calls`, `p50_ns`, `p99_ns`, `p999_ns`, `max_ns`.
    Tail,
    /// A process: `rss_kib`, `pss_kib`, `page_tables_kib`, `mappings`.
    Footprint,
}

impl PointUnit {
    /// Names of the parts; one without a name for a plain number.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Tail => &[".calls", ".p50_ns", ".p99_ns", ".p999_ns", ".max_ns"],
            Self::Footprint => &[".rss_kib", ".pss_kib", ".page_tables_kib", ".mappings"],
            _ => &[""],
        }
    }

    pub fn shown(self, part: &str) -> Shown {
        match self {
            _ if part.ends_with("_ns") => Shown::Time,
            _ if part.ends_with("_kib") => Shown::Size,
            Self::Ns => Shown::Time,
            Self::Kib => Shown::Size,
            Self::Rate => Shown::Rate,
            Self::Count | Self::Tail | Self::Footprint => Shown::Count,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, strum::EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Shown {
    #[default]
    Time,
    /// As a time in two digits.
    Short,
    Interval,
    Count,
    /// With a digit after the point.
    Digit,
    Kib,
    /// A size in KiB in the unit that fits.
    Size,
    /// Bytes in the unit that fits.
    Bytes,
    Percent,
    /// As a percentage with a digit after the point.
    Share,
    Factor,
    Ratio,
    Verdict,
    Rate,
    Words,
    /// The value of a dimension, or the executor, as code.
    Code,
}

/// A column of a table, a bar of a chart.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PointColumn {
    /// The text above it.
    pub heading: String,
    /// A metric, a dimension or an expression of them with `+ - * / ( )`.
    pub value: String,
    pub shown: Shown,
    /// A ratio to the same value, or to this one, of the row that `against` names, or of this row
    /// if it names none: over the rounds of metrics that are sampled, otherwise over all pairs of
    /// samples of the same process.
    pub over: Option<String>,
    /// `true` if the other row has to have the same strategy.
    pub same: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PointTable {
    /// Its heading; none when empty.
    pub title: String,
    /// The text above it, Markdown.
    pub text: String,
    /// The text above the first column.
    pub first: Option<String>,
    /// The dimension of the first column, or `engine`; the executor when left out.
    pub rows: Option<String>,
    /// Only points with these values.
    #[serde(rename = "where")]
    pub place: Place,
    /// Of points that differ in this dimension alone, only that with the largest number.
    pub largest: Option<String>,
    /// Dimensions whose values stand beside each other: prefixes of metrics, in this order. The
    /// prefixes `first` and `last` stand for the smallest and the largest values of a row.
    pub beside: Vec<String>,
    /// The value of a table with a column for each executor, and rows for the numbers of `rows`.
    pub by_executor: Option<PointColumn>,
    /// Dimensions of each of whose values there is a table, the first open and the others folded.
    pub folded: Vec<String>,
    /// The order of the rows: the largest of this value first, engine by engine if they begin
    /// with it; as measured when left out.
    pub by: Option<String>,
    /// The row of the same engine that ratios are against: its values.
    pub against: Place,
    pub columns: Vec<PointColumn>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointRow {
    /// Its name in plain words.
    pub label: String,
    /// The executor, written as engine and strategy with `_` between.
    #[serde(deserialize_with = "data::executor")]
    pub executor: Executor,
    #[serde(default, rename = "where")]
    pub place: Place,
    /// `true` for half of the colour's strength.
    #[serde(default)]
    pub half: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PointGroup {
    pub heading: String,
    /// Only points with these values.
    #[serde(rename = "where")]
    pub place: Place,
    /// The dimension that labels the rows, one for each point; the rows of the chart when left out.
    pub label: Option<String>,
    /// Values that others published, ns, with their labels; such a group has no other rows.
    pub published: Vec<(String, f64)>,
    /// The engine whose colour they have; grey when left out.
    pub engine: Option<String>,
}

/// A chart of points: bars, or lines over a dimension of numbers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PointChart {
    pub title: String,
    pub axis: String,
    pub note: String,
    /// `true` for the short page; the detailed page of the experiment otherwise.
    pub summary: bool,
    /// Of points that differ in this dimension alone, only that with the largest number.
    pub largest: Option<String>,
    pub beside: Vec<String>,
    /// Only points with these values.
    #[serde(rename = "where")]
    pub place: Place,
    /// Panels of bars; the heading of each stands above it.
    pub panels: Vec<PointColumn>,
    /// Bars of each row instead of panels, the second half as strong; the headings are the legend.
    pub bars: Vec<PointColumn>,
    pub rows: Vec<PointRow>,
    /// Groups of rows; one group when left out.
    pub groups: Vec<PointGroup>,
    pub lines: Vec<String>,
    /// The dimension of the horizontal axis of lines.
    pub over: Option<String>,
    pub value: Option<String>,
    pub vertical: String,
    /// The beginning of the sentence about lines: what is the fastest at a value of the axis.
    pub subject: String,
    /// The sentence where no executor that drops pages is faster than one that restores them.
    pub never: String,
    /// Sentences below it; those whose values were measured are printed. `{value|shown}` stands
    /// for a value of the first row that is shown, `{2:value|shown}` for one of the second, and so
    /// on; `{best:…}` and `{last:…}` for the first and last row of all in the order of `by`,
    /// `{below:…}` and `{above:…}` for the rows on both sides of a half of the value `half`;
    /// `{few}` and `{rows}` for how many are below and for all; `{over:a:b|shown}` for the ratio of
    /// `a` of the first row to `b` of the second, `{under:a:b|shown}` for the opposite.
    pub sentences: Vec<String>,
    /// The value whose half is of interest in the sentences.
    pub half: Option<String>,
    /// The order of the rows: the largest of this value first.
    pub by: Option<String>,
}

/// A row of a chart that a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentenceRow {
    /// One that is shown, by its index.
    Shown(usize),
    /// The first of all in the order of the chart.
    Best,
    Last,
    /// The nearest one whose half is below one half.
    Below,
    /// The nearest one whose half is one half or more.
    Above,
}

/// A part of a sentence that stands in braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentencePart<'a> {
    /// The number of rows whose half is below one half.
    Few,
    Rows,
    Value(SentenceRow, &'a str, Shown),
    /// The ratio of a value of one shown row to a value of another: indices and names.
    Ratio([usize; 2], [&'a str; 2], Shown),
}

impl<'a> SentencePart<'a> {
    /// Reads a part without its braces.
    /// Fails when it names no row or no way to show a value.
    pub fn parse(text: &'a str) -> Result<Self> {
        let (value, shown) = text.split_once('|').unwrap_or((text, "words"));
        let shown: Shown =
            shown.parse().with_context(|| format!("nothing is shown as '{shown}'"))?;
        let (of, value) = value.split_once(':').unwrap_or(("1", value));
        if let "over" | "under" = of {
            let names = value.split_once(':').context("a ratio has two values")?;
            let rows = if of == "over" { [0, 1] } else { [1, 0] };
            return Ok(Self::Ratio(rows, names.into(), shown));
        }
        let row = match (of, of.parse::<usize>()) {
            (_, Ok(number)) if number > 0 => SentenceRow::Shown(number - 1),
            ("best", _) => SentenceRow::Best,
            ("last", _) => SentenceRow::Last,
            ("below", _) => SentenceRow::Below,
            ("above", _) => SentenceRow::Above,
            _ => bail!("the chart has no row '{of}'"),
        };
        Ok(match value {
            "few" => Self::Few,
            "rows" => Self::Rows,
            value => Self::Value(row, value, shown),
        })
    }
}

/// The folder of the declarations in the project: `benches/experiments`.
pub fn experiments_folder() -> PathBuf {
    files::project("benches/experiments")
}

impl Experiment {
    /// Every experiment of a folder, by name; none where there is no folder.
    /// Fails when a file cannot be read or is wrong; the message names it.
    pub fn all(folder: impl Into<FilePath>) -> Result<Vec<Self>> {
        let folder = folder.into();
        if !folder.exists() {
            return Ok(Vec::new());
        }
        data::files(&folder, "the experiments")?.into_iter().map(Self::load).collect()
    }

    /// Reads a declaration.
    /// Fails when the file cannot be read or is wrong; the message names it.
    pub fn load(place: impl Into<FilePath>) -> Result<Self> {
        let place = place.into();
        let own: Self = data::read(&place, "the experiment")?;
        let name = place.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let own = Self { name, ..own };
        own.check().with_context(|| format!("the experiment {place} is invalid"))?;
        Ok(own)
    }

    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// The metric that a name of a value belongs to.
    pub fn metric(&self, value: &str) -> Option<&PointMetric> {
        let has = |(name, metric): &(&String, &PointMetric)| {
            let rest = value.strip_prefix(name.as_str());
            rest.is_some_and(|rest| metric.unit.parts().contains(&rest))
        };
        self.metrics.iter().find(has).map(|(_, metric)| metric)
    }

    pub fn in_words(&self, place: &Place) -> String {
        let words = self
            .dimensions
            .iter()
            .filter_map(|dimension| place.get(&dimension.name).map(|value| dimension.words(value)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The order of places: by their values, the first dimension first, as words are declared.
    pub fn order(&self, place: &Place) -> Vec<Option<(usize, Coordinate)>> {
        let of = |dimension: &Dimension| Some(dimension.order(place.get(&dimension.name)?));
        self.dimensions.iter().map(of).collect()
    }
}
