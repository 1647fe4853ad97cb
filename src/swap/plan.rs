//! What is swapped: a data file, strictly read.

use crate::case::{self, Case};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `benches/swap.toml` says.
#[derive(Debug, Clone)]
pub struct SwapPlan {
    /// Messages in a random order.
    pub messages: usize,
    /// Of that order.
    pub seed: u64,
    /// A case for each kind of message.
    pub kinds: [Case; 2],
    /// Engines that are left out, by their names.
    pub without: Vec<String>,
    /// Times that the module is replaced under load.
    pub replacements: u64,
    /// Time after each of these.
    pub pause: Duration,
}

/// What is wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It cannot be read.
    #[error("cannot read {path}; restore it, or name another file in TOUCHSTONE_SWAP")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no TOML of this form.
    #[error("{path} is wrong")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A kind names no case.
    #[error("{path}: {reason}")]
    NoSuchCase {
        /// The file.
        path: PathBuf,
        /// What was named, and what resembles it.
        reason: String,
    },
    /// It reads well and means nothing.
    #[error("{path}: {what}")]
    Senseless {
        /// The file.
        path: PathBuf,
        /// What to change.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    messages: usize,
    seed: u64,
    kinds: [String; 2],
    #[serde(default)]
    without: Vec<String>,
    replacements: u64,
    pause_us: u64,
}

/// The file: `benches/swap.toml` in the project, or the path in `TOUCHSTONE_SWAP`.
#[must_use]
pub fn default_path() -> PathBuf {
    std::env::var_os("TOUCHSTONE_SWAP").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/swap.toml"),
        PathBuf::from,
    )
}

/// Reads the file; `cases` are those that it may name.
///
/// # Errors
///
/// [`PlanError`] with what to do about it.
pub fn load(path: &Path, cases: &[Case]) -> Result<SwapPlan, PlanError> {
    let path_buf = || path.to_owned();
    let text = std::fs::read_to_string(path)
        .map_err(|source| PlanError::Unreadable { path: path_buf(), source })?;
    let file: File = toml::from_str(&text)
        .map_err(|source| PlanError::Malformed { path: path_buf(), source: Box::new(source) })?;
    let senseless = |what: &str| PlanError::Senseless { path: path_buf(), what: what.to_owned() };
    if file.messages < 2 {
        return Err(senseless("'messages' is 2 or more: fewer have no change of kind"));
    }
    if file.replacements == 0 {
        return Err(senseless("'replacements' is 1 or more"));
    }
    let [first, second] = &file.kinds;
    if first == second {
        return Err(senseless("'kinds' are two cases, and not the same twice"));
    }
    let find = |name: &str| {
        let case = cases.iter().find(|case| case.name == *name);
        let case = case.ok_or_else(|| PlanError::NoSuchCase {
            path: path_buf(),
            reason: case::unknown(name, cases.iter().map(|case| case.name.as_str())),
        })?;
        if case.codec.is_some() {
            return Err(senseless(&format!("'{name}' needs a codec, which a swap has none of")));
        }
        Ok(case.clone())
    };
    Ok(SwapPlan {
        messages: file.messages,
        seed: file.seed,
        kinds: [find(first)?, find(second)?],
        without: file.without,
        replacements: file.replacements,
        pause: Duration::from_micros(file.pause_us),
    })
}
