//! Libraries that answer a guest's imports.

use serde::Deserialize;
use std::str::FromStr;

/// A library: the module that a guest imports from, and the guest or the file that answers.
/// Written `NAME=FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Library {
    /// The module part of the imports.
    pub name: String,
    /// In a case file, the name of a guest; on the command line, a file.
    pub file: String,
}

impl FromStr for Library {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, file)) if !file.is_empty() => {
                Ok(Self { name: name.to_owned(), file: file.to_owned() })
            }
            _ => Err(format!("'{text}' is not NAME=FILE")),
        }
    }
}

impl TryFrom<String> for Library {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
