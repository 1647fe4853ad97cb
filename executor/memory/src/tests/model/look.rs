//! State of a memory as the kernel shows it, without touching it.

use super::world::World;
use crate::exclusive::Exclusive;
use crate::mappings::{FEW_RUNS, RUNS};
use crate::tests::test_support::own_bytes;
use crate::{ResetMethod, pagemap_scan_available};

/// Mappings that a clean memory takes at most: the parts of its image and the gaps between
/// them, what is closed, and two for each run of open pages.
pub(super) fn most_mappings(world: &World, parts: usize) -> usize {
    let runs = match world.reset {
        ResetMethod::Tracked { .. } if world.crowd > 0 => FEW_RUNS,
        ResetMethod::Tracked { .. } => RUNS,
        _ => 0,
    };
    2 * parts + 4 + 2 * runs
}

/// Checks what stays resident of a memory of so many open bytes, unless it is locked.
pub(super) fn check_resident(base: *mut u8, size: usize, most: usize) {
    // SAFETY: a memory of the caller's row, of so many bytes.
    let memory = unsafe { Exclusive::new(base, size, size) };
    if pagemap_scan_available() && !memory.is_locked(&(0..size)) {
        let base = base as usize;
        let own = own_bytes(base, size);
        assert!(own <= most, "{own} bytes are resident, at most {most} may be");
    }
}
