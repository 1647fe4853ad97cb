//! What is done to the pages of a memory: system calls and comparisons.

use super::compare::Compare;
use super::image::CleanPage;
use super::{Image, host_page};
use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::mm::{Advice, MprotectFlags, MsyncFlags};

/// Calls `each` with start and length of each run of neighbours among pages in
/// ascending order.
///
/// # Safety
///
/// The pages must lie in a memory at `base`.
pub(super) unsafe fn for_runs(
    base: *mut u8,
    pages: &[usize],
    mut each: impl FnMut(*mut u8, usize) -> Result<()>,
) -> Result<()> {
    for run in runs(pages) {
        // SAFETY: the caller's promise.
        each(unsafe { base.add(run[0] * host_page()) }, run.len() * host_page())?;
    }
    Ok(())
}

/// The runs of neighbours among pages in ascending order.
pub(super) fn runs(pages: &[usize]) -> impl Iterator<Item = &[usize]> {
    pages.chunk_by(|one, next| one + 1 == *next)
}

/// Writes the clean content over a page; whether that changed anything.
///
/// # Safety
///
/// The page must lie in an accessible memory at `base` that nobody else uses.
#[inline]
pub(super) unsafe fn restore(
    compare: Compare,
    image: Option<&Image>,
    base: *mut u8,
    page: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let used = unsafe { std::slice::from_raw_parts_mut(base.add(page * host_page()), host_page()) };
    match image.and_then(|image| image.page(page)) {
        Some(CleanPage { bytes, data }) => {
            let (rest, after) = used.split_at_mut(data.end);
            let (before, written) = rest.split_at_mut(data.start);
            // Each must be done, whatever the others say.
            compare.clear(before) | compare.restore(written, &bytes[data]) | compare.clear(after)
        }
        None => compare.clear(used),
    }
}

/// Exchanges a page of a used memory with that of a clean one. Returns whether the two differed.
///
/// # Safety
///
/// The page must lie in two accessible memories, at `base` and at `clean`, that nobody else uses.
#[inline]
pub(super) unsafe fn exchange(
    compare: Compare,
    base: *mut u8,
    clean: *mut u8,
    page: usize,
) -> bool {
    let at = page * host_page();
    // SAFETY: the caller's promise.
    unsafe {
        compare.exchange(
            std::slice::from_raw_parts_mut(base.add(at), host_page()),
            std::slice::from_raw_parts_mut(clean.add(at), host_page()),
        )
    }
}

/// Writes to a page of each mapping what is there, so that the kernel can join the parts
/// that the mapping is split into later. It joins only parts that share what it keeps
/// about written pages (`anon_vma`), and parts inherit that from a mapping which has it.
/// Otherwise each part that is written gets one of its own and stays apart for ever.
///
/// # Safety
///
/// The pages must lie in a readable and writable memory at `base` that nobody else uses.
pub(super) unsafe fn make_joinable(base: *mut u8, pages: impl Iterator<Item = usize>) {
    for page in pages {
        // SAFETY: the caller's promise. Volatile, because to the compiler this is nothing.
        unsafe {
            let byte = base.add(page * host_page());
            byte.write_volatile(byte.read_volatile());
        }
    }
}

/// Keeps the kernel from joining pages to huge ones. It would make pages writable that
/// nobody has written, without a fault.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
pub(super) unsafe fn make_small(base: *mut u8, size: usize) -> Result<()> {
    // SAFETY: the caller owns the range.
    match unsafe { rustix::mm::madvise(base.cast(), size, Advice::LinuxNoHugepage) } {
        // A kernel without huge pages.
        Err(Errno::INVAL) => Ok(()),
        done => done.map_err(Error::system("cannot refuse huge pages for a memory")),
    }
}

/// Whether a part of a range is locked (`mlock`, `mlockall`). Locking makes pages writable without
/// a fault of whoever writes them, and so does `mprotect` in a locked range.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
pub(super) unsafe fn is_locked(base: *mut u8, size: usize) -> bool {
    let flags = MsyncFlags::INVALIDATE | MsyncFlags::ASYNC;
    // SAFETY: the caller's range. With these flags, the call does nothing but fail with EBUSY where
    // memory is locked (`mm/msync.c`).
    let done = unsafe { rustix::mm::msync(base.cast(), size, flags) };
    done == Err(Errno::BUSY)
}

/// Makes pages read-only, so that the next write to them is noticed.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
pub(super) unsafe fn watch(base: *mut u8, size: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { protect(base, size, MprotectFlags::READ) }
}

/// Makes pages readable and writable.
///
/// # Safety
///
/// As for [`watch`].
pub(super) unsafe fn open(base: *mut u8, size: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { protect(base, size, MprotectFlags::READ | MprotectFlags::WRITE) }
}

/// # Safety
///
/// As for [`watch`].
unsafe fn protect(base: *mut u8, size: usize, flags: MprotectFlags) -> Result<()> {
    // SAFETY: the caller owns the range.
    unsafe { rustix::mm::mprotect(base.cast(), size, flags) }
        .map_err(Error::system("cannot change the protection of a memory"))
}

/// Drops the pages of a range; they read as the file under them or as zero. Also those
/// that the process has locked (`mlockall`), on Linux 5.18 and newer.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
pub(super) unsafe fn discard(base: *mut u8, size: usize) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller owns the range.
    let advise = |advice| unsafe { rustix::mm::madvise(base.cast(), size, advice) };
    match advise(Advice::LinuxDontNeed) {
        Err(Errno::INVAL) => advise(Advice::LinuxDontneedLocked),
        done => done,
    }
    .map_err(Error::system("cannot drop the pages of a memory"))
}

#[cfg(test)]
mod tests {
    use super::super::{InitialContent, Mapping};
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap with files")]
    fn a_page_has_changed_wherever_it_differs() {
        let mut clean = vec![0; host_page()];
        clean[2000..2100].fill(3);
        let image = Image::new(&InitialContent::capture(&clean)).unwrap().unwrap();
        let mut page = Mapping::new(clean.len(), clean.len()).unwrap();
        // Before the data, in it, and behind.
        let places = [5, 2050, clean.len() - 1];
        for differing in 0..8 {
            page.bytes_mut().copy_from_slice(&clean);
            for (index, place) in places.into_iter().enumerate() {
                page.bytes_mut()[place] ^= (differing >> index & 1) << 4;
            }
            // SAFETY: the page is the mapping's, which nobody else uses.
            let changed = unsafe { restore(Compare::new(), Some(&image), page.base(), 0) };
            assert_eq!(changed, differing > 0, "{differing:b}");
            assert!(page.bytes_mut() == clean);
        }
    }
}
