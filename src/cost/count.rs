//! Counting everything that a filter means.

use super::operators::Counter;
use super::{Costs, Usage, usage};
use crate::case::Case;
use crate::matrix::{Cell, Filter, cells};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use touchstone_executor::Engine;

/// Which cells are counted call by call, as `benches/costs.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    usage: Cells,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cells {
    /// Regular expression over their names.
    cells: String,
}

/// The plan's file: `benches/costs.toml` in the project, or the path in
/// `TOUCHSTONE_COSTS_PLAN`.
#[must_use]
pub fn default_plan() -> PathBuf {
    std::env::var_os("TOUCHSTONE_COSTS_PLAN").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/costs.toml"),
        Into::into,
    )
}

/// What was counted, and what could not be.
#[derive(Debug)]
pub struct Counted {
    /// The counts.
    pub costs: Costs,
    /// Why some are missing that should be there.
    pub problems: Vec<String>,
    /// Why there are no system calls and signals, where there are none.
    pub untraced: Option<String>,
}

/// What there is to count.
pub struct Job {
    works: Vec<(Arc<Case>, String)>,
    cells: Vec<Cell>,
    engines: Vec<Arc<dyn Engine>>,
}

impl Job {
    /// Operators of all cases, and usage of the cells in the plan, as far as a filter
    /// means them.
    ///
    /// # Errors
    ///
    /// When the plan cannot be read, or nothing is meant.
    pub fn new(
        cases: &[Case],
        engines: &[Arc<dyn Engine>],
        plan: &Path,
        filter: &Filter,
    ) -> Result<Self> {
        let text = std::fs::read_to_string(plan)
            .with_context(|| format!("cannot read {}", plan.display()))?;
        let plan: Plan = toml::from_str(&text)
            .with_context(|| format!("the plan {} is wrong", plan.display()))?;
        let pattern = regex::Regex::new(&plan.usage.cells).context("the cells of the plan")?;
        let of_a_case = |case: &Case| {
            let case = Arc::new(case.clone());
            let works = case.guests.iter().map(|guest| (Arc::clone(&case), guest.clone()));
            works.collect::<Vec<_>>()
        };
        let mut works: Vec<_> = cases.iter().flat_map(of_a_case).collect();
        works.retain(|(case, guest)| filter.matches(&work(case, guest)));
        let mut cells = cells(cases, engines);
        cells.retain(|cell| {
            let name = cell.key.id();
            cell.key.threads == 1 && pattern.is_match(&name) && filter.matches(&name)
        });
        if works.is_empty() && cells.is_empty() {
            bail!("the filter means no case and none of the cells that are counted");
        }
        Ok(Self { works, cells, engines: engines.to_vec() })
    }

    /// Steps that `progress` will be told of, at most.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.works.len() + self.cells.len()
    }

    /// The cells whose usage is counted.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Counts. `caller` makes the command that ends up in
    /// [`usage::make_calls`] with the same cells, traced or not.
    ///
    /// # Errors
    ///
    /// When the calls cannot be made. What is wrong with a single case is among the
    /// problems.
    pub fn count(
        &self,
        caller: impl Fn(bool) -> Result<Command>,
        mut progress: impl FnMut(String),
    ) -> Result<Counted> {
        let mut costs = Costs::here();
        let (mut problems, mut untraced) = (Vec::new(), None);
        let mut counter = Counter::new(&self.engines);
        for (case, guest) in &self.works {
            let name = work(case, guest);
            progress(name.clone());
            match counter.count(case, guest) {
                Ok(operators) => drop(costs.operators.insert(name, operators)),
                Err(error) => problems.push(format!("{name}: {error:#}")),
            }
        }
        drop(counter);
        if !self.cells.is_empty() {
            let mut told = |number| progress(format!("calls that are counted, cell {number}"));
            let lines: Vec<(String, Usage)> = match usage::count(caller(true)?, true, &mut told) {
                Ok(lines) => lines,
                Err(error) => {
                    untraced = Some(format!("{error:#}"));
                    usage::count(caller(false)?, false, told)?
                }
            };
            costs.usage = lines.into_iter().collect();
        }
        Ok(Counted { costs, problems, untraced })
    }
}

/// Case and guest, as records and names of cells put them together.
fn work(case: &Case, guest: &str) -> String {
    format!("{}_from_{}", case.name, guest.replace('-', "_"))
}
