//! Telling a child of a `fork` from its parent.

use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The number of this process, in a page that the kernel fills with zeros in each child.
static PLACE: LazyLock<Option<&'static AtomicU64>> = LazyLock::new(wiped_by_fork);
/// The highest number so far. A child starts with that of its parent.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A number that this process has and none that it was forked from; `None` where the
/// kernel does not wipe pages on a fork.
#[inline]
pub(super) fn number() -> Option<u64> {
    let place = (*PLACE)?;
    match place.load(Ordering::Acquire) {
        0 => Some(assign(place)),
        number => Some(number),
    }
}

#[cold]
fn assign(place: &AtomicU64) -> u64 {
    let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    // Another thread may have been faster.
    match place.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => next,
        Err(number) => number,
    }
}

fn wiped_by_fork() -> Option<&'static AtomicU64> {
    let (length, any) = (super::host_page(), std::ptr::null_mut());
    // SAFETY: a new mapping at an address of the kernel's choice, which stays for ever. It
    // is all zero, a valid `AtomicU64`.
    unsafe {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        let place = rustix::mm::mmap_anonymous(any, length, rights, MapFlags::PRIVATE).ok()?;
        rustix::mm::madvise(place, length, Advice::LinuxWipeOnFork).ok()?;
        Some(&*place.cast::<AtomicU64>())
    }
}

/// A file that tells about the process which opened it. The child of a fork inherits that
/// of its parent, and opens one of its own when it needs it.
#[derive(Debug)]
pub(super) struct OwnFile {
    open: fn() -> io::Result<OwnedFd>,
    file: AtomicI32,
    /// The process that it is of.
    process: AtomicU64,
}

impl OwnFile {
    /// Opens it for this process.
    pub(super) fn new(open: fn() -> io::Result<OwnedFd>) -> io::Result<Self> {
        let process = AtomicU64::new(number().ok_or(io::ErrorKind::Unsupported)?);
        Ok(Self { open, file: AtomicI32::new(open()?.into_raw_fd()), process })
    }

    /// That of this process.
    #[inline]
    pub(super) fn get(&self) -> io::Result<BorrowedFd<'_>> {
        let process = number().ok_or(io::ErrorKind::Unsupported)?;
        let file = match self.process.load(Ordering::Acquire) == process {
            true => self.file.load(Ordering::Acquire),
            false => self.open_again(process)?,
        };
        // SAFETY: it was opened by `new` or `open_again`, and nothing closes it.
        Ok(unsafe { BorrowedFd::borrow_raw(file) })
    }

    #[cold]
    fn open_again(&self, process: u64) -> io::Result<RawFd> {
        let own = (self.open)()?.into_raw_fd();
        // What was there stays open: another thread may have opened it a moment ago.
        self.file.store(own, Ordering::Release);
        self.process.store(process, Ordering::Release);
        Ok(own)
    }
}
