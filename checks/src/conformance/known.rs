//! Known causes of failures, from a data file.

use super::Conformance;
use anyhow::Result;
use regex::Regex;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::path::Path;
use touchstone::record::data;

const NAME: &str = "known_failures.toml";
const WHAT: &str = "the known failures";

/// Causes of failures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    #[serde(default)]
    known: Vec<Entry>,
}

/// Regular expressions of failures, and their cause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(deserialize_with = "regex")]
    engines: Regex,
    /// Over group, script and line.
    #[serde(deserialize_with = "regex")]
    at: Regex,
    /// Over the observed result; any result when left out.
    #[serde(default, deserialize_with = "some_regex")]
    what: Option<Regex>,
    why: String,
}

fn regex<'de, D: Deserializer<'de>>(from: D) -> Result<Regex, D::Error> {
    Regex::new(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn some_regex<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    regex(from).map(Some)
}

impl Known {
    /// Reads `checks/known_failures.toml` of the project, and the `known_failures.toml` of each
    /// adapter that has one.
    pub fn of_project() -> Result<Self> {
        let checks = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut all: Self = data::read(checks.join(NAME), WHAT)?;
        let folders = std::fs::read_dir(checks.with_file_name("runtimes"))?;
        let files = folders.filter_map(|folder| Some(folder.ok()?.path().join(NAME)));
        let mut files: Vec<_> = files.filter(|file| file.is_file()).collect();
        files.sort_unstable();
        for file in files {
            all.known.extend(data::read::<Self>(&file, WHAT)?.known);
        }
        Ok(all)
    }

    /// The cause of a failure, if it is known.
    #[must_use]
    pub fn cause(&self, engine: &str, at: &str, what: &str) -> Option<String> {
        let entry = self.known.iter().find(|entry| {
            entry.engines.is_match(engine)
                && entry.at.is_match(at)
                && entry.what.as_ref().is_none_or(|own| own.is_match(what))
        });
        entry.map(|entry| entry.why.clone())
    }

    /// Sets the causes of failures, and returns the number of failures without a cause.
    pub fn explain(&self, found: &mut Conformance) -> usize {
        let mut unexplained = 0;
        for one in &mut found.engines {
            for failure in &mut one.failures {
                failure.why = self.cause(&one.engine, &failure.at, &failure.what);
                unexplained += usize::from(failure.why.is_none());
            }
        }
        unexplained
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Failure, OnEngine};

    #[test]
    fn sentences_find_their_failures_and_the_rest_is_counted() {
        let text = "[[known]]\nengines = '^a$'\nat = '/x:'\nwhy = 'because'\n";
        let failure = |at: &str| Failure { at: at.to_owned(), what: "w".to_owned(), why: None };
        let on = |engine: &str| OnEngine {
            engine: engine.to_owned(),
            failures: vec![failure("g/x:1"), failure("g/y:1")],
            ..OnEngine::default()
        };
        let mut found = Conformance { groups: Vec::new(), engines: vec![on("a"), on("b")] };
        assert_eq!(toml::from_str::<Known>(text).unwrap().explain(&mut found), 3);
        assert_eq!(found.engines[0].failures[0].why.as_deref(), Some("because"));
    }

    #[test]
    fn the_files_in_the_project_can_be_read() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(NAME);
        let own: Known = data::read(&own, WHAT).unwrap();
        assert!(Known::of_project().unwrap().known.len() > own.known.len());
    }
}
