//! Asking the kernel which pages of a range were written: `PAGEMAP_SCAN`.
//!
//! Numbers and layouts are those of `linux/fs.h` (Linux 6.7 and newer).

use super::process;
use std::fs::File;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

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

impl Region {
    /// Whether what lies there is the page of zeros that all processes share: where
    /// nothing but zeros is expected, a page that was only read. Elsewhere zeros were
    /// written, and the kernel has merged the page with others of its kind (KSM).
    pub(super) fn is_shared_zeros(&self) -> bool {
        self.categories & PAGE_IS_PFNZERO != 0
    }
}

/// The page map of this process, also after a `fork`.
struct Pagemap {
    file: AtomicI32,
    /// The process that it is of. The file that the child of a fork has inherited would
    /// tell it about its parent.
    process: AtomicU64,
}

static PAGEMAP: LazyLock<Option<Pagemap>> = LazyLock::new(|| {
    let process = AtomicU64::new(process::number()?);
    let map = Pagemap { file: AtomicI32::new(open()?), process };
    // An empty answer for one page is enough to know that the call exists.
    let page = super::host_page();
    let probe = Box::new([0_u8; 1]);
    let start = (probe.as_ptr() as usize & !(page - 1)) as u64;
    map.scan(start, start + page as u64, &mut [Region::default()]).ok()?;
    Some(map)
});

fn open() -> Option<RawFd> {
    Some(File::open("/proc/self/pagemap").ok()?.into_raw_fd())
}

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
    walked_to: u64,
}

impl Scan {
    /// Where to go on after a scan that began at an address.
    ///
    /// # Errors
    ///
    /// When it came no further: what lies behind is not known then.
    pub(super) fn next(&self, start: u64) -> std::io::Result<u64> {
        if self.walked_to > start {
            Ok(self.walked_to)
        } else {
            Err(std::io::Error::other("the kernel's scan of the pages came to no end"))
        }
    }
}

/// Runs of pages in `start..end` that hold something else than the file under them:
/// present or swapped out, and not the file's. In a private mapping those are the pages
/// that were written, and the pages of anonymous memory that were read
/// ([`Region::is_shared_zeros`]). Goes on until the regions are full.
pub(super) fn scan(start: u64, end: u64, regions: &mut [Region]) -> std::io::Result<Scan> {
    let map = PAGEMAP.as_ref().ok_or(std::io::ErrorKind::Unsupported)?;
    let process = process::number().ok_or(std::io::ErrorKind::Unsupported)?;
    if map.process.load(Ordering::Acquire) != process {
        map.open_again(process)?;
    }
    map.scan(start, end, regions)
}

impl Pagemap {
    #[cold]
    fn open_again(&self, process: u64) -> std::io::Result<()> {
        let own = open().ok_or(std::io::ErrorKind::Unsupported)?;
        // What was there stays open: another thread may have opened it a moment ago.
        self.file.store(own, Ordering::Release);
        self.process.store(process, Ordering::Release);
        Ok(())
    }

    fn scan(&self, start: u64, end: u64, regions: &mut [Region]) -> std::io::Result<Scan> {
        let mut arguments = ScanArguments {
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
        };
        let file = self.file.load(Ordering::Acquire);
        // SAFETY: the kernel reads and writes `arguments`, and writes at most
        // `vec_len` entries to `vec`; both are ours and live across the call.
        let found = unsafe { libc::ioctl(file, PAGEMAP_SCAN, &raw mut arguments) };
        if found < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Scan { found: found as usize, walked_to: arguments.walk_end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_that_comes_no_further_is_an_error() {
        let scan = |walked_to| Scan { found: 0, walked_to };
        assert_eq!(scan(9).next(8).unwrap(), 9);
        assert!(scan(8).next(8).is_err());
        assert!(scan(0).next(8).is_err());
    }
}
