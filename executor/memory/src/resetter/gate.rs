//! Asking the kernel what was written only when the thread's faults do not tell, and whether to
//! keep what was.

use super::super::ages::Verdict;
use super::super::faults::{self, Mark};
use super::super::rule::Seen;
use super::super::{host_page, pages};
use super::{ResetMethod, Resetter};
use crate::error::Result;
use std::ops::Range;

/// What the last scan of a memory found and faults have added, and until when that is all there
/// is.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The thread's faults when the memory was clean again after the last scan.
    mark: Option<Mark>,
    /// The pages that were resident and the memory's own then, but for those that were dropped
    /// since.
    pages: Vec<usize>,
    /// The thread's count of faults when the host got the memory's bytes after the last reset.
    lent: Option<u64>,
    /// Whether the last reset asked the kernel.
    asked: bool,
    /// Whether [`Resetter::begin_use`] was called since the last reset.
    begun: bool,
    /// Scans so far.
    #[cfg(test)]
    pub(super) scans: usize,
}

impl Gate {
    /// The next reset asks the kernel.
    pub(super) fn forget(&mut self) {
        self.mark = None;
        self.pages.clear();
    }

    /// The host may do anything from now on with the bytes of the memory, also have the kernel
    /// write to them in ways that no log tells of.
    pub(super) fn lend(&mut self) {
        if self.lent.is_none() && self.mark.is_some() && faults::are_logged() {
            // Without a count, the mark is worth nothing.
            self.lent = faults::count();
            self.mark = self.mark.filter(|_| self.lent.is_some());
        }
    }

    /// Whether the thread had no fault since the host got the bytes, if it did. Asked once after
    /// each use.
    #[inline]
    fn is_as_lent(&mut self) -> bool {
        self.lent.take().is_none_or(|count| faults::count() == Some(count))
    }

    /// What the thread does from now on is to tell whether the pages of the last scan are all
    /// that was written.
    #[cold]
    fn begin(&mut self) {
        if let Some(mark) = self.mark {
            self.mark = mark.renewed();
            self.lent = None;
            self.begun = true;
        }
    }
}

impl Resetter {
    /// Whether resets may depend on the faults of a thread: the memory is of kind
    /// [`ResetMethod::Gated`] or [`ResetMethod::Auto`], or of kind [`ResetMethod::Tracked`] and one too many to be
    /// tracked.
    pub(in super::super) fn may_be_gated(&self) -> bool {
        match self.template.reset {
            ResetMethod::Gated { .. } | ResetMethod::Auto { .. } => true,
            ResetMethod::Tracked { .. } => self.tracked.is_none(),
            _ => false,
        }
    }

    /// Says that the memory is used from now on. Where more memories are of kind
    /// [`ResetMethod::Tracked`] than [can be tracked](super::super::TRACKED_AT_ONCE), the reset of a
    /// further one then asks the kernel only if the thread had a page fault since. What other
    /// memories did in between does not matter. Nothing happens to other memories.
    ///
    /// # Safety
    ///
    /// Nobody may have written the memory since its last reset, and what [`ResetMethod::Gated`]
    /// says about other threads and processes must be true from now on until the next one.
    #[inline]
    pub unsafe fn begin_use(&mut self) {
        if self.tracked.is_none() && matches!(self.template.reset, ResetMethod::Tracked { .. }) {
            self.gate.begin();
        }
        if self.hidden > 0 && self.behind.mark.is_some() {
            self.behind.begin();
        }
    }

    /// As [`reset_gated`](Self::reset_gated), but asks the kernel in any case unless
    /// [`begin_use`](Self::begin_use) was called.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    pub(super) unsafe fn reset_untracked(&mut self, size: usize, limit: usize) -> Result<()> {
        if !std::mem::take(&mut self.gate.begun) {
            self.gate.mark = None;
        }
        // SAFETY: the caller's promise, and that of `begin_use`.
        unsafe { self.reset_gated(size, limit) }.map(drop)
    }

    /// Restores the pages of the last scan and those in which the thread had page faults since,
    /// where these are known, else the pages of a new scan.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub(super) unsafe fn reset_gated(&mut self, size: usize, limit: usize) -> Result<Seen> {
        self.ages.next(size / host_page());
        // SAFETY: the caller's promise.
        unsafe { self.restore_gated(0..size, limit) }
    }

    /// The same for a part of the memory, in a reset that has begun.
    ///
    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown), with the range's end as what is open.
    #[inline]
    pub(super) unsafe fn restore_gated(
        &mut self,
        range: Range<usize>,
        limit: usize,
    ) -> Result<Seen> {
        if self.gate.is_as_lent()
            && let Some(mark) = self.gate.mark
            && (mark.holds() || self.add_faults(mark, &range, limit))
        {
            // SAFETY: the caller's promise.
            return unsafe { self.restore_last(range.end) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.restore_again(range, limit) }
    }

    /// As [`reset_gated`](Self::reset_gated), but for pages known from write faults while the memory
    /// is [watched](super::super::rule::Watch), and while keeping pages pays at all: else drops
    /// them.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub(super) unsafe fn reset_auto(&mut self, size: usize, limit: usize) -> Result<()> {
        if self.is_watched() {
            // SAFETY: the caller's promise.
            unsafe { self.reset_tracked(size, limit) }?;
            if self.watch.watched(self.ages.new_pages()) {
                // SAFETY: the caller's promise; the memory is clean.
                return unsafe { self.merge_mappings() };
            }
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.reset_open(size, limit) }
    }

    /// As [`reset_auto`](Self::reset_auto) for a memory that is not watched.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    unsafe fn reset_open(&mut self, size: usize, limit: usize) -> Result<()> {
        if self.rule.drops() {
            // SAFETY: the caller's promise.
            unsafe { self.drop_if_written(size) }?;
            self.rule.dropped();
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let seen = unsafe { self.reset_gated(size, limit) }?;
        if self.rule.kept(seen) {
            // SAFETY: the caller's promise; the memory is clean.
            return unsafe { self.drop_all() };
        }
        if self.watch.not_watched(self.gate.pages.len(), !self.gate.asked) && self.tracked.is_some()
        {
            // SAFETY: the caller's promise; the memory is clean.
            return unsafe { self.start_over() };
        }
        Ok(())
    }

    /// Adds the pages in which the thread had faults since a mark to those of the last scan.
    /// Whether these are all that can have been written: not where the log does not tell, or
    /// there are too many.
    #[cold]
    fn add_faults(&mut self, mark: Mark, range: &Range<usize>, limit: usize) -> bool {
        let (start, pages) = (self.base.addr(), &mut self.gate.pages);
        let now = mark.each_since(|address| {
            let offset = address.wrapping_sub(start);
            if range.contains(&offset) {
                pages.push(offset / host_page());
            }
        });
        pages.sort();
        pages.dedup();
        self.gate.mark = now;
        now.is_some() && self.gate.pages.len() <= limit / host_page()
    }

    /// Drops all pages of a memory of which none was resident at the mark. Without a page
    /// fault since, none is now.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    unsafe fn drop_if_written(&mut self, size: usize) -> Result<()> {
        // Before the pages are dropped: a fault in between is one too many, not one too few.
        let now = Mark::now();
        if self.gate.is_as_lent() && now.is_some() && now == self.gate.mark {
            return Ok(());
        }
        self.gate.mark = None;
        // SAFETY: the caller's promise.
        unsafe { pages::discard(self.base, size) }?;
        self.gate.mark = now;
        Ok(())
    }

    /// Pages behind `open`, where the memory had been larger before, stay as they are: clean.
    ///
    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown).
    #[inline]
    unsafe fn restore_last(&mut self, open: usize) -> Result<Seen> {
        self.gate.asked = false;
        let (mut seen, mut is_exact) = (Seen::default(), true);
        let open = open / host_page();
        self.gate.pages.retain(|&page| {
            if page >= open {
                return true;
            }
            // SAFETY: the scan and the faults told only of pages of the memory, which nobody else
            // uses now and which is open.
            let changed =
                unsafe { pages::restore(self.compare, self.template.image(), self.base, page) };
            let before = self.ages.new_pages();
            let verdict = self.ages.seen(page, changed);
            let is_new = self.ages.new_pages() > before;
            if is_new && !changed {
                // It was only read, and stays as it is until it is written, or it was written
                // without a change. The next scan tells.
                self.ages.forget(page);
                is_exact = false;
                return false;
            }
            seen.dirty += usize::from(changed);
            seen.new += usize::from(is_new);
            if verdict == Verdict::LetGo {
                self.leaving.push(page);
            }
            verdict == Verdict::Keep
        });
        if !is_exact {
            self.gate.mark = None;
        }
        if !self.leaving.is_empty() {
            // SAFETY: the caller's promise; all that was written is restored. Those that are
            // written again fault, which the mark notices.
            unsafe { self.let_go() }?;
        }
        Ok(seen)
    }

    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown), with the range's end as what is open.
    #[cold]
    unsafe fn restore_again(&mut self, range: Range<usize>, limit: usize) -> Result<Seen> {
        let mut found = std::mem::take(&mut self.gate.pages);
        found.clear();
        self.gate.forget();
        self.gate.asked = true;
        let kept = |page| found.push(page);
        // SAFETY: the caller's promise.
        let scanned = unsafe { self.restore_range(range.start, range.end, limit, kept) }?;
        let size = self.template.size();
        if range.end > size {
            let known = range.end.max(self.small_to);
            // SAFETY: so much was open before, in the same mapping.
            self.is_locked |= unsafe { pages::is_locked(self.base.add(size), known - size) };
            // Where the memory had been larger before, pages are clean. When it is as large again,
            // they can be written without a fault.
            self.resident_pages(range.end..self.hidden, |page| found.push(page))?;
        }
        self.gate.pages = found;
        #[cfg(test)]
        {
            self.gate.scans += 1;
        }
        // After the last access to the memory: those may fault as well.
        self.gate.mark = Mark::now();
        Ok(scanned.seen)
    }
}
