//! The settings of a WASI program beside its input.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use touchstone_executor::wasi::{Directory, Settings};

/// Settings of a WASI program that can be sent to another process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Program {
    /// Arguments; the first one is the name of the program.
    pub(super) arguments: Vec<String>,
    /// Names and values of environment variables.
    pub(super) environment: Vec<(String, String)>,
    /// The readable directory.
    pub(super) directory: Option<PathBuf>,
}

impl Program {
    /// The settings, with the directory opened.
    pub(super) fn settings(&self) -> Result<Settings> {
        let open = |path: &PathBuf| {
            Directory::open(path).with_context(|| format!("cannot use {}", path.display()))
        };
        Ok(Settings {
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            directory: self.directory.as_ref().map(open).transpose()?,
        })
    }
}

/// The variables with the last value of each name, in the order of their first values.
pub(super) fn last_of_each(given: &[(String, String)]) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for (name, value) in given {
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(value),
            None => variables.push((name.clone(), value.clone())),
        }
    }
    variables
}

/// For clap: the name and the value of an environment variable.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
