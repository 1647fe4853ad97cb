//! The memory of this process.

/// Resident memory of this process in KiB, from `/proc/self/statm`; 0 where the kernel
/// does not say.
#[must_use]
pub fn resident_kib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * (touchstone_executor::memory::host_page() as u64 / 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn memory_that_is_written_is_resident() {
        let before = super::resident_kib();
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = super::resident_kib();
        assert!(written.iter().all(|byte| *byte == 1));
        // Another test may have given back as much as half of it meanwhile.
        assert!(before > 0 && after > before + 32 * 1024, "{before} to {after}");
    }
}
