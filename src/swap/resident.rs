//! The memory of this process.

/// Resident memory of this process in KiB, from `/proc/self/smaps_rollup`, which counts
/// pages; the counters of `statm` and `status` lag behind by some hundreds of them. 0
/// where the kernel does not say.
#[must_use]
pub fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    text.lines().find_map(rss).unwrap_or(0)
}

/// The KiB of the line that says what is resident.
fn rss(line: &str) -> Option<u64> {
    line.strip_prefix("Rss:")?.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_is_resident() {
        let before = resident_kib();
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_kib();
        assert!(written.iter().all(|byte| *byte == 1));
        // Another test may have given back as much as half of it meanwhile.
        assert!(before > 0 && after > before + 32 * 1024, "{before} to {after}");
    }

    #[test]
    fn the_line_is_read_as_the_kernel_writes_it() {
        assert_eq!(rss("Rss:               97436 kB"), Some(97_436));
        assert_eq!(rss("Pss:               97436 kB"), None);
    }
}
