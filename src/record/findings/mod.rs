//! What the checks of `touchstone-checks` found, as it is stored and reported.
//!
//! Each check stores its findings in a file of its own.

pub mod conformance;
pub mod hostile;
pub mod isolation;
pub mod survival;

use super::{Machine, SCHEMA, Tools};
use crate::{files, provenance};
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The findings of one check, with where they were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found<T> {
    /// Version of the layout: [`SCHEMA`] at the time of writing.
    pub schema: u32,
    /// When it was found, RFC 3339 in UTC.
    pub recorded_at: String,
    /// The machine.
    pub machine: Machine,
    /// The programs that made the binary.
    pub tools: Tools,
    /// What was found.
    pub findings: T,
}

/// Findings that are stored in a file.
pub trait Findings: Serialize + DeserializeOwned {
    /// The check's name: in commands, and of the file.
    const NAME: &'static str;
}

impl<T: Findings> Found<T> {
    /// Something that was found here and now.
    #[must_use]
    pub fn here(findings: T) -> Self {
        Self {
            schema: SCHEMA,
            recorded_at: provenance::now(),
            machine: provenance::machine(),
            tools: provenance::tools(),
            findings,
        }
    }

    /// What is stored in a folder; `None` where nothing is.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no such file or of another layout.
    pub fn load(folder: &Path) -> Result<Option<Self>> {
        let path = Self::path(folder);
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let anew = || format!("`touchstone-checks {} --store` makes it anew", T::NAME);
        let found: Self = serde_json::from_slice(&content)
            .with_context(|| format!("{} holds no findings; {}", path.display(), anew()))?;
        if found.schema != SCHEMA {
            bail!(
                "{} has layout version {} where this build reads {SCHEMA}; {}",
                path.display(),
                found.schema,
                anew()
            );
        }
        Ok(Some(found))
    }

    /// Stores it in one step, and returns where.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written; the old file is whole then.
    pub fn store(&self, folder: &Path) -> Result<PathBuf> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        files::stage(&Self::path(folder), text.as_bytes())?.commit()
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", T::NAME))
    }
}

/// Where findings lie unless told otherwise: beside a record file.
#[must_use]
pub fn beside(records: &Path) -> PathBuf {
    records.with_file_name("trust")
}
