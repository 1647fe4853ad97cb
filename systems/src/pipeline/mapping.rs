//! A file that several processes map.

use anyhow::{Context, Result, ensure};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// A mapped file as an array of atomic words.
#[derive(Debug)]
pub(super) struct SharedWords(MmapRaw);

impl SharedWords {
    /// Creates a file of this many zero words, which only this user may open.
    pub(super) fn create(path: &Path, words: usize) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        // Allocated now: on a full file system, a later write would kill its process.
        rustix::fs::fallocate(
            &file,
            rustix::fs::FallocateFlags::empty(),
            0,
            words as u64 * size_of::<u64>() as u64,
        )
        .with_context(|| format!("cannot allocate {}", path.display()))?;
        Self::map(&file, path)
    }

    /// Maps a file of another process.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        Self::map(&file.with_context(|| format!("cannot open {}", path.display()))?, path)
    }

    fn map(file: &File, path: &Path) -> Result<Self> {
        let map = MmapOptions::new().map_raw(file);
        let map = map.with_context(|| format!("cannot map {}", path.display()))?;
        ensure!(map.len() % size_of::<u64>() == 0, "{} has another size", path.display());
        Ok(Self(map))
    }
}

impl AsRef<[AtomicU64]> for SharedWords {
    fn as_ref(&self) -> &[AtomicU64] {
        let words = self.0.len() / size_of::<u64>();
        // SAFETY: the mapping is readable and writable, begins at a page, has this many words, and
        // lives as long as `self`. This type gives no other access to it, and other processes
        // access it atomically. The file lies in a private folder; nothing shortens it.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<AtomicU64>(), words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn both_mappings_show_the_same_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let one = SharedWords::create(&path, 9).unwrap();
        let other = SharedWords::open(&path).unwrap();
        assert_eq!((one.as_ref().len(), other.as_ref().len()), (9, 9));
        one.as_ref()[8].store(5, Ordering::Relaxed);
        assert_eq!(other.as_ref()[8].load(Ordering::Relaxed), 5);
        assert!(SharedWords::create(&path, 9).is_err());
        std::fs::write(&path, [0; 7]).unwrap();
        assert!(SharedWords::open(&path).is_err());
        assert!(SharedWords::open(&folder.path().join("none")).is_err());
    }
}
