//! Paths beneath a folder: the kernel resolves them, and they never leave it.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};
use std::path::Path;

/// `..`, absolute paths and symbolic links must not leave the folder.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// How often a path is resolved again when a directory was moved meanwhile.
const RETRIES: usize = 16;

/// Opens a path beneath a folder. The errors are those of the kernel: [`Errno::XDEV`] if the path
/// leaves the folder.
pub fn open(folder: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    for _ in 0..RETRIES {
        match fs::openat2(folder.as_fd(), path, flags, Mode::empty(), BENEATH) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a file or directory beneath a folder for reading, and names its kind. Other kinds of files
/// (devices, pipes, sockets) are only found, because opening one can wait or have effects. The
/// errors are those of [`open`]; [`Errno::AGAIN`] if another file took the name meanwhile.
pub fn read(folder: impl AsFd, path: &Path, link: OFlags) -> Result<(OwnedFd, FileType)> {
    let kind = |fd: &OwnedFd| fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    let found = open(&folder, path, OFlags::PATH | link)?;
    let seen = kind(&found)?;
    if !matches!(seen, FileType::Directory | FileType::RegularFile) {
        return Ok((found, seen));
    }
    let opened = open(&folder, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | link)?;
    if kind(&opened)? == seen { Ok((opened, seen)) } else { Err(Errno::AGAIN) }
}
