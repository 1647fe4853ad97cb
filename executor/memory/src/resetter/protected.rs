//! Bringing back the pages that the kernel has noted the writes to.

use super::super::epochs::Epochs;
use super::super::pagemap::{self, Region, Search};
use super::super::{Image, host_page, pages, process, write_protect};
use super::Resetter;
use crate::error::{Error, Result};

/// What is known about a memory whose written pages are protected again.
#[derive(Debug, Default)]
pub(super) struct Protected {
    /// The process in which the memory is registered.
    process: Option<u64>,
    /// The pages that are resident.
    pub(super) epochs: Epochs,
}

impl Resetter {
    /// Has the writes to the memory noted in this process: once, and once more in each
    /// child of a fork.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub(super) unsafe fn register(&mut self, size: usize) -> Result<()> {
        let process = process::number();
        if size > 0 && (process.is_none() || self.protected.process != process) {
            // SAFETY: the caller's promise.
            unsafe { write_protect::register(self.base, size) }
                .map_err(Error::system("cannot have the writes to a memory noted"))?;
            self.protected.process = process;
        }
        Ok(())
    }

    /// Restores the pages that were written since the last reset and protects them again,
    /// up to `limit` bytes, and drops the rest.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    pub(super) unsafe fn reset_protected(&mut self, size: usize, limit: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.register(size) }?;
        self.ages.next(size / host_page());
        let mut room = limit / host_page();
        let mut regions = [Region::default(); pagemap::REGIONS];
        let (start, end) = (self.base as u64, self.base as u64 + size as u64);
        let mut at = start;
        while at < end {
            let scan = pagemap::scan(Search::Written, at, end, &mut regions)
                .map_err(Error::system("cannot ask which pages were written"))?;
            let next = scan.next(at).map_err(Error::system("cannot ask about all pages"))?;
            let mut cut = None;
            for region in &regions[..scan.found] {
                // SAFETY: the caller's promise; the kernel reports only pages inside the
                // range that it was asked about.
                cut = unsafe { self.restore_region(region, &mut room) };
                if cut.is_some() {
                    break;
                }
            }
            if let [first, .., last] | [first @ last] = &regions[..scan.found] {
                // Not by the first scan: restoring a page writes it.
                let end = cut.map_or(last.end, |page| start + (page * host_page()) as u64);
                write_protect::protect(first.start..end, &mut regions)
                    .map_err(Error::system("cannot protect the pages that were written"))?;
            }
            if let Some(page) = cut {
                // SAFETY: a part of the memory, which is ours to reset.
                unsafe { self.drop_protected(page, size / host_page()) }?;
                self.protected.epochs.dropped(page..size / host_page());
                break;
            }
            at = next;
        }
        let mut leaving = std::mem::take(&mut self.leaving);
        self.protected.epochs.end_reset(limit / host_page(), &mut leaving);
        self.leaving = leaving;
        if !self.leaving.is_empty() {
            // SAFETY: the caller's promise; all that was written is restored.
            unsafe { self.drop_leaving() }?;
        }
        Ok(())
    }

    /// Restores the pages of a region, as many as there is room for. The first page that
    /// does not fit.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), and the region must lie in the memory.
    unsafe fn restore_region(&mut self, region: &Region, room: &mut usize) -> Option<usize> {
        for page in region.pages(self.base as u64) {
            // What was only read.
            if region.is_shared_zeros()
                && self.template.image().and_then(|i| i.page(page)).is_none()
            {
                continue;
            }
            if *room == 0 {
                return Some(page);
            }
            *room -= 1;
            // SAFETY: the caller's promise; the page is readable and writable.
            unsafe { pages::restore(self.compare, self.template.image(), self.base, page) };
            self.protected.epochs.written(page);
        }
        None
    }

    /// # Safety
    ///
    /// As for [`let_go`](Self::let_go).
    #[cold]
    unsafe fn drop_leaving(&mut self) -> Result<()> {
        let mut leaving = std::mem::take(&mut self.leaving);
        // SAFETY: the caller's promise; the pages are of the memory.
        let done = pages::runs(&leaving)
            .try_for_each(|run| unsafe { self.drop_protected(run[0], run[0] + run.len()) });
        leaving.clear();
        self.leaving = leaving;
        done
    }

    /// Drops the pages `first..end`.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset); the pages must lie in the memory, which must be
    /// registered in this process.
    pub(super) unsafe fn drop_protected(&self, first: usize, end: usize) -> Result<()> {
        let page = host_page();
        // SAFETY: the caller's promise.
        unsafe { pages::discard(self.base.add(first * page), (end - first) * page) }?;
        for part in self.template.image().into_iter().flat_map(Image::parts) {
            let (first, end) = (part.start.max(first), part.end.min(end));
            if first < end {
                // SAFETY: the caller's promise; the pages of the part were dropped.
                unsafe {
                    write_protect::unprotect(self.base.add(first * page), (end - first) * page)
                }
                .map_err(Error::system("cannot open the pages of a memory"))?;
            }
        }
        Ok(())
    }
}
