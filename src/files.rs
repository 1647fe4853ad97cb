//! Putting files on disk whole, or not at all.

use anyhow::{Context, Result, bail};
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Largest file that is read as a whole, bytes.
pub const LARGEST: u64 = 256 << 20;

/// Content of a file; `None` if there is no such file.
///
/// # Errors
///
/// Those of [`read_whole`].
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match path.try_exists() {
        Ok(false) => Ok(None),
        _ => read_whole(path).map(Some),
    }
}

/// Content of a file or of a pipe.
///
/// # Errors
///
/// When it cannot be read, is a folder or a device, or holds more than [`LARGEST`] bytes.
pub fn read_whole(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, LARGEST)
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let failed = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(failed)?;
    let kind = file.metadata().with_context(failed)?.file_type();
    // A device may have no end.
    if !kind.is_file() && !kind.is_fifo() && !kind.is_socket() {
        let kind = if kind.is_dir() { "a folder" } else { "a device" };
        bail!("cannot read {}: it is {kind}, and a file or a pipe is needed", path.display());
    }
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).with_context(failed)?;
    if content.len() as u64 > most {
        bail!("cannot read {}: it has more than {} MiB", path.display(), most >> 20);
    }
    Ok(content)
}

/// The bytes without the mark (U+FEFF) that some editors put in front of a text.
#[must_use]
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Text of a file or of a pipe.
///
/// # Errors
///
/// Those of [`read_whole`], and when it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let text = String::from_utf8(without_mark(&read_whole(path)?).to_vec());
    text.map_err(|error| error.utf8_error())
        .with_context(|| format!("cannot read {}: it is no text in UTF-8", path.display()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_folders_and_what_is_too_long_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, [0; 5]).unwrap();
        assert_eq!(read_whole(&file).unwrap(), [0; 5]);
        assert_eq!(read(&folder.path().join("none")).unwrap(), None);
        let refused = |path: &Path, most, reason: &str| {
            let error = format!("{:#}", read_at_most(path, most).unwrap_err());
            assert!(error.contains(reason), "{error}");
        };
        refused(&file, 4, "more than 0 MiB");
        refused(folder.path(), 4, "it is a folder");
        refused(Path::new("/dev/zero"), 4, "it is a device");
        std::fs::write(&file, [0xff]).unwrap();
        assert!(format!("{:#}", read_text(&file).unwrap_err()).contains("UTF-8"));
    }
}
