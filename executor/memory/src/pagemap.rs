//! Asking the kernel which pages of a range were written: `PAGEMAP_SCAN`.
//!
//! Numbers and layouts are those of `linux/fs.h` (Linux 6.7 and newer).

use super::{host_page, process};
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// `_IOWR('f', 16, struct pm_scan_arg)`, with its 96 bytes.
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;

/// Regions that one scan returns at most; the scan goes on where it stopped.
const REGIONS: usize = 64;

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// The question which pages of a range hold something else than the file under them.
fn written(start: u64, end: u64, regions: &mut [Region]) -> ScanArguments {
    ScanArguments {
        size: size_of::<ScanArguments>() as u64,
        start,
        end,
        vec: regions.as_mut_ptr() as u64,
        vec_len: regions.len() as u64,
        category_inverted: PAGE_IS_FILE,
        category_mask: PAGE_IS_FILE,
        category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        return_mask: PAGE_IS_PFNZERO,
        ..ScanArguments::default()
    }
}

/// `struct page_region`: a run of pages, by address.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) end: u64,
    categories: u64,
}

impl Region {
    /// Its pages in a memory that starts at an address.
    pub(super) fn pages(&self, memory: u64) -> Range<usize> {
        let page = |address: u64| (address - memory) as usize / host_page();
        page(self.start)..page(self.end)
    }

    /// `true` if what lies there is the page of zeros that all processes share: outside the image,
    /// a page that was only read. In it, zeros were written, and the kernel has merged the page
    /// with others of its kind (KSM).
    pub(super) fn is_shared_zeros(&self) -> bool {
        self.categories & PAGE_IS_PFNZERO != 0
    }
}

/// The page map of this process.
fn page_map() -> io::Result<RawFd> {
    static FILE: AtomicI32 = AtomicI32::new(-1);
    /// The process that it is of: the child of a fork inherits that of its parent.
    static PROCESS: AtomicU64 = AtomicU64::new(0);
    let process = process::number().ok_or(io::ErrorKind::Unsupported)?;
    if PROCESS.load(Ordering::Acquire) == process {
        return Ok(FILE.load(Ordering::Acquire));
    }
    let own = File::open("/proc/self/pagemap")?.into_raw_fd();
    // What was there stays open: another thread may have opened it a moment ago.
    FILE.store(own, Ordering::Release);
    PROCESS.store(process, Ordering::Release);
    Ok(own)
}

/// `true` if the kernel answers.
pub fn is_available() -> bool {
    static ANSWERS: LazyLock<bool> = LazyLock::new(|| {
        // An empty answer for one page is enough to know that the call exists.
        let page = host_page();
        let probe = Box::new([0_u8; 1]);
        let start = (probe.as_ptr() as usize & !(page - 1)) as u64;
        ask(start, start + page as u64, &mut [Region::default()]).is_ok()
    });
    *ANSWERS
}

/// Calls `found` for each run of pages in a range that hold something else than the file under
/// them, present or swapped out, in ascending order, until it breaks. In a private mapping those
/// are the pages that were written, and the pages of anonymous memory that were read
/// ([`Region::is_shared_zeros`]).
pub(super) fn each_region<B>(
    range: Range<u64>,
    mut found: impl FnMut(&Region) -> ControlFlow<B>,
) -> io::Result<ControlFlow<B>> {
    if !is_available() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut regions = [Region::default(); REGIONS];
    let mut from = range.start;
    while from < range.end {
        let (count, walked_to) = ask(from, range.end, &mut regions)?;
        if let ControlFlow::Break(value) = regions[..count].iter().try_for_each(&mut found) {
            return Ok(ControlFlow::Break(value));
        }
        from = further(from, walked_to)?;
    }
    Ok(ControlFlow::Continue(()))
}

/// Where to go on after a scan from an address to another one.
fn further(from: u64, walked_to: u64) -> io::Result<u64> {
    let error = || io::Error::other("the kernel's scan of the pages came to no end");
    if walked_to > from { Ok(walked_to) } else { Err(error()) }
}

/// One scan of a range: how many of the regions were filled, and the address up to which the range
/// was looked at.
fn ask(start: u64, end: u64, regions: &mut [Region]) -> io::Result<(usize, u64)> {
    let mut arguments = written(start, end, regions);
    let file = page_map()?;
    #[cfg(test)]
    crate::tests::way_back_tests::work(|work| work.scans += 1);
    // SAFETY: the kernel reads and writes `arguments`, and writes at most
    // `vec_len` entries to `vec`; both are ours and live across the call.
    let found = unsafe { libc::ioctl(file, PAGEMAP_SCAN, &raw mut arguments) };
    let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
    Ok((found, arguments.walk_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_that_comes_no_further_is_an_error() {
        assert_eq!(further(8, 9).unwrap(), 9);
        assert!(further(8, 8).is_err() && further(8, 0).is_err());
    }

    /// The rule by which the kernel selects a page (`pagemap_scan_is_interesting_page` in
    /// `fs/proc/task_mmu.c`), for every report that it can give.
    #[test]
    fn written_pages_are_selected_wherever_they_are() {
        let selects = |categories: u64| {
            let written = written(0, 0, &mut []);
            let categories = categories ^ written.category_inverted;
            categories & written.category_mask == written.category_mask
                && categories & written.category_anyof_mask != 0
        };
        // Other categories, such as written since write protection, do not matter.
        for others in [0, 1, 1 << 1, 1 << 6, 1 << 7] {
            assert!(selects(others | PAGE_IS_PRESENT));
            assert!(selects(others | PAGE_IS_SWAPPED));
            assert!(selects(others | PAGE_IS_PRESENT | PAGE_IS_PFNZERO));
            assert!(!selects(others));
            assert!(!selects(others | PAGE_IS_FILE | PAGE_IS_PRESENT));
            assert!(!selects(others | PAGE_IS_FILE | PAGE_IS_SWAPPED));
        }
    }
}
