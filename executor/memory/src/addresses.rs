//! A mapping that one value owns.

use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::BorrowedFd;

/// Addresses that are unmapped when this is dropped. They never move.
#[derive(Debug)]
pub(super) struct Addresses {
    start: *mut u8,
    length: usize,
}

// SAFETY: the mapping is this value's own, and nothing about it belongs to a thread. Whoever
// accesses the bytes makes sure that nobody else does.
unsafe impl Send for Addresses {}
// SAFETY: through a shared reference only plain numbers are given out.
unsafe impl Sync for Addresses {}

impl Addresses {
    /// A new mapping where the kernel chooses, of a file from an offset on or of none: `flags` are
    /// not to name a place. Fails when the system has no memory, mappings or addresses left.
    pub(super) fn new(
        length: usize,
        protection: ProtFlags,
        flags: MapFlags,
        file: Option<(BorrowedFd<'_>, usize)>,
    ) -> rustix::io::Result<Self> {
        let any = std::ptr::null_mut();
        // SAFETY: the kernel chooses addresses that nobody uses.
        let start = unsafe {
            match file {
                Some((file, offset)) => {
                    rustix::mm::mmap(any, length, protection, flags, file, offset as u64)
                }
                None => rustix::mm::mmap_anonymous(any, length, protection, flags),
            }
        }?;
        Ok(Self { start: start.cast(), length })
    }

    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `new`, and nobody else has it. It cannot fail
        // for a range that was mapped as a whole.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.length) };
    }
}
