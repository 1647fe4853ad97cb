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
struct Selection {
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

/// Keeps the cells of the overview. Fails if the selection cannot be read or is invalid.
pub fn keep_overview(cells: &mut Vec<Cell>) -> Result<()> {
    let file = files::project("benches/overview.toml");
    let selection: Selection = data::read(file, "the overview")?;
    let has = |cell: &Cell, own: &Entry| {
        let key = &cell.key;
        let is_best = || best_of_runtime(&*cell.engine) == Some(key.executor());
        own.threads.contains(&key.threads)
            && own.cases.contains(&key.case)
            && (own.engines.is_empty() || own.engines.contains(&key.engine))
            && (own.strategies.contains(&key.strategy) || own.best && is_best())
    };
    let is_first = |cell: &Cell| cell.case.guests.first().is_some_and(|own| *own == cell.guest);
    cells.retain(|cell| is_first(cell) && selection.cells.iter().any(|own| has(cell, own)));
    Ok(())
}
