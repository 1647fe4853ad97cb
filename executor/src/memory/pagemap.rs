//! Asking the kernel which pages of a range were written: `PAGEMAP_SCAN`.
//!
//! Numbers and layouts are those of `linux/fs.h` (Linux 6.7 and newer).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::LazyLock;

/// `_IOWR('f', 16, struct pm_scan_arg)`, with its 96 bytes.
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;

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

/// `struct page_region`: a run of pages, by address.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) end: u64,
    categories: u64,
}

/// The calling process's page map. Not to be used after a `fork` without `exec`:
/// the child would be told about its parent.
static PAGEMAP: LazyLock<Option<File>> = LazyLock::new(|| {
    let file = File::open("/proc/self/pagemap").ok()?;
    let page = super::host_page();
    // An empty answer for one page is enough to know that the call exists.
    let probe = Box::new([0_u8; 1]);
    let start = (probe.as_ptr() as usize & !(page - 1)) as u64;
    scan_in(&file, start, start + page as u64, 1, &mut [Region::default()]).ok()?;
    Some(file)
});

/// Whether the kernel answers.
#[must_use]
pub fn is_available() -> bool {
    PAGEMAP.is_some()
}

/// What one scan found.
pub(super) struct Scan {
    /// How many of the regions were filled.
    pub(super) found: usize,
    /// The address up to which the range was looked at.
    pub(super) walked_to: u64,
}

/// Runs of pages in `start..end` that hold something of their own: present or
/// swapped out, and neither the file's nor the zero page. In a private mapping
/// those are the pages that were written. At most `max_pages` pages.
pub(super) fn scan(
    start: u64,
    end: u64,
    max_pages: u64,
    regions: &mut [Region],
) -> std::io::Result<Scan> {
    let file = PAGEMAP.as_ref().ok_or(std::io::ErrorKind::Unsupported)?;
    scan_in(file, start, end, max_pages, regions)
}

fn scan_in(
    file: &File,
    start: u64,
    end: u64,
    max_pages: u64,
    regions: &mut [Region],
) -> std::io::Result<Scan> {
    let mut arguments = ScanArguments {
        size: size_of::<ScanArguments>() as u64,
        start,
        end,
        vec: regions.as_mut_ptr() as u64,
        vec_len: regions.len() as u64,
        max_pages,
        category_inverted: PAGE_IS_FILE | PAGE_IS_PFNZERO,
        category_mask: PAGE_IS_FILE | PAGE_IS_PFNZERO,
        category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        ..ScanArguments::default()
    };
    // SAFETY: the kernel reads and writes `arguments`, and writes at most
    // `vec_len` entries to `vec`; both are ours and live across the call.
    let found = unsafe { libc::ioctl(file.as_raw_fd(), PAGEMAP_SCAN, &raw mut arguments) };
    if found < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(Scan { found: found as usize, walked_to: arguments.walk_end })
}
