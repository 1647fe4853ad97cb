//! How many mappings the tracked memories of this process take, all together.
//!
//! Linux allows a process so many mappings (`vm.max_map_count`); beyond that nobody's
//! `mmap` succeeds, an allocator's neither. Each run of open pages in a memory takes
//! two, until the kernel merges them again ([`make_joinable`](super::pages::make_joinable)).
//! Above a quarter of what is allowed, memories give theirs back when they are
//! reset; above a half, none gets more of them.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Runs that a memory has at most.
pub(super) const RUNS: usize = 256;
/// Runs that a memory may have however many mappings are taken: so many do all
/// memories that are tracked at once no harm.
pub(super) const FEW_RUNS: usize = 8;
/// Mappings that a run takes: itself, and what is left of the one that it splits.
const EACH: isize = 2;
/// What Linux allows where nobody has changed it.
const USUAL: isize = 65_530;

static TAKEN: AtomicIsize = AtomicIsize::new(0);

/// Runs came to memories of this process, or went.
pub(super) fn add(runs: isize) {
    TAKEN.fetch_add(runs * EACH, Ordering::Relaxed);
}

/// Whether memories are to give back what they can do without.
#[inline]
pub(super) fn are_many() -> bool {
    TAKEN.load(Ordering::Relaxed) > *ALLOWED / 4
}

/// Whether no memory is to take more than it has to.
///
/// May be called by a handler, after [`prepare`].
pub(super) fn are_too_many() -> bool {
    TAKEN.load(Ordering::Relaxed) > *ALLOWED / 2
}

/// Runs that others take, for tests.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct Others(isize);

#[cfg(test)]
impl Others {
    /// As many that so many quarters of what is allowed are taken.
    pub(super) fn new(quarters: isize) -> Self {
        let runs = *ALLOWED * quarters / 4 / EACH + quarters.signum();
        add(runs);
        Self(runs)
    }

    /// Mappings that all memories take.
    pub(super) fn taken() -> isize {
        TAKEN.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Drop for Others {
    fn drop(&mut self) {
        add(-self.0);
    }
}

/// Reads what the system allows, so that a handler finds it read.
pub(super) fn prepare() {
    LazyLock::force(&ALLOWED);
}

static ALLOWED: LazyLock<isize> = LazyLock::new(|| {
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    allowed.and_then(|number| number.trim().parse().ok()).unwrap_or(USUAL)
});
