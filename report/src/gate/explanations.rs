//! `benches/explanations.toml`: what is known of numbers that break a rule.

use super::{Rule, Violation};
use anyhow::Result;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::fmt;
use touchstone_executor::Strategy;
use touchstone_record::data;
use touchstone_record::files::FilePath;

/// The cause of a broken rule, for the cells that match; what is left out matches all.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explanation {
    pub(crate) rule: Rule,
    pub(crate) engine: String,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) case: Option<String>,
    pub(crate) guest: Option<String>,
    pub(crate) threads: Option<usize>,
    /// The explanation, Markdown of one paragraph.
    #[serde(deserialize_with = "text")]
    pub(crate) text: String,
}

/// A text that says something, on one line.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { Err(D::Error::custom("the explanation is empty")) } else { Ok(text) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    explanation: Vec<Explanation>,
}

impl Explanation {
    /// Reads a file; none where there is no file. The message of an error has the line.
    pub(crate) fn load(place: impl Into<FilePath>) -> Result<Vec<Self>> {
        let place = place.into();
        if !place.exists() {
            return Ok(Vec::new());
        }
        Ok(data::read::<File>(place, "the file")?.explanation)
    }

    /// `true` if it explains a violation.
    pub(crate) fn fits(&self, violation: &Violation) -> bool {
        let Some((cell, rule)) = &violation.cell else { return false };
        self.rule == *rule
            && self.engine == cell.engine
            && self.strategy.is_none_or(|strategy| strategy == cell.strategy)
            && self.case.as_ref().is_none_or(|case| *case == cell.case)
            && self.guest.as_ref().is_none_or(|guest| *guest == cell.guest)
            && self.threads.is_none_or(|threads| threads == cell.threads)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an explanation has nothing to explain: ")?;
        self.rule.serialize(&mut *f)?;
        write!(f, ", {}", self.engine)?;
        if let Some(strategy) = self.strategy {
            write!(f, "_{strategy}")?;
        }
        for part in [&self.case, &self.guest].into_iter().flatten() {
            write!(f, ", {part}")?;
        }
        self.threads.map_or(Ok(()), |threads| write!(f, ", {threads} threads"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn load(text: &str) -> Result<Vec<Explanation>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("explanations.toml");
        std::fs::write(&path, text).unwrap();
        Explanation::load(&path)
    }

    #[test]
    fn a_file_is_read_strictly_and_errors_have_the_line() {
        let good = "[[explanation]]\nrule = \"scaling\"\nengine = \"wasmi\"\n\
                    strategy = \"pooling_cow\"\nthreads = 2\ntext = \"one\\n  two\"\n";
        let read = load(good).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].text, "one two");
        assert!(read[0].to_string().contains("scaling, wasmi_pooling_cow, 2 threads"));
        for (change, line, says) in [
            (("scaling", "scalling"), 2, "unknown variant"),
            (("pooling_cow", "pooling_cold"), 4, "pooling_cold"),
            (("threads", "thread"), 5, "unknown field"),
            (("one\\n  two", " "), 6, "is empty"),
        ] {
            let error = format!("{:#}", load(&good.replace(change.0, change.1)).unwrap_err());
            assert!(error.contains(&format!("line {line}")), "{error}");
            assert!(error.contains(says) && error.contains("explanations.toml"), "{error}");
        }
        assert!(load("[[explanations]]\n").is_err());
        assert_eq!(load("").unwrap(), []);
        let missing = Explanation::load(Path::new("/nowhere/explanations.toml"));
        assert_eq!(missing.unwrap(), []);
    }
}
