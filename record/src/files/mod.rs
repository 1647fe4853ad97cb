//! Reading files whole, and putting them on disk whole or not at all.

mod path;
mod place;

use anyhow::{Context, Result, bail, ensure};
use path::Held;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

pub use path::{FilePath, in_words};
pub use place::{DATA, Embedded, choose, chosen, clone, commit, embed, own, project};

/// Largest file that is read as a whole, bytes.
pub const LARGEST: u64 = 256 << 20;

/// Content of a file; `None` if there is no such file.
pub fn read(place: &FilePath) -> Result<Option<Vec<u8>>> {
    if place.exists() { read_whole(place).map(Some) } else { Ok(None) }
}

/// Content of a file, or of a pipe that the user named.
/// Fails when it cannot be read, is a folder or a device, leaves the folder that it must stay in,
/// or holds more than [`LARGEST`] bytes.
pub fn read_whole(place: impl Into<FilePath>) -> Result<Vec<u8>> {
    read_at_most(&place.into(), LARGEST)
}

fn read_at_most(place: &FilePath, most: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let read = place.open()?.take(most + 1).read_to_end(&mut content);
    read.with_context(|| format!("cannot read {place}"))?;
    ensure!(
        content.len() as u64 <= most,
        "cannot read {place}: it has more than {} MiB",
        most >> 20
    );
    Ok(content)
}

/// The bytes without the mark (U+FEFF) that some editors put in front of a text.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Text in UTF-8 of a file or of a pipe.
pub fn read_text(place: impl Into<FilePath>) -> Result<String> {
    let place = place.into();
    let text = String::from_utf8(without_mark(&read_whole(&place)?).to_vec());
    text.map_err(|error| error.utf8_error())
        .with_context(|| format!("cannot read {place}: it is no text in UTF-8"))
}

/// Opens or creates a file for reading and appending. Within a folder of others it must be a
/// file of its own: not a symbolic link, and not a second name of another file.
/// Fails when it cannot be opened, or is a device or a pipe.
pub fn append_to(place: &FilePath) -> Result<File> {
    let folder = place.hold_folder()?;
    // A pipe is opened without waiting for its other end.
    let flags = rustix::fs::OFlags::NONBLOCK;
    let link = if place.is_confined() { rustix::fs::OFlags::NOFOLLOW } else { flags };
    let file = File::options()
        .create(true)
        .read(true)
        .append(true)
        .custom_flags((flags | link).bits().cast_signed())
        .open(folder.path().join(place.name()?))
        .with_context(|| format!("cannot append to {place}"))?;
    let found = file.metadata().with_context(|| format!("cannot append to {place}"))?;
    ensure!(found.is_file(), "cannot append to {place}: it is no file; name another one");
    if place.is_confined() && found.nlink() > 1 {
        bail!("cannot append to {place}: the file has a second name; remove this one");
    }
    Ok(file)
}

/// Gives a file another name, in its folder.
pub fn rename(from: &FilePath, to: &Path) -> Result<()> {
    let folder = from.hold_folder()?;
    let name = to.file_name().context("the file has no name")?;
    Ok(std::fs::rename(folder.path().join(from.name()?), folder.path().join(name))?)
}

/// Writes a file that is not there yet. A link of that name is not followed.
/// Fails when there is such a file, or it cannot be written.
pub fn create(place: &FilePath, content: &[u8]) -> Result<()> {
    let folder = place.hold_folder()?;
    let path = folder.path().join(place.name()?);
    let written = File::create_new(&path).and_then(|mut file| {
        let written = file.write_all(content);
        if written.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        written
    });
    written.with_context(|| format!("cannot write {place}"))
}

pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new content, on disk beside the file it will become.
#[derive(Debug)]
pub struct Staged {
    file: tempfile::NamedTempFile,
    folder: Held,
    place: FilePath,
}

/// Writes a content beside a file, making the folder if need be. The file itself is not touched.
pub fn stage(place: impl Into<FilePath>, content: &[u8]) -> Result<Staged> {
    let place = place.into();
    let failed = || format!("cannot write {place}; the old file is as it was");
    let folder = place.hold_folder().with_context(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".touchstone-")
        // As any other file; the default for temporary files is the owner only.
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder.path())
        .with_context(failed)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).with_context(failed)?;
    Ok(Staged { file, folder, place })
}

impl Staged {
    /// Replaces the file in one step, or the link of that name.
    pub fn commit(self) -> Result<()> {
        let Self { file, folder, place } = self;
        let replaced = file.persist(folder.path().join(place.name()?));
        // The error has the file, which goes while its folder is open.
        replaced
            .map_err(|failed| failed.error)
            .with_context(|| format!("cannot replace {place}; it is as it was"))?;
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
        assert_eq!(read(&folder.path().join("none").into()).unwrap(), None);
        let refused = |path: &Path, most, reason: &str| {
            let error = format!("{:#}", read_at_most(&path.into(), most).unwrap_err());
            assert!(error.contains(reason), "{error}");
        };
        refused(&file, 4, "more than 0 MiB");
        refused(folder.path(), 4, "it is a folder");
        refused(Path::new("/dev/zero"), 4, "it is a device");
        std::fs::write(&file, [0xff]).unwrap();
        assert!(format!("{:#}", read_text(&file).unwrap_err()).contains("UTF-8"));
    }
}
