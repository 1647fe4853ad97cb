//! Cases and their guests: those of this project, or those of a folder.

use super::{Case, Guests, default_folder, load_all};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Where cases and guests are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suite {
    /// This project's.
    BuiltIn,
    /// In a folder of somebody's own: `*.toml`, `*.wasm` and `SHA256SUMS`.
    Folder(PathBuf),
}

impl Suite {
    /// The suite of a folder, or the project's own.
    #[must_use]
    pub fn of(folder: Option<&Path>) -> Self {
        folder.map_or(Self::BuiltIn, |folder| Self::Folder(folder.to_owned()))
    }

    /// The cases.
    ///
    /// # Errors
    ///
    /// Those of [`load_all`].
    pub fn cases(&self) -> Result<Vec<Case>> {
        match self {
            Self::BuiltIn => load_all(&default_folder()),
            Self::Folder(folder) => load_all(folder),
        }
    }

    /// The guests.
    #[must_use]
    pub fn guests(&self) -> Guests {
        match self {
            Self::BuiltIn => Guests::built(),
            Self::Folder(folder) => Guests::in_folder(folder),
        }
    }
}
