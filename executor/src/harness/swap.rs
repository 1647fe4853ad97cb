//! Swapping memory out, as the kernel does when memory is short.

use rustix::mm::Advice;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use touchstone_memory::host_page;

/// Bit of an entry of `/proc/self/pagemap`: the page is swapped out.
const SWAPPED: u64 = 1 << 62;

/// Free swap space of the machine in bytes; 0 if it has none.
pub fn swap_space() -> u64 {
    let read = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = read.lines().find_map(|line| line.strip_prefix("SwapFree:"));
    let number = free.and_then(|free| free.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// Asks the kernel to swap out the whole pages of a memory (`MADV_PAGEOUT`). Their content stays.
/// Returns the number of pages that are swapped out afterwards. Fails when the kernel does not know
/// the request, or does not show the page map.
pub fn swap_out(bytes: &[u8]) -> io::Result<usize> {
    let page = host_page();
    let start = bytes.as_ptr().addr().next_multiple_of(page);
    let length = ((bytes.as_ptr().addr() + bytes.len()).saturating_sub(start)) / page * page;
    if length == 0 {
        return Ok(0);
    }
    let place = bytes.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: whole pages of a borrowed memory. Their content and protection stay the same.
    unsafe { rustix::mm::madvise(place, length, Advice::LinuxPageOut) }?;
    let mut entries = vec![0; length / page * 8];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entries, (start / page * 8) as u64)?;
    let entries = entries.as_chunks::<8>().0.iter().map(|entry| u64::from_ne_bytes(*entry));
    Ok(entries.filter(|entry| entry & SWAPPED != 0).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "needs madvise and the page map")]
    fn what_is_swapped_out_keeps_its_content() {
        let bytes = vec![7_u8; 9 * host_page()];
        let swapped = swap_out(&bytes).unwrap();
        assert!(swapped <= 9);
        if swap_space() > 1 << 20 {
            assert!(swapped >= 7, "{swapped} pages");
        }
        assert!(bytes.iter().all(|byte| *byte == 7));
        assert_eq!(swap_out(&bytes[..1]).unwrap(), 0);
    }
}
