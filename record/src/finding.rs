use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use touchstone_executor::Strategy;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumIter, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Check {
    /// The test scripts of the specification.
    Conformance,
    /// Which features of WebAssembly an engine runs.
    Features,
    /// State that a call sees of an earlier call.
    Isolation,
    /// Effects of hostile guests on the host.
    Hostile,
    /// Runs that are killed, crash or meet a full disk.
    Survival,
}

/// A reason without the place that engines name at its end: ` (at offset 0x1f)`. Refusals that
/// differ in nothing else are one.
pub fn without_offset(reason: &str) -> &str {
    match reason.rsplit_once(" (at offset ") {
        Some((before, place)) if place.strip_suffix(')').is_some_and(|at| !at.contains(' ')) => {
            before
        }
        _ => reason,
    }
}

/// A finding of a check about one thing on one executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub check: Check,
    /// The subject: a script, a kind of state, an attack, a scenario.
    pub name: String,
    /// The engine; empty if none takes part.
    pub engine: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    pub counts: BTreeMap<Outcome, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

impl Finding {
    pub fn number(&self, outcome: Outcome) -> u64 {
        self.counts.get(&outcome).copied().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expected result.
    Held,
    /// The expected result, by ending the process.
    HeldByEnding,
    Failed,
    /// The check could not prove that it would have noticed a failure.
    Unproven,
    Refused,
    NotDriven,
    /// The rules of the language make it invisible.
    Exempt,
}
