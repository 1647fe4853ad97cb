//! Data files: TOML that names executors.

use crate::Executor;
use crate::files::{FilePath, read_text};
use anyhow::{Context, Result, ensure};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;

/// Largest data file, bytes.
const LARGEST_DATA: usize = 4 << 20;

/// The data files of a folder, sorted by name; messages call them `what`.
pub fn files(folder: &FilePath, what: &str) -> Result<Vec<FilePath>> {
    let mut files = folder.list().with_context(|| format!("cannot read {what} in {folder}"))?;
    files.retain(|file| file.path().extension().is_some_and(|extension| extension == "toml"));
    Ok(files)
}

/// The content of a data file, which messages call `what`.
/// Fails when the file cannot be read or is wrong; the message has the line and the column.
pub fn read<T: DeserializeOwned>(place: impl Into<FilePath>, what: &str) -> Result<T> {
    let place = place.into();
    let text = read_text(&place).with_context(|| format!("cannot read {what} {place}"))?;
    let mib = LARGEST_DATA >> 20;
    ensure!(text.len() <= LARGEST_DATA, "{what} {place} has more than {mib} MiB");
    toml::from_str(&text).with_context(|| format!("{what} {place} is invalid"))
}

/// Reads an executor's name.
pub fn executor<'de, D: Deserializer<'de>>(from: D) -> Result<Executor, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// Reads an executor's name where there may be none.
pub fn some_executor<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Executor>, D::Error> {
    executor(from).map(Some)
}

pub fn executors<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Executor>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
}

/// The first value that there was before.
pub fn repeated<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    values.into_iter().find(|value| !seen.insert(*value))
}
