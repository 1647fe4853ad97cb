//! What calls cost in counts instead of time: operators that the guest executes, page
//! faults, system calls, signals, bytes of code.
//!
//! Operators are the same on every machine. The rest is the same on every machine with
//! the same kernel, or the same processor. So they can be held against stored ones
//! without a tolerance for noise, which is what [`gate`] does.

pub mod count;
pub mod gate;
pub mod operators;
pub mod trace;
pub mod usage;

use crate::record::{Machine, SCHEMA, Tools};
use crate::{files, provenance, record};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All counts of one run, as they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Version of the layout: [`SCHEMA`] at the time of writing.
    pub schema: u32,
    /// When they were counted, RFC 3339 in UTC.
    pub recorded_at: String,
    /// The machine they were counted on.
    pub machine: Machine,
    /// The programs that made the binary.
    pub tools: Tools,
    /// By case and guest: `<case>_from_<guest>`.
    pub operators: BTreeMap<String, Operators>,
    /// By cell: its name as filters take it.
    pub usage: BTreeMap<String, Usage>,
}

/// Operators that a guest executes in one call of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operators {
    /// SHA-256 of the guest's bytes as they lie on disk, hexadecimal.
    pub guest_sha256: String,
    /// Size of the guest, bytes.
    pub guest_bytes: u64,
    /// How many: one for each operator, none for those that only shape the code, one
    /// more for each function that is entered, less the entries from the host.
    pub operators: u64,
    /// The same for a second call on an instance that is not made clean in between,
    /// where the case is about such calls too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<u64>,
    /// Who counted, all of them the same: runtimes by a meter of their own, or
    /// executors that ran the guest rewritten to count itself.
    pub counted_by: Vec<String>,
}

/// What a call of one cell takes from the kernel, and the size of its code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Version of the linked runtime, as it says itself.
    pub runtime_version: String,
    /// SHA-256 of the guest's bytes as they lie on disk, hexadecimal.
    pub guest_sha256: String,
    /// Size of the artifact, bytes; 0 where the runtime does not say.
    pub artifact_bytes: u64,
    /// Minor page faults of the calling thread, mean per call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<f64>,
    /// System calls of the calling thread, mean per call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_calls: Option<f64>,
    /// Signals that the calling thread was sent, mean per call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<f64>,
}

impl Costs {
    /// None counted yet, here and now.
    #[must_use]
    pub fn here() -> Self {
        Self {
            schema: SCHEMA,
            recorded_at: provenance::now(),
            machine: provenance::machine(),
            tools: provenance::tools(),
            operators: BTreeMap::new(),
            usage: BTreeMap::new(),
        }
    }

    /// Reads stored ones.
    ///
    /// # Errors
    ///
    /// When the file is missing, no such file, or of another layout.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("cannot read the counts in {}; `make costs` makes them", path.display())
        })?;
        let costs: Self = serde_json::from_str(&text).with_context(|| {
            format!("{} holds no counts; `make costs` makes them anew", path.display())
        })?;
        if costs.schema != SCHEMA {
            bail!(
                "{} has layout version {} where this build reads {SCHEMA}; `make costs` makes it \
                 anew",
                path.display(),
                costs.schema
            );
        }
        Ok(costs)
    }

    /// Stores them in one step: a full disk or a kill leaves the old file whole.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn store(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        files::stage(path, text.as_bytes())?.commit()?;
        Ok(())
    }
}

/// Where counts lie unless told otherwise: `costs.json` beside the records.
#[must_use]
pub fn default_path() -> PathBuf {
    std::env::var_os("TOUCHSTONE_COSTS")
        .map_or_else(|| beside(&record::default_path()), PathBuf::from)
}

/// Where the counts of a record file's guests lie.
#[must_use]
pub fn beside(records: &Path) -> PathBuf {
    records.with_file_name("costs.json")
}
