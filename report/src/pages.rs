//! How the report is divided: a data file that names what the short page shows and which
//! detailed pages there are.
//!
//! The report itself names no engine, case or guest; those that stand for a question are
//! named here.

use crate::matrix::Work;
use crate::tables::Tables;
use crate::tables::charts::ChartWork;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use strum::{EnumIter, EnumString, IntoEnumIterator};
use touchstone_executor::{Execution, Owner, Strategy};
use touchstone_record::data;
use touchstone_record::files::FilePath;
use touchstone_record::{Check, Executor, Experiment, Place};

/// The division of the report. `benches/pages.toml` explains the keys, also those below.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Pages {
    pub(crate) findings: Vec<Finding>,
    pub(crate) rungs: Vec<Rungs>,
    pub(crate) engines: Vec<Finding>,
    pub(crate) needs: Vec<Need>,
    pub(crate) payload: Option<Work>,
    pub(crate) ladder: Vec<String>,
    #[serde(deserialize_with = "data::executors")]
    pub(crate) threads: Vec<Executor>,
    pub(crate) work: Vec<Group>,
    pub(crate) limits: Vec<String>,
    pub(crate) pages: Vec<Page>,
}

/// A sentence or a row that states a ratio of two times.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub(crate) text: String,
    pub(crate) call: Option<Work>,
    #[serde(default = "one")]
    pub(crate) threads: usize,
    #[serde(deserialize_with = "data::executor")]
    pub(crate) subject: Executor,
    #[serde(default, deserialize_with = "data::some_executor")]
    pub(crate) baseline: Option<Executor>,
    /// Further baselines; the fastest of all counts.
    #[serde(default, deserialize_with = "data::executors")]
    pub(crate) or: Vec<Executor>,
    /// `true` if both calls have a deadline.
    #[serde(default)]
    pub(crate) deadline: bool,
    /// Where it was measured, if in an experiment.
    pub(crate) experiment: Option<Measured>,
}

/// A value of an experiment at a place without its executor.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    pub(crate) name: String,
    #[serde(default, rename = "where")]
    pub(crate) place: Place,
    /// The time as an expression, or the name of a rate a second.
    pub(crate) value: String,
    #[serde(default)]
    pub(crate) rate: bool,
}

/// Rows of the table at the head of the page, with a heading.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rungs {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) rows: Vec<Finding>,
}

const fn one() -> usize {
    1
}

/// A reader's need and its candidates. The fastest candidate is picked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    pub(crate) need: String,
    pub(crate) call: Work,
    pub(crate) payload: Option<Work>,
    pub(crate) owner: Option<Owner>,
    pub(crate) execution: Option<Execution>,
    #[serde(default)]
    pub(crate) strategies: Vec<Strategy>,
    #[serde(default)]
    pub(crate) engines: Vec<String>,
    pub(crate) adopt: String,
    pub(crate) avoid: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) title: String,
    /// The detailed page, its file name without the ending.
    pub(crate) page: String,
    pub(crate) engines: Vec<String>,
    pub(crate) rows: Vec<ChartWork>,
    #[serde(default)]
    pub(crate) note: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    pub(crate) file: String,
    pub(crate) title: String,
    pub(crate) answers: String,
    #[serde(default)]
    pub(crate) parts: Vec<Part>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// File names without their ending.
    #[serde(default)]
    pub(crate) tables: Vec<String>,
}

/// A part of a detailed page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, EnumIter, EnumString)]
#[serde(from = "String")]
#[strum(serialize_all = "snake_case")]
pub enum Part {
    /// Times on one and on several threads.
    Threads,
    /// The parts of a call and of what comes before it.
    Phases,
    /// Page faults, system calls, signals and sizes.
    Counts,
    /// Touchstone's picks against their runtimes' own strategies.
    Pairs,
    /// Executors timed in turns.
    Comparisons,
    /// The same ratios on other machines.
    Machines,
    /// Where dropping written pages is faster than restoring them.
    Dropping,
    /// Machine, versions, guests and sampling.
    Environment,
    /// Cells without a time.
    Refusals,
    /// Settings in force.
    Settings,
    /// The findings of a check.
    #[strum(disabled)]
    Check(Check),
    /// An experiment, by its name.
    #[strum(disabled)]
    Experiment(String),
}

impl From<String> for Part {
    fn from(name: String) -> Self {
        let check = || name.parse().map(Self::Check);
        name.parse().or_else(|_| check()).unwrap_or(Self::Experiment(name))
    }
}

/// The file of the only page.
const UNDIVIDED: &str = "details";

impl Pages {
    /// One page with every part and every table.
    fn undivided(tables: &Tables, experiments: &[Experiment]) -> Self {
        let experiments = experiments.iter().map(|own| Part::Experiment(own.name.clone()));
        let page = Page {
            file: UNDIVIDED.to_owned(),
            title: "Details".to_owned(),
            answers: "Everything that the records hold.".to_owned(),
            parts: Part::iter().chain(Check::iter().map(Part::Check)).chain(experiments).collect(),
            tables: tables.names().map(str::to_owned).collect(),
            ..Page::default()
        };
        Self { pages: vec![page], ..Self::default() }
    }

    /// `true` if one page has all details: that of a folder of cases.
    pub(crate) fn are_undivided(&self) -> bool {
        matches!(&*self.pages, [page] if page.file == UNDIVIDED)
    }

    /// Reads the division; where there is no file, one page has all details.
    /// Fails when the file cannot be read or is wrong, when a page names a table that does not
    /// exist, or when a table stands on no page or on two.
    pub(crate) fn load(
        place: impl Into<FilePath>,
        tables: &Tables,
        experiments: &[Experiment],
    ) -> Result<Self> {
        let place = place.into();
        if !place.exists() {
            return Ok(Self::undivided(tables, experiments));
        }
        let mut pages: Self = data::read(&place, "the pages")?;
        pages.check(tables, experiments).with_context(|| place.to_string())?;
        for experiment in experiments {
            pages.add(experiment);
        }
        Ok(pages)
    }

    fn check(&self, tables: &Tables, experiments: &[Experiment]) -> Result<()> {
        let known: BTreeSet<&str> = tables.names().collect();
        let (mut seen, mut files) = (BTreeSet::new(), BTreeSet::new());
        for Page { file, parts, tables, .. } in &self.pages {
            let is_name =
                !file.is_empty() && file.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            ensure!(
                is_name && files.insert(file),
                "the file name '{file}' is used twice or is not made of a–z and -"
            );
            for part in parts {
                let Part::Experiment(name) = part else { continue };
                let is_known = experiments.iter().any(|own| own.name == *name);
                ensure!(is_known, "there is no part '{name}'");
            }
            for table in tables {
                let is_known = known.contains(table.as_str());
                ensure!(is_known, "the page '{file}' names no table: '{table}'");
                let is_new = seen.insert(table.as_str());
                ensure!(is_new, "the page '{file}' repeats the table '{table}'");
            }
        }
        if let Some(table) = known.difference(&seen).next() {
            bail!("the table '{table}' stands on no page");
        }
        if let Some(group) = self.work.iter().find(|group| !files.contains(&group.page)) {
            bail!("'{}' names no page: '{}'", group.title, group.page);
        }
        Ok(())
    }

    /// Adds an experiment that no page names to the page that it names itself.
    fn add(&mut self, experiment: &Experiment) {
        let part = Part::Experiment(experiment.name.clone());
        let is_named = self.pages.iter().any(|page| page.parts.contains(&part));
        let page = self.pages.iter_mut().find(|page| page.file == experiment.page);
        if let Some(page) = page.filter(|_| !is_named) {
            page.parts.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::experiments_folder;

    #[test]
    fn every_experiment_has_a_page() {
        let folder = experiments_folder();
        let place = FilePath::from(folder.with_file_name("pages.toml"));
        let pages: Pages = data::read(&place, "the pages").unwrap();
        for Experiment { name, page, .. } in Experiment::all(folder).unwrap() {
            let is_there = pages.pages.iter().any(|own| own.file == page);
            assert!(is_there, "the experiment {name} names no page: '{page}'");
        }
    }
}
