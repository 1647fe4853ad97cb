//! The directory that is handed in, and what is opened beneath it, read-only.

use super::guest::{Answer, Errno};
use crate::error::{Error, Result};
use crate::harness::beneath;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno as System;
use std::path::Path;
use std::sync::Arc;

/// Most entries of a directory that can be listed.
const MOST_ENTRIES: usize = 1 << 16;

/// A directory that programs can read.
#[derive(Debug, Clone)]
pub struct Directory(Arc<OwnedFd>);

impl Directory {
    /// Opens a directory of the host. Fails when there is no such directory, or it cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = fs::openat(CWD, path, flags, Mode::empty());
        opened
            .map(|fd| Self(Arc::new(fd)))
            .map_err(Error::system("open the directory of the program"))
    }

    /// The directory as a path of this process, for as long as this value lives.
    pub fn path(&self) -> std::path::PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    /// The directory as an open file.
    pub(super) fn preopened(&self) -> Open {
        let kind = Kind::Directory { listing: None, preopened: true };
        Open { fd: Arc::clone(&self.0), kind }
    }
}

/// An open directory or file. Clones share the host's descriptor, whose own offset is never used.
#[derive(Debug, Clone)]
pub(super) struct Open {
    fd: Arc<OwnedFd>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    File {
        offset: u64,
    },
    Directory {
        /// The entries, read when they are first asked for.
        listing: Option<Arc<[Entry]>>,
        preopened: bool,
    },
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) inode: u64,
    pub(super) ty: FileType,
}

impl Open {
    /// Opens a path beneath this directory.
    fn beneath(&self, path: &str, flags: OFlags) -> Answer<OwnedFd> {
        if !self.is_directory() {
            return Err(Errno::NotDirectory);
        }
        Ok(beneath::open(&self.fd, path.as_ref(), flags)?)
    }

    /// Opens a file or directory. Other kinds of files are refused.
    pub(super) fn open(&self, path: &str, follow: bool, directory: bool) -> Answer<Self> {
        if !self.is_directory() {
            return Err(Errno::NotDirectory);
        }
        let link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let (fd, found) = beneath::read(&self.fd, path.as_ref(), link)?;
        let kind = match found {
            FileType::Directory => Kind::Directory { listing: None, preopened: false },
            FileType::RegularFile if directory => return Err(Errno::NotDirectory),
            FileType::RegularFile => Kind::File { offset: 0 },
            FileType::Symlink => return Err(Errno::Loop),
            _ => return Err(Errno::Access),
        };
        Ok(Self { fd: Arc::new(fd), kind })
    }

    /// The state of a path beneath this directory.
    pub(super) fn stat_beneath(&self, path: &str, follow: bool) -> Answer<Stat> {
        let link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let seen = self.beneath(path, OFlags::PATH | link)?;
        Ok(fs::fstat(&seen)?)
    }

    /// The text of a symbolic link beneath this directory.
    pub(super) fn read_link(&self, path: &str) -> Answer<Vec<u8>> {
        let link = self.beneath(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        match fs::readlinkat(&link, "", Vec::new()) {
            Ok(text) => Ok(text.into_bytes()),
            // What the kernel says of a file that is no link.
            Err(System::NOENT) => Err(Errno::Invalid),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn stat(&self) -> Answer<Stat> {
        Ok(fs::fstat(&self.fd)?)
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory { .. })
    }

    pub(super) fn is_preopened(&self) -> bool {
        matches!(self.kind, Kind::Directory { preopened: true, .. })
    }

    /// Reads from a file at an offset; 0 bytes at its end.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize> {
        if self.is_directory() {
            return Err(Errno::IsDirectory);
        }
        loop {
            match rustix::io::pread(&self.fd, &mut *buffer, offset) {
                Err(System::INTR) => {}
                read => return read.map_err(Errno::from),
            }
        }
    }

    pub(super) fn offset(&mut self) -> Answer<&mut u64> {
        match &mut self.kind {
            Kind::File { offset } => Ok(offset),
            Kind::Directory { .. } => Err(Errno::IsDirectory),
        }
    }

    /// The entries of a directory, sorted by name.
    pub(super) fn entries(&mut self) -> Answer<Arc<[Entry]>> {
        let fd = Arc::clone(&self.fd);
        let Kind::Directory { listing, .. } = &mut self.kind else {
            return Err(Errno::NotDirectory);
        };
        if let Some(entries) = listing {
            return Ok(Arc::clone(entries));
        }
        let entries: Arc<[Entry]> = list(fd.as_fd())?.into();
        *listing = Some(Arc::clone(&entries));
        Ok(entries)
    }
}

/// Lists a directory. The entry `..` has the number of the directory itself, so that nothing of
/// the directory above is told.
fn list(fd: BorrowedFd<'_>) -> Answer<Vec<Entry>> {
    let own = fs::fstat(fd)?.st_ino;
    let mut entries = Vec::new();
    // `read_from` opens the directory again, with an offset of its own.
    for entry in Dir::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes().to_vec();
        let inode = if name == b".." { own } else { entry.ino() };
        entries.push(Entry { name, inode, ty: entry.file_type() });
        if entries.len() > MOST_ENTRIES {
            return Err(Errno::Overflow);
        }
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
