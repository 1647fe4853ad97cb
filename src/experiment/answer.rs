//! The side of the process that answers a question.

use super::workload;
use super::workload::{Host, Question, Said, Terms};
use crate::measure::probe;
use crate::record::Experiment;
use crate::solo::{self, FromProcess};
use crate::supervise::{Parent, Stop};
use anyhow::{Context, Result};
use std::sync::Arc;
use touchstone_executor::MeasuredEngine;

/// The message to a process: the experiment, the question and its terms.
pub(super) type Ask = (String, Question, Terms);

/// Serves as a process: answers what the parent asks. Fails if this process has no parent that
/// asks, or it asks for what there is not.
pub fn serve(experiments: &[Experiment], engines: &[Arc<dyn MeasuredEngine>]) -> Result<()> {
    let parent = Parent::<Ask, FromProcess<Said, ()>>::join()?;
    let parent = parent.context("--worker is for this program's own use")?;
    solo::serve(parent, |(name, question, terms): &Ask, say| {
        let experiment = experiments.iter().find(|own| own.name == *name);
        let experiment = experiment.context("there is no such experiment")?.clone();
        let workload = workload(name).context("this build cannot measure it")?;
        probe::calibrated(terms.probe_ns);
        let host = Host::new(experiment, engines, Stop::default())?;
        workload.answer(host, question, terms, say)
    })
}
