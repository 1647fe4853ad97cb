//! Cases and their guests: those of this project, or those of a folder.

use super::{Case, Guests, default_folder, load_all};
use crate::files::FilePath;
use anyhow::Result;
use std::path::Path;

/// Where cases and guests are.
#[derive(Debug, Clone)]
pub enum Suite {
    /// This project's.
    BuiltIn,
    /// In a folder of somebody's own: `*.toml`, `*.wasm` and `SHA256SUMS`. Nothing that the files
    /// name leaves the folder.
    Folder(FilePath),
}

impl Suite {
    /// The suite of a folder, or the project's own.
    ///
    /// # Errors
    ///
    /// When there is no such folder.
    pub fn of(folder: Option<&Path>) -> Result<Self> {
        folder.map_or(Ok(Self::BuiltIn), |folder| FilePath::within(folder).map(Self::Folder))
    }

    /// The cases.
    ///
    /// # Errors
    ///
    /// Those of [`load_all`].
    pub fn cases(&self) -> Result<Vec<Case>> {
        match self {
            Self::BuiltIn => load_all(default_folder()),
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
