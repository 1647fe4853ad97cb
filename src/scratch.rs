//! Temporary folders that go also when their process was killed.
//!
//! A folder holds a locked file. The kernel unlocks it when the process ends, however it ends, and
//! the next process that makes such a folder removes those that nobody has locked.

use anyhow::{Context, Result};
use std::fs::{DirEntry, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// The start of the name of each folder.
const PREFIX: &str = "touchstone-";
/// The locked file.
const LOCK: &str = ".lock";

/// A private folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder where temporary files are.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn new() -> Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    /// Makes a folder in shared memory, or wherever temporary files are.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    #[cfg(feature = "systems")]
    pub fn in_shared_memory() -> Result<Self> {
        Self::inside(Path::new("/dev/shm")).or_else(|_| Self::new())
    }

    fn inside(parent: &Path) -> Result<Self> {
        remove_left(parent);
        let make = || {
            let private = Permissions::from_mode(0o700);
            let folder =
                tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
            // Has its name only when it is locked, so that nobody finds it unlocked.
            let unnamed = folder.path().join(".unlocked");
            let lock = File::create_new(&unnamed)?;
            lock.try_lock()?;
            std::fs::rename(unnamed, folder.path().join(LOCK))?;
            std::io::Result::Ok(Self { folder, _lock: lock })
        };
        make().with_context(|| format!("cannot make a temporary folder; {}", remedy(parent)))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What to do where temporary files cannot be written.
#[must_use]
pub fn remedy(folder: &Path) -> String {
    format!(
        "set TMPDIR to a folder that can be written and has free space, instead of {}",
        folder.display()
    )
}

/// Removes the folders of processes that were killed. One that cannot be removed stays.
fn remove_left(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for left in entries.filter(is_left) {
        let _ = std::fs::remove_dir_all(left.path());
    }
}

/// Whether this is the folder of a process of this user that has ended.
fn is_left(entry: &DirEntry) -> bool {
    let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
    is_named
        && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user())
        && File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_named_with_the_remedy() {
        let error = format!("{:#}", Scratch::inside(Path::new("/proc/self")).unwrap_err());
        assert!(error.contains("set TMPDIR") && error.contains("instead of /proc/self"), "{error}");
    }

    #[test]
    fn the_folder_of_a_killed_process_goes_with_the_next_one() {
        let parent = tempfile::tempdir().unwrap();
        let killed = Scratch::inside(parent.path()).unwrap();
        std::fs::write(killed.path().join("artifact"), "code").unwrap();
        let others = ["touchstone-without-a-lock", "somebody-elses"].map(|name| {
            let folder = parent.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        });
        File::create_new(others[1].join(LOCK)).unwrap();

        let alive = Scratch::inside(parent.path()).unwrap();
        assert!(killed.path().exists());
        // A killed process removes nothing, and its locks go.
        let Scratch { folder, _lock: lock } = killed;
        let killed = folder.keep();
        drop(lock);
        let next = Scratch::inside(parent.path()).unwrap();
        assert!(!killed.exists());
        for folder in [alive.path(), next.path(), &others[0], &others[1]] {
            assert!(folder.exists(), "{}", folder.display());
        }
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
