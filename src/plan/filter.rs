//! Filters over names.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use touchstone_executor::guest::similar;

/// Selects names: by a regular expression, as in criterion, or by an exact name.
#[derive(Debug, Clone, Default)]
pub enum Filter {
    /// Everything.
    #[default]
    All,
    /// Names that the expression matches anywhere.
    Pattern(regex::Regex),
    /// Exactly this name.
    Exact(String),
}

impl Filter {
    /// The filter of a command-line argument.
    ///
    /// # Errors
    ///
    /// When it is not a regular expression.
    pub fn new(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::All) };
        let pattern = regex::Regex::new(text)
            .with_context(|| format!("the filter '{text}' is no regular expression"))?;
        Ok(Self::Pattern(pattern))
    }

    /// Whether a name is selected.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Pattern(pattern) => pattern.is_match(name),
            Self::Exact(text) => name == text,
        }
    }
}

/// Names, or parts of names, that resemble a text, as the end of a message. Empty if none
/// does.
#[must_use]
pub fn near(text: &str, names: &[String]) -> String {
    let mut parts = BTreeSet::new();
    for name in names {
        parts.insert(name.as_str());
        parts.extend(name.split('/').flat_map(|part| part.split("_from_").chain([part])));
    }
    let near = similar(text, parts.into_iter());
    if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) }
}
