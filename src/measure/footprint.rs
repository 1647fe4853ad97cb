//! What this process occupies.

use crate::record::Footprint;
use std::fs::read_to_string;

/// What this process occupies now. `/proc/self/smaps_rollup` is exact; the counters in `statm`
/// and `status` lag behind by hundreds of pages. What the kernel does not report is 0.
#[must_use]
pub fn footprint() -> Footprint {
    let rollup = read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let maps = read_to_string("/proc/self/maps").unwrap_or_default();
    Footprint {
        rss_kib: kib(&rollup, "Rss"),
        pss_kib: kib(&rollup, "Pss"),
        page_tables_kib: kib(&status, "VmPTE"),
        mappings: maps.lines().count() as u64,
    }
}

/// The value of the line `<name>: <value> kB`, or 0.
fn kib(text: &str, name: &str) -> u64 {
    let value = |line: &str| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix("kB")?;
        value.trim_end().parse().ok()
    };
    text.lines().find_map(value).unwrap_or(0)
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
        // Another test may have given back as much as half of it meanwhile.
        assert!(before.rss_kib > 0 && after.rss_kib > before.rss_kib + 32 * 1024, "{after:?}");
        assert!(after.pss_kib > 32 * 1024 && after.page_tables_kib > 0 && after.mappings > 10);
    }

    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        let text = "55f0-7ffd ---p 00000000 00:00 0 [rollup]\nRss:               97436 kB\nPss:  12 kB\nPss_Dirty:  11 kB\n";
        assert_eq!((kib(text, "Rss"), kib(text, "Pss"), kib(text, "VmPTE")), (97_436, 12, 0));
    }
}
