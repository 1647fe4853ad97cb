//! Features of WebAssembly by engine: a small module per feature is called under every strategy,
//! and the result is compared with the engine's claim
//! ([`Capabilities`](touchstone_executor::Capabilities)).

mod probes;

use anyhow::{Context, Result};
use probes::{ANSWER, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use touchstone::record::{Check, Finding, Outcome};
use touchstone::solo::{self, Limits};
use touchstone::supervise::Stop;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CodeFrom, Config, Error, Feature, Imports, Outcome as Ended, Strategy, Support,
};

/// Limits of a probe under all strategies, far above what any takes.
const LIMITS: Limits = Limits { memory: 8 << 30, time: Duration::from_secs(300) };

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Question {
    engine: String,
    feature: Feature,
}

/// Probes a feature in a process started by a command that calls [`serve`], so that a crash of a
/// runtime is a finding. `None` after Ctrl-C.
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
        Ok(probe(&**engine, question.feature).context("a probe is no module")?)
    })
}

/// Probes a feature on an engine. The finding is held if each supporting strategy returned the
/// right answer twice, refused if the engine does not claim the feature, and failed if answer and
/// claim differ.
pub fn probe(engine: &dyn MeasuredEngine, feature: Feature) -> Result<Finding, wat::Error> {
    let wasm = wat::parse_str(text(feature))?;
    let found = match GuestModule::new(feature.name(), &wasm, HeapPages::default()) {
        Ok(guest) => on(engine, feature, &guest),
        Err(error) => refused_by_all(feature, &error.into()),
    };
    Ok(finding(engine, feature, found))
}

/// Outcomes, and the reason.
type Found = (BTreeMap<Outcome, u64>, Option<String>);

fn one(outcome: Outcome, reason: String) -> Found {
    (BTreeMap::from([(outcome, 1)]), Some(reason))
}

fn finding(engine: &dyn MeasuredEngine, feature: Feature, (counts, evidence): Found) -> Finding {
    Finding {
        check: Check::Features,
        name: feature.name().to_owned(),
        engine: engine.id().to_owned(),
        strategy: None,
        counts,
        cause: None,
        evidence: evidence.into_iter().collect(),
    }
}

/// The finding for a module that the harness refuses: right if the feature cannot be hosted.
fn refused_by_all(feature: Feature, error: &Error) -> Found {
    let is_known = feature.refusal().is_some_and(|why| error.to_string().contains(why));
    one(if is_known { Outcome::Refused } else { Outcome::Failed }, error.to_string())
}

fn on(engine: &dyn MeasuredEngine, feature: Feature, guest: &GuestModule) -> Found {
    let claims = engine.capabilities().features.has(feature);
    let (mut counts, mut evidence, mut refusal) = (BTreeMap::new(), None, None);
    // The source of the code does not change what it does.
    let ways = Strategy::all().into_iter().filter(|way| way.code == CodeFrom::InProcess);
    for strategy in ways.filter(|way| engine.support(*way).is_supported()) {
        if let Support::Unsupported { reason } = engine.support_for(strategy, guest) {
            refusal.get_or_insert(reason);
            continue;
        }
        let outcome = match call(engine, strategy, guest) {
            Ok(()) if claims => Outcome::Held,
            Ok(()) => {
                evidence = Some("it runs, though the engine does not claim the feature".to_owned());
                Outcome::Failed
            }
            Err(reason) => {
                evidence = Some(format!("{strategy}: {reason}"));
                Outcome::Failed
            }
        };
        *counts.entry(outcome).or_insert(0) += 1;
    }
    match refusal {
        // Some strategies run it.
        _ if !counts.is_empty() => (counts, evidence),
        Some(reason) if !claims => one(Outcome::Refused, reason),
        // Another property of the module is in the way.
        Some(reason) => one(Outcome::NotDriven, reason),
        None => one(Outcome::NotDriven, "no strategy".to_owned()),
    }
}

/// Calls the probe twice, each time on a clean instance.
fn call(
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
) -> Result<(), String> {
    let text = |error: Error| error.to_string();
    let config = Config { instances: 4, imports: Imports::Trap, ..Config::default() };
    let artifact = engine.compile(guest, strategy, &config).map_err(text)?;
    let module = engine.load(guest, &artifact, strategy, &config).map_err(text)?;
    let export = module.export("f", Abi::Plain).map_err(text)?;
    let mut instance = module.new_instance().map_err(text)?;
    for _ in 0..2 {
        let mut output = Vec::new();
        match instance.call(export, &[], &mut output).map_err(text)? {
            Ended::Returned if output == ANSWER.to_le_bytes() => {}
            Ended::Returned => return Err(format!("it returned {output:?}")),
            Ended::Trapped(trap) => return Err(format!("it trapped: {trap}")),
        }
    }
    Ok(())
}
