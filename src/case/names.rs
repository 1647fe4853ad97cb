//! Names of guests, and of the libraries that answer their imports.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// The name of a guest, in which `-` and `_` are the same. Displayed with `_`, as in records,
/// tables and filters. Dereferences to the name of the guest's file, as the case file spells it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuestName(String);

impl GuestName {
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    fn letters(name: &str) -> impl Iterator<Item = char> {
        name.chars().map(|letter| if letter == '-' { '_' } else { letter })
    }
}

impl Deref for GuestName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GuestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&Self::letters(self).collect::<String>())
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for GuestName {
    fn eq(&self, other: &T) -> bool {
        Self::letters(self).eq(Self::letters(other.as_ref()))
    }
}

impl AsRef<str> for GuestName {
    fn as_ref(&self) -> &str {
        self
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        let name = GuestName::new("json-module");
        assert!(name == *"json_module" && name == "json-module" && name != *"json_modul");
        assert_eq!(name, GuestName::new("json_module"));
        assert_eq!((&*name, name.to_string()), ("json-module", "json_module".to_owned()));
    }
}
