//! The cells of the overview and of the main page, as files of `benches/` select them.

use super::Cell;
use super::comparisons::best_of_runtime;
use crate::files;
use crate::record::data;
use anyhow::Result;
use serde::Deserialize;
use std::collections::BTreeSet;
use touchstone_executor::Strategy;

/// A cell belongs to a selection if one of its entries selects it.
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

/// The file of the overview, and that of the cells whose times stand on the main page.
pub const OVERVIEW: &str = "benches/overview.toml";
pub const MAIN_PAGE: &str = "benches/main_page.toml";

/// Keeps the cells that a file selects. Fails if it cannot be read or is invalid.
pub fn keep_selected(cells: &mut Vec<Cell>, file: &str) -> Result<()> {
    let selection: Selection = data::read(files::project(file), "a selection of cells")?;
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
