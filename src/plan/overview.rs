//! The cells of the overview, as `benches/overview.toml` selects them.

use super::Cell;
use super::comparisons::best_of_runtime;
use crate::files;
use crate::record::data;
use anyhow::Result;
use serde::Deserialize;
use std::collections::BTreeSet;
use touchstone_executor::Strategy;

/// The selection. A cell belongs to the overview if one of its entries selects it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overview {
    cells: Vec<Entry>,
}

/// Cells of the first guest of some cases. Without engines, all are selected.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    engines: BTreeSet<String>,
    cases: BTreeSet<String>,
    #[serde(default)]
    strategies: Vec<Strategy>,
    /// `true` to select the best of the runtime's own strategies, too.
    #[serde(default)]
    best: bool,
    threads: BTreeSet<usize>,
}

impl Overview {
    /// The selection of the project. Fails if it cannot be read or is invalid.
    pub fn of_project() -> Result<Self> {
        data::read(files::project("benches/overview.toml"), "the overview")
    }

    pub fn select<'a>(&self, cells: &'a [Cell]) -> Vec<&'a Cell> {
        let is_best = |cell: &Cell| best_of_runtime(&*cell.engine) == Some(cell.key.executor());
        let has = |cell: &Cell, own: &Entry| {
            let key = &cell.key;
            own.threads.contains(&key.threads)
                && own.cases.contains(&key.case)
                && (own.engines.is_empty() || own.engines.contains(&key.engine))
                && (own.strategies.contains(&key.strategy) || own.best && is_best(cell))
        };
        let is_first = |cell: &Cell| cell.case.guests.first().is_some_and(|own| *own == cell.guest);
        let all = cells.iter().filter(|cell| is_first(cell));
        all.filter(|cell| self.cells.iter().any(|own| has(cell, own))).collect()
    }
}
