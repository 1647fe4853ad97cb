//! Probes in child processes, so that a crash of a runtime is a finding.

use super::{finding, one, probe, probes};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use touchstone::record::{Finding, Outcome};
use touchstone::solo::{self, Limits};
use touchstone::supervise::Stop;
use touchstone_executor::Feature;
use touchstone_executor::adapter::MeasuredEngine;

/// Limits of a probe under all strategies, far above what any takes.
const LIMITS: Limits = Limits { memory: 8 << 30, time: Duration::from_secs(300) };

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Question {
    engine: String,
    feature: Feature,
}

/// Probes a feature in a process started by a command that calls [`serve`]. `None` after Ctrl-C.
pub fn probe_in_process(
    engine: &dyn MeasuredEngine,
    feature: Feature,
    command: Command,
    stop: &Stop,
) -> Result<Option<Finding>> {
    let question = Question { engine: engine.id().to_owned(), feature };
    solo::ask(&question, command, LIMITS, stop, |(): ()| {})
        .or_else(|refused| Ok(Some(finding(engine, feature, one(Outcome::Failed, refused.reason)))))
}

/// Serves as such a process.
pub fn serve(engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    solo::serve("feature", |question: &Question, _: &mut dyn FnMut(())| {
        let engine = crate::named(engines, &question.engine)?;
        let wanted = probes().into_iter().find(|probe| probe.feature == question.feature);
        let wanted = wanted.context("a feature without a probe")?;
        Ok(probe(&**engine, &wanted).context("a probe is no module")?)
    })
}
