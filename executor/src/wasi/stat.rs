//! The records that tell guests about descriptors and files.

use super::files::{Open, file_type};
use super::guest::{Answer, Guest, offset};
use super::state::Descriptor;
use rustix::fs::{FileType, Stat};

/// Rights of a descriptor, one bit each.
mod rights {
    pub(super) const READ: u64 = 1 << 1;
    pub(super) const SEEK: u64 = 1 << 2;
    pub(super) const TELL: u64 = 1 << 5;
    pub(super) const WRITE: u64 = 1 << 6;
    pub(super) const ADVISE: u64 = 1 << 7;
    pub(super) const OPEN: u64 = 1 << 13;
    pub(super) const READDIR: u64 = 1 << 14;
    pub(super) const READLINK: u64 = 1 << 15;
    pub(super) const PATH_STAT: u64 = 1 << 18;
    pub(super) const STAT: u64 = 1 << 21;
    pub(super) const POLL: u64 = 1 << 27;
    pub(super) const FILE: u64 = READ | SEEK | TELL | ADVISE | STAT | POLL;
    pub(super) const DIRECTORY: u64 = OPEN | READDIR | READLINK | PATH_STAT | STAT;
}

/// The right to write, which is never given for files.
pub(super) const WRITE: u64 = rights::WRITE;

/// WASI's number of a kind of file.
pub(super) fn kind(ty: FileType) -> u8 {
    match ty {
        FileType::BlockDevice => 1,
        FileType::CharacterDevice => 2,
        FileType::Directory => 3,
        FileType::RegularFile => 4,
        FileType::Socket => 6,
        FileType::Symlink => 7,
        _ => 0,
    }
}

impl Descriptor {
    /// The kind of file, rights, and rights of what is opened beneath.
    fn status(&self) -> (u8, u64, u64) {
        match self {
            Self::Input => (0, rights::READ | rights::POLL, 0),
            Self::Output | Self::Error => (0, rights::WRITE | rights::POLL, 0),
            Self::Open(open) if open.is_directory() => {
                (kind(FileType::Directory), rights::DIRECTORY, rights::DIRECTORY | rights::FILE)
            }
            Self::Open(_) => (kind(FileType::RegularFile), rights::FILE, 0),
        }
    }

    /// Writes `fdstat`.
    pub(super) fn write_status(&self, guest: &mut Guest<'_>, pointer: u32) -> Answer<()> {
        let (ty, base, inheriting) = self.status();
        let mut record = [0; 24];
        record[0] = ty;
        record[8..16].copy_from_slice(&base.to_le_bytes());
        record[16..].copy_from_slice(&inheriting.to_le_bytes());
        guest.write(pointer, &record)
    }

    /// Writes `filestat`.
    pub(super) fn write_file_status(&self, guest: &mut Guest<'_>, pointer: u32) -> Answer<()> {
        match self {
            Self::Open(open) => write_stat(guest, pointer, &open.stat()?),
            _ => guest.write(pointer, &[0; 64]),
        }
    }
}

/// Writes `filestat`. All three times are that of the last change, because reading a file must
/// not change what later calls see. The device is 0.
pub(super) fn write_stat(guest: &mut Guest<'_>, pointer: u32, stat: &Stat) -> Answer<()> {
    let modified = nanoseconds(stat);
    let mut record = [0; 64];
    let fields = [
        (8, stat.st_ino),
        (16, u64::from(kind(file_type(stat)))),
        (24, stat.st_nlink),
        (32, u64::try_from(stat.st_size).unwrap_or(0)),
        (40, modified),
        (48, modified),
        (56, modified),
    ];
    for (at, value) in fields {
        record[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    guest.write(pointer, &record)
}

/// Time of the last change; 0 for one before 1970. The fields' types are those of rustix's
/// backend, which other crates of a build may choose.
fn nanoseconds(stat: &Stat) -> u64 {
    let time = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
    u64::try_from(time.max(0)).unwrap_or(u64::MAX)
}

/// Writes entries from `cookie` on, as many as fit, the last one perhaps in part. Gives the
/// bytes written.
pub(super) fn write_entries(
    guest: &mut Guest<'_>,
    open: &mut Open,
    (pointer, length): (u32, u32),
    cookie: u64,
) -> Answer<u32> {
    let entries = open.entries()?;
    let mut written = 0;
    let first = usize::try_from(cookie).unwrap_or(usize::MAX);
    guest.bytes((pointer, length))?;
    for (index, entry) in entries.iter().enumerate().skip(first) {
        let mut record = [0; 24];
        record[..8].copy_from_slice(&(index as u64 + 1).to_le_bytes());
        record[8..16].copy_from_slice(&entry.inode.to_le_bytes());
        record[16..20].copy_from_slice(&(entry.name.len() as u32).to_le_bytes());
        record[20] = kind(entry.ty);
        for part in [&record[..], &entry.name] {
            let room = (length - written) as usize;
            let part = &part[..part.len().min(room)];
            guest.write(offset(pointer, written)?, part)?;
            written += part.len() as u32;
        }
        if written == length {
            break;
        }
    }
    Ok(written)
}
