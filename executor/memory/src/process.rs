//! Telling a child of a `fork` from its parent.

use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of this process, in a page that the kernel fills with zeros in each child.
static PLACE: LazyLock<Option<&'static AtomicU64>> = LazyLock::new(wiped_by_fork);
/// The highest number so far. A child starts with that of its parent.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A number that this process has and none that it was forked from; `None` where the
/// kernel does not wipe pages on a fork.
#[inline]
pub(super) fn number() -> Option<u64> {
    let place = (*PLACE)?;
    let number = place.load(Ordering::Acquire);
    Some(if number == 0 { assign(place) } else { number })
}

#[cold]
fn assign(place: &AtomicU64) -> u64 {
    let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    // Another thread may have been faster.
    place.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire).err().unwrap_or(next)
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
