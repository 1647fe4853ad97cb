//! The proof that nobody else uses a memory, and what may be done to its pages with it.

use super::compare::Compare;
use super::{Image, host_page};
use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, MsyncFlags, ProtFlags};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::AsFd;

/// A memory that nobody else uses for `'a`: no guest runs on it, and no reference into it is alive.
///
/// Ranges are in bytes from the start of the memory and made of whole pages.
pub(super) struct Exclusive<'a> {
    base: *mut u8,
    open: usize,
    mapped: usize,
    user: PhantomData<&'a mut [u8]>,
}

impl Exclusive<'_> {
    /// A memory of `mapped` bytes, of which the first `open` can be read and written. Writes may
    /// fault if the handler of SIGSEGV then makes the page writable.
    ///
    /// # Safety
    ///
    /// `base` must be the page-aligned start of that many bytes of private mappings that are the
    /// caller's own. Until the end of `'a`, nobody else may access them.
    #[inline]
    pub(super) unsafe fn new(base: *mut u8, open: usize, mapped: usize) -> Self {
        Self { base, open, mapped: mapped.max(open), user: PhantomData }
    }

    #[inline]
    pub(super) fn address(&self) -> usize {
        self.base.addr()
    }

    /// The first `length` bytes.
    pub(super) fn bytes(&mut self, length: usize) -> &mut [u8] {
        assert!(length <= self.open, "bytes behind the end of a memory");
        // SAFETY: the bytes are open, initialised by the kernel, and by the promise made to `new`
        // nobody else accesses them.
        unsafe { std::slice::from_raw_parts_mut(self.base, length) }
    }

    #[inline]
    fn page(&mut self, page: usize) -> &mut [u8] {
        let at = page * host_page();
        assert!(at < self.open, "a page behind the end of a memory");
        #[cfg(test)]
        crate::tests::way_back_tests::work(|work| work.compared += 1);
        // SAFETY: as in `bytes`. What is open ends with a page.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(at), host_page()) }
    }

    fn place(&self, range: &Range<usize>) -> (*mut c_void, usize) {
        assert!(range.start <= range.end && range.end <= self.mapped, "a range outside a memory");
        #[cfg(test)]
        crate::tests::way_back_tests::work(|work| work.calls += 1);
        (self.base.wrapping_add(range.start).cast(), range.len())
    }

    /// Writes the clean content over a page. Returns `true` if that changed anything.
    #[inline]
    pub(super) fn restore(&mut self, compare: Compare, image: Option<&Image>, page: usize) -> bool {
        let used = self.page(page);
        match image.and_then(|image| image.page(page)) {
            Some((bytes, data)) => {
                let (rest, after) = used.split_at_mut(data.end);
                let (before, written) = rest.split_at_mut(data.start);
                // Each must be done, whatever the others say.
                compare.clear(before)
                    | compare.restore(written, &bytes[data])
                    | compare.clear(after)
            }
            None => compare.clear(used),
        }
    }

    /// Exchanges a page with that of another memory. Returns `true` if the two differed.
    #[inline]
    pub(super) fn exchange(&mut self, compare: Compare, page: usize, with: &mut Self) -> bool {
        compare.exchange(self.page(page), with.page(page))
    }

    /// Maps a range of a file over the same range of the memory.
    pub(super) fn map(
        &mut self,
        range: &Range<usize>,
        file: impl AsFd,
        protection: ProtFlags,
        flags: MapFlags,
        offset: usize,
    ) -> rustix::io::Result<()> {
        let (start, length) = self.place(range);
        let flags = flags | MapFlags::FIXED;
        // SAFETY: a part of the caller's own mappings is replaced, to which nobody has a reference.
        unsafe { rustix::mm::mmap(start, length, protection, flags, file, offset as u64) }.map(drop)
    }

    /// Writes to a page of each mapping what is there, so that the kernel can later join the parts
    /// that the mapping is split into. It joins only parts that share what it keeps about written
    /// pages (`anon_vma`), and parts inherit that from a mapping which has it. Otherwise each part
    /// that is written gets one of its own and stays apart for ever.
    pub(super) fn make_joinable(&mut self, pages: impl Iterator<Item = usize>) {
        for page in pages {
            let byte = &raw mut self.page(page)[0];
            // SAFETY: a byte of the memory. Volatile, because to the compiler this is nothing.
            unsafe { byte.write_volatile(byte.read_volatile()) };
        }
    }

    /// Keeps the kernel from joining pages to huge ones. It would make pages writable without a
    /// fault that nobody has written.
    pub(super) fn make_small(&mut self, range: &Range<usize>) -> Result<()> {
        let (start, length) = self.place(range);
        // SAFETY: the caller's own range, the content of which stays.
        match unsafe { rustix::mm::madvise(start, length, Advice::LinuxNoHugepage) } {
            // A kernel without huge pages.
            Err(Errno::INVAL) => Ok(()),
            done => done.map_err(Error::system("cannot refuse huge pages for a memory")),
        }
    }

    /// `true` if a part of a range is locked (`mlock`, `mlockall`). Locking makes pages writable
    /// without a fault of whoever writes them, and so does `mprotect` in a locked range.
    pub(super) fn is_locked(&self, range: &Range<usize>) -> bool {
        let (start, length) = self.place(range);
        let flags = MsyncFlags::INVALIDATE | MsyncFlags::ASYNC;
        // SAFETY: with these flags, the call does nothing but fail with EBUSY where memory is
        // locked (`mm/msync.c`).
        unsafe { rustix::mm::msync(start, length, flags) == Err(Errno::BUSY) }
    }

    /// Makes pages read-only, so that the next write to them is noticed.
    pub(super) fn watch(&mut self, range: &Range<usize>) -> Result<()> {
        self.protect(range, MprotectFlags::READ)
    }

    /// Makes pages readable and writable.
    pub(super) fn unwatch(&mut self, range: &Range<usize>) -> Result<()> {
        self.protect(range, MprotectFlags::READ | MprotectFlags::WRITE)
    }

    fn protect(&mut self, range: &Range<usize>, flags: MprotectFlags) -> Result<()> {
        let (start, length) = self.place(range);
        // SAFETY: the caller's own range. What is open stays readable, and the handler serves
        // writes.
        unsafe { rustix::mm::mprotect(start, length, flags) }
            .map_err(Error::system("cannot change the protection of a memory"))
    }

    /// Drops the pages of a range; they read as the file under them or as zero. Also those that the
    /// process has locked (`mlockall`), on Linux 5.18 and newer.
    pub(super) fn discard(&mut self, range: &Range<usize>) -> Result<()> {
        let (start, length) = self.place(range);
        if length == 0 {
            return Ok(());
        }
        // SAFETY: the caller's own range, to which nobody has a reference.
        let advise = |advice| unsafe { rustix::mm::madvise(start, length, advice) };
        match advise(Advice::LinuxDontNeed) {
            Err(Errno::INVAL) => advise(Advice::LinuxDontneedLocked),
            done => done,
        }
        .map_err(Error::system("cannot drop the pages of a memory"))
    }
}

/// The runs of neighbours among pages in ascending order.
pub(super) fn runs(pages: &[usize]) -> impl Iterator<Item = &[usize]> {
    pages.chunk_by(|one, next| one + 1 == *next)
}

/// The runs of neighbours among pages in ascending order, as ranges of bytes.
pub(super) fn places(pages: &[usize]) -> impl Iterator<Item = Range<usize>> {
    runs(pages).map(|run| run[0] * host_page()..(run[0] + run.len()) * host_page())
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
        let image = Image::new(&InitialContent::capture(&clean), false).unwrap().unwrap();
        let mut page = Mapping::new(clean.len(), clean.len()).unwrap();
        // Before the data, in it, and behind.
        let places = [5, 2050, clean.len() - 1];
        for differing in 0..8 {
            page.bytes_mut().copy_from_slice(&clean);
            for (index, place) in places.into_iter().enumerate() {
                page.bytes_mut()[place] ^= (differing >> index & 1) << 4;
            }
            // SAFETY: the page is the mapping's, which nobody else uses.
            let mut memory = unsafe { Exclusive::new(page.base(), clean.len(), clean.len()) };
            let changed = memory.restore(Compare::new(), Some(&image), 0);
            assert_eq!(changed, differing > 0, "{differing:b}");
            assert!(page.bytes_mut() == clean);
        }
    }
}
