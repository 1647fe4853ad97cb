//! Probes in child processes, so that a crash of a runtime is a finding.

use super::{finding, one, probe, probes};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use touchstone::lab::Refused;
use touchstone::record::{Finding, Outcome};
use touchstone::solo::{self, Asked, Limits};
use touchstone::supervise::{Parent, Stop};
use touchstone_executor::{Feature, MeasuredEngine};

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
    Ok(match solo::ask(&question, command, LIMITS, stop, |(): ()| {})? {
        Asked::Answered(finding) => Some(finding),
        Asked::Refused(Refused { reason, .. }) => {
            Some(finding(engine, feature, one(Outcome::Failed, reason)))
        }
        Asked::Stopped => None,
    })
}

/// Serves as such a process.
pub fn serve(engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    let parent = Parent::join()?.context("this process probes features for another one")?;
    solo::serve(parent, |question: &Question, _: &mut dyn FnMut(())| {
        let engine = crate::named(engines, &question.engine)?;
        let wanted = probes().into_iter().find(|probe| probe.feature == question.feature);
        let findings = wanted.map(|wanted| probe(&**engine, &wanted)).transpose()?;
        Ok(Ok(findings.context("a feature without a probe")?))
    })
}
