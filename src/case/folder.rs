//! Cases and their guests: those of this project, or those of a folder.

use super::{Case, Guests, default_folder, load_all};
use crate::files::FilePath;
use anyhow::Result;
use std::path::Path;

#[derive(Debug, Clone)]
pub enum Suite {
    BuiltIn,
    /// A user's folder with `*.toml`, `*.wasm` and `SHA256SUMS`. Paths in its files cannot leave
    /// it.
    Folder(FilePath),
}

impl Suite {
    /// The suite of a folder, or the project's own. Fails if there is no such folder.
    pub fn of(folder: Option<&Path>) -> Result<Self> {
        folder.map_or(Ok(Self::BuiltIn), |folder| FilePath::within(folder).map(Self::Folder))
    }

    pub fn cases(&self) -> Result<Vec<Case>> {
        match self {
            Self::BuiltIn => load_all(default_folder()),
            Self::Folder(folder) => load_all(folder),
        }
    }

    pub fn guests(&self) -> Guests {
        match self {
            Self::BuiltIn => Guests::built(),
            Self::Folder(folder) => Guests::in_folder(folder),
        }
    }
}
