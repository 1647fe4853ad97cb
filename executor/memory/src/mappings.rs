//! The number of mappings that the memories of this process take together.
//!
//! Linux allows a process so many mappings (`vm.max_map_count`); beyond that no `mmap` succeeds, an
//! allocator's neither. Each run of open pages in a memory takes two, until the kernel merges them
//! again ([`make_joinable`](super::exclusive::Exclusive::make_joinable)). Above a quarter of the
//! limit, memories give theirs back when they are reset; above a half, none gets more. A new memory
//! has to leave a sixteenth to the rest of the process, one that begins to grow half of that. The
//! mappings of the rest are counted now and then.

use std::io::Read;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Runs that a memory has at most.
pub(super) const RUNS: usize = 256;
/// Runs that a memory may have however many mappings are taken: so many do all
/// memories that are tracked at once no harm.
pub(super) const FEW_RUNS: usize = 8;
/// Mappings that a run takes: itself, and what is left of the one that it splits.
const EACH: isize = 2;
/// The default of Linux.
const USUAL: isize = 65_530;
/// When memories have taken such a part more, others are counted again: less than is left to them.
const LOOK: isize = 32;

/// Mappings that runs take.
static TAKEN: AtomicIsize = AtomicIsize::new(0);
/// Mappings that memories take whatever is written to them.
static HELD: AtomicIsize = AtomicIsize::new(0);
/// All other mappings of the process when they were counted last, and the value of [`HELD`] at
/// which they are counted next.
static OTHERS: AtomicIsize = AtomicIsize::new(0);
static NEXT_LOOK: AtomicIsize = AtomicIsize::new(0);

/// Runs came to memories of this process, or went.
pub(super) fn add(runs: isize) {
    TAKEN.fetch_add(runs * EACH, Ordering::Relaxed);
}

/// A memory takes so many mappings, or gives them back. Returns `true` if the rest of the process
/// then still has such a part of all that are allowed.
pub(super) fn hold(mappings: isize, part: isize) -> bool {
    let all = HELD.fetch_add(mappings, Ordering::Relaxed) + mappings;
    if mappings <= 0 {
        return true;
    }
    if all >= NEXT_LOOK.load(Ordering::Relaxed) {
        count_others(all);
    }
    let fits = || {
        let others = OTHERS.load(Ordering::Relaxed);
        all <= *ALLOWED - *ALLOWED / part - TAKEN.load(Ordering::Relaxed) - others
    };
    if !fits() && OTHERS.load(Ordering::Relaxed) > 0 {
        // They may be fewer by now.
        count_others(all);
    }
    fits()
}

/// Counts the mappings of the process that are not memories'. Takes a microsecond for each, and no
/// memory.
#[cold]
fn count_others(held: isize) {
    NEXT_LOOK.store(held + *ALLOWED / LOOK, Ordering::Relaxed);
    let Ok(mut maps) = std::fs::File::open("/proc/self/maps") else { return };
    let (mut count, mut part) = (0, [0; 8192]);
    while let Ok(length @ 1..) = maps.read(&mut part) {
        count += part[..length].iter().filter(|byte| **byte == b'\n').count() as isize;
    }
    let known = held + TAKEN.load(Ordering::Relaxed);
    OTHERS.store((count - known).max(0), Ordering::Relaxed);
}

/// `true` if memories are to give back what they can do without.
#[inline]
pub(super) fn are_many() -> bool {
    is_above_quarters(1, TAKEN.load(Ordering::Relaxed), *ALLOWED)
}

/// `true` if no memory is to take more than it has to. May be called by a handler, after
/// [`prepare`].
pub(super) fn are_too_many() -> bool {
    is_above_quarters(2, TAKEN.load(Ordering::Relaxed), *ALLOWED)
}

/// `true` if more than so many quarters of the allowed mappings are taken.
#[inline]
fn is_above_quarters(quarters: isize, taken: isize, allowed: isize) -> bool {
    taken > allowed / 4 * quarters
}

/// Reads what the system allows, so that a handler does not have to.
pub(super) fn prepare() {
    LazyLock::force(&ALLOWED);
}

static ALLOWED: LazyLock<isize> = LazyLock::new(|| {
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    allowed.and_then(|number| number.trim().parse().ok()).unwrap_or(USUAL)
});

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;

    /// Runs that others take.
    #[derive(Debug)]
    pub(in super::super) struct Others(isize);

    impl Others {
        /// As many that so many quarters of what is allowed are taken.
        pub(in super::super) fn new(quarters: isize) -> Self {
            let runs = *ALLOWED * quarters / 4 / EACH + quarters.signum();
            add(runs);
            Self(runs)
        }

        /// Mappings that all memories take for what was written to them.
        pub(in super::super) fn taken() -> isize {
            TAKEN.load(Ordering::Relaxed)
        }
    }

    impl Drop for Others {
        fn drop(&mut self) {
            add(-self.0);
        }
    }

    /// Mappings that memories take whatever is written to them.
    pub(in super::super) fn held() -> isize {
        HELD.load(Ordering::Relaxed)
    }

    #[test]
    fn many_is_more_than_a_quarter_and_too_many_more_than_a_half() {
        for (taken, many, too_many) in [(0, false, false), (25, false, false), (26, true, false)] {
            assert_eq!(is_above_quarters(1, taken, 100), many, "{taken}");
            assert_eq!(is_above_quarters(2, taken, 100), too_many, "{taken}");
        }
        assert!(!is_above_quarters(2, 50, 100) && is_above_quarters(2, 51, 100));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads a file of the system")]
    fn what_is_allowed_is_what_the_system_says() {
        let said = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        prepare();
        assert_eq!(LazyLock::get(&ALLOWED).copied(), said.trim().parse().ok());
    }
}
