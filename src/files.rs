//! Putting files on disk whole, or not at all.

use anyhow::{Context, Result};
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Content of a file; `None` if there is no such file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The folder a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new content, on disk beside the file it will become.
#[derive(Debug)]
pub struct Staged {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

/// Writes a content beside `path`, making the folder if need be. The file at
/// `path` is not touched.
///
/// # Errors
///
/// When the folder cannot be made or the disk is full.
pub fn stage(path: &Path, content: &[u8]) -> Result<Staged> {
    let failed = || format!("cannot write {}; the old file is as it was", path.display());
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).with_context(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".touchstone-")
        // As any other file; the default for temporary files is the owner only.
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(failed)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).with_context(failed)?;
    Ok(Staged { file, path: path.to_owned() })
}

impl Staged {
    /// Replaces the file in one step.
    ///
    /// # Errors
    ///
    /// When the file cannot be replaced.
    pub fn commit(self) -> Result<()> {
        let failed = || format!("cannot replace {}; it is as it was", self.path.display());
        self.file.persist(&self.path).with_context(failed)?;
        Ok(())
    }
}
