//! Temporary folders that go also when their process was killed.
//!
//! A folder holds a locked file. The kernel unlocks it when the process ends, however it ends, and
//! the next process that makes such a folder first removes those that nobody has locked. It looks
//! for them once, because there may be many temporary files. A folder gets its name when it is
//! locked.

use crate::error::{Error, Result};
use std::fs::{DirEntry, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The start of the name of each folder.
const PREFIX: &str = "touchstone-";
/// The end of the name of a folder that is not locked yet.
const UNLOCKED: &str = ".unlocked";
/// The locked file.
const LOCK: &str = ".lock";
/// How often a folder is made that other processes take for one that was left.
const TRIES: usize = 10;

/// A private folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    lock: File,
}

impl Scratch {
    /// Makes a folder where temporary files are. Fails if it cannot be made.
    pub fn new() -> Result<Self> {
        static CLEANED: Once = Once::new();
        Self::after(&CLEANED, &std::env::temp_dir())
    }

    /// Makes a folder in shared memory, or else as [`new`](Self::new) does.
    pub fn in_shared_memory() -> Result<Self> {
        static CLEANED: Once = Once::new();
        Self::after(&CLEANED, Path::new("/dev/shm")).or_else(|_| Self::new())
    }

    /// Makes a folder, after those of killed processes are gone.
    fn after(cleaned: &Once, parent: &Path) -> Result<Self> {
        cleaned.call_once(|| remove_left(parent));
        Self::inside(parent)
    }

    fn inside(parent: &Path) -> Result<Self> {
        let is_taken = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
        };
        let mut made = Self::make(parent);
        for _ in 1..TRIES {
            if made.as_ref().is_err_and(&is_taken) {
                made = Self::make(parent);
            }
        }
        // The system's own message has the folder's random name.
        made.map_err(|error| {
            let words = format!("{}; {}", error.kind(), remedy(parent));
            let cause = io::Error::new(error.kind(), words);
            Error::System { action: "cannot make a temporary folder", cause }
        })
    }

    fn make(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(UNLOCKED).permissions(Permissions::from_mode(0o700));
        let unlocked = builder.tempdir_in(parent)?;
        let lock = File::create_new(unlocked.path().join(LOCK))?;
        lock.try_lock()?;
        let folder = unlocked.path().with_extension("");
        std::fs::rename(unlocked.path(), &folder)?;
        let _ = unlocked.keep();
        Ok(Self { folder, lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // One that cannot be removed now goes with a later process.
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = self.lock.unlock();
    }
}

/// The words for what to do where temporary files cannot be written.
pub fn remedy(folder: &Path) -> String {
    format!(
        "set TMPDIR to a folder that can be written and has free space, instead of {}",
        folder.display()
    )
}

/// Removes the folders of processes that were killed. One that cannot be removed stays.
fn remove_left(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(is_ours) {
        let folder = entry.path();
        if let Ok(lock) = File::open(folder.join(LOCK)) {
            // Locked until it is gone, so that a process that is making it does not use it.
            if lock.try_lock().is_ok() {
                let _ = std::fs::remove_dir_all(folder);
            }
        } else if entry.file_name().as_encoded_bytes().ends_with(UNLOCKED.as_bytes()) {
            // Only an empty one.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// `true` for a folder of this user with a name as [`Scratch`] gives it.
fn is_ours(entry: &DirEntry) -> bool {
    let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
    let user = rustix::process::geteuid().as_raw();
    is_named && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "reads folders")]
    fn a_folder_that_cannot_be_written_is_named_with_the_remedy() {
        let error = Scratch::inside(Path::new("/proc/self")).unwrap_err().to_string();
        assert!(error.contains("set TMPDIR") && error.contains("instead of /proc/self"), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "locks files")]
    fn the_folder_of_a_killed_process_goes_with_the_next_one() {
        let parent = tempfile::tempdir().unwrap();
        let killed = Scratch::inside(parent.path()).unwrap();
        std::fs::write(killed.path().join("artifact"), "code").unwrap();
        // A process was killed before it could lock its folder, another one before that.
        let [early, earlier, others @ ..] = [
            "touchstone-early.unlocked",
            "touchstone-earlier.unlocked",
            "touchstone-without-a-lock",
            "somebody-elses",
        ]
        .map(|name| {
            let folder = parent.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        });
        File::create_new(early.join(LOCK)).unwrap();
        File::create_new(others[1].join(LOCK)).unwrap();

        let next = || {
            remove_left(parent.path());
            Scratch::inside(parent.path()).unwrap()
        };
        let alive = next();
        assert!(killed.path().exists() && !early.exists() && !earlier.exists());
        // A killed process removes nothing, and its locks go.
        killed.lock.unlock().unwrap();
        let next = next();
        assert!(!killed.path().exists());
        for folder in [alive.path(), next.path(), &others[0], &others[1]] {
            assert!(folder.exists(), "{}", folder.display());
        }
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
