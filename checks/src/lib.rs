//! Checks of correctness and robustness of WebAssembly executors.
//!
//! [`conformance`] drives the specification's test scripts, [`features`] probes language features,
//! [`isolation`] searches for state that one call leaves to the next, [`hostile`] runs guests that
//! attack the host, [`count`] counts costs that need no clock, and [`survival`] kills and starves
//! benchmark runs and searches for lost cells. Calls that can crash or hang run in child processes
//! ([`touchstone::supervise`]).

#![allow(missing_docs, reason = "an internal crate: many fields need no comment beside their name")]

pub mod conformance;
pub mod count;
pub mod features;
pub mod hostile;
pub mod isolation;
pub mod survival;

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;
use touchstone_executor::Execution;
use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this build that run modules: all but the baseline.
pub fn engines() -> Vec<Arc<dyn MeasuredEngine>> {
    let mut engines = touchstone_runtimes::engines();
    engines.retain(|engine| engine.execution() != Execution::Native);
    engines
}

fn named<'a>(
    engines: &'a [Arc<dyn MeasuredEngine>],
    name: &str,
) -> Result<&'a Arc<dyn MeasuredEngine>> {
    let engine = engines.iter().find(|engine| engine.id() == name);
    engine.with_context(|| format!("there is no engine '{name}'"))
}

/// The output that a child process wrote to a file.
fn content(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .context("cannot read the output of a process")?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}
