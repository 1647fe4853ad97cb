//! A state of the host that many guests read in place.
//!
//! The region is a file in memory with one writable mapping, the host's; the file is sealed, so
//! that no other one can be made. Each guest has it at the end of its linear memory, read-only. A
//! guest that writes there gets a fault, which its runtime makes a trap: the page is in no tracked
//! memory, so Touchstone's handler passes the fault on.

use super::addresses::Addresses;
use super::exclusive::Exclusive;
use super::host_page;
use crate::error::{Error, Result};
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, OwnedFd};

/// Length of a region is a multiple of this, bytes: guests count their memories in such pages.
const UNIT: usize = 64 << 10;

/// Bytes that the host writes and guests read, at the end of their memories.
#[derive(Debug)]
pub struct Region {
    file: OwnedFd,
    length: usize,
    /// The mapping that can be written. The lock is that of writers: guests do not take it.
    own: Mutex<Addresses>,
}

impl Region {
    /// A region of at least `length` bytes, all zero: whole units of 64 KiB, at least one. Fails
    /// when the system has no memory or file descriptors left, or cannot seal the file (Linux 5.1
    /// or newer can).
    pub fn new(length: usize) -> Result<Self> {
        let length = length.max(1).next_multiple_of(UNIT.max(host_page()));
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("touchstone-region", flags)
            .map_err(Error::system("cannot make a file in memory for a shared region"))?;
        rustix::fs::ftruncate(&file, length as u64)
            .map_err(Error::system("cannot size a shared region"))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let own = Addresses::new(length, protection, MapFlags::SHARED, Some((file.as_fd(), 0)))
            .map_err(Error::system("cannot map a shared region"))?;
        let own = Mutex::new(own);
        // After the mapping of the host's own, which stays writable.
        let seals = SealFlags::SEAL | SealFlags::FUTURE_WRITE | SealFlags::GROW | SealFlags::SHRINK;
        rustix::fs::fcntl_add_seals(&file, seals)
            .map_err(Error::system("cannot seal a shared region"))?;
        Ok(Self { file, length, own })
    }

    /// Its size, bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Writes bytes to its start; what does not fit is left out. A guest that reads at the same
    /// time sees some old and some new bytes.
    pub fn write(&self, bytes: &[u8]) {
        let own = self.own.lock();
        let length = bytes.len().min(self.length);
        // SAFETY: the mapping has `length` writable bytes. Only writers access it, under the
        // lock; guests read the pages at other addresses. `bytes` cannot be a part of it, because
        // nobody gets a slice of it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), own.start(), length) };
    }

    /// Maps it over a memory from a page on, read-only.
    pub(super) fn map_over(&self, memory: &mut Exclusive<'_>, start: usize) -> Result<()> {
        memory
            .map(&(start..start + self.length), &self.file, ProtFlags::READ, MapFlags::SHARED, 0)
            .map_err(Error::system("cannot map a shared region into a memory"))
    }
}
