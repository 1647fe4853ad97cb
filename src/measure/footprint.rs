//! Memory of this process.

use crate::proc::kib;
use crate::record::Footprint;
use std::fs::read_to_string;

/// The current memory of this process. `/proc/self/smaps_rollup` is exact; the counters in `statm`
/// and `status` lag behind by hundreds of pages. Values that the kernel does not report are 0.
pub fn footprint() -> Footprint {
    let rollup = rollup();
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let maps = read_to_string("/proc/self/maps").unwrap_or_default();
    Footprint {
        rss_kib: kib(&rollup, "Rss").unwrap_or(0),
        pss_kib: kib(&rollup, "Pss").unwrap_or(0),
        page_tables_kib: kib(&status, "VmPTE").unwrap_or(0),
        mappings: maps.lines().count() as u64,
    }
}

/// Resident memory of this process, KiB, as in [`footprint`] without the rest.
pub fn resident_kib() -> u64 {
    kib(&rollup(), "Rss").unwrap_or(0)
}

fn rollup() -> String {
    read_to_string("/proc/self/smaps_rollup").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_is_resident() {
        let before = footprint();
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = footprint();
        assert!(written.iter().all(|byte| *byte == 1));
        // Another test may have freed as much as half of it meanwhile.
        assert!(resident_kib() > 0);
        assert!(before.rss_kib > 0 && after.rss_kib > before.rss_kib + 32 * 1024, "{after:?}");
        assert!(after.pss_kib > 32 * 1024 && after.page_tables_kib > 0 && after.mappings > 10);
    }
}
