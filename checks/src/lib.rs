//! Checks of WebAssembly executors: whether they are right, not how fast they are.
//!
//! Each check tries something on every engine of the build, through the same contract as
//! the measurements: [`conformance`] drives the specification's test scripts, [`isolation`]
//! looks for state that one call leaves to the next, [`features`] probes what modules may use, [`hostile`] runs guests that attack the
//! host. [`count`] counts what calls cost where no clock is needed. [`survival`] kills, starves and disturbs benchmark runs and looks for lost cells.
//! What can crash or hang runs in child processes ([`touchstone::supervise`]).

pub mod conformance;
pub mod count;
pub mod features;
pub mod hostile;
pub mod isolation;
pub mod survival;

use anyhow::{Context, Result};
use std::sync::Arc;
use touchstone_executor::{Engine, Execution};

/// The engines of this build that run modules: all but the baseline.
#[must_use]
pub fn engines() -> Vec<Arc<dyn Engine>> {
    let mut engines = touchstone_runtimes::engines();
    engines.retain(|engine| engine.execution() != Execution::Native);
    engines
}

/// The engine of this name.
fn named<'a>(engines: &'a [Arc<dyn Engine>], name: &str) -> Result<&'a Arc<dyn Engine>> {
    let engine = engines.iter().find(|engine| engine.id() == name);
    engine.with_context(|| format!("there is no engine '{name}'"))
}
