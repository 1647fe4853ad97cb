//! What a memory has grown by: made zero again, or hidden as it is.

use super::super::{ResetMethod, host_page, pagemap_scan_available, pages};
use super::{BROKEN, Resetter};
use crate::error::Result;

/// What has to lie behind the template's size after a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Zeros: they are seen again when the memory grows.
    MadeZero,
    /// Whatever is there: it is made zero when the memory grows.
    Anything,
}

impl Resetter {
    /// As [`reset`](Self::reset), for a memory whose first `open` bytes may have
    /// been written, more than the template's size: the pages behind that are made
    /// zero too. The caller closes them.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), and `open` bytes must be readable, writable
    /// and the caller's own.
    ///
    /// # Errors
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub unsafe fn reset_grown(&mut self, open: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.reset_with(open, Behind::MadeZero) }
    }

    /// As [`reset_grown`](Self::reset_grown), for a memory whose owner makes zero what it
    /// opens: what lies behind the template's size may keep any content. As much of it as the
    /// limit says stays resident until no call has grown the memory for a while.
    ///
    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown).
    ///
    /// # Errors
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub unsafe fn reset_shrunk(&mut self, open: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.reset_with(open, Behind::Anything) }
    }

    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown).
    #[inline]
    unsafe fn reset_with(&mut self, open: usize, behind: Behind) -> Result<()> {
        let size = self.template.size();
        if open <= size && self.hidden <= size {
            // SAFETY: the caller's promise.
            return unsafe { self.reset() };
        }
        if std::mem::replace(&mut self.broken, true) {
            return Err(BROKEN);
        }
        // SAFETY: the caller's promise.
        unsafe {
            self.restore()?;
            self.restore_behind(open, behind)?;
        }
        self.broken = false;
        Ok(())
    }

    /// Makes of what lies behind the template's size, up to `open`, what it has to be, or lets
    /// go of what has lain there unused for long.
    ///
    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown).
    unsafe fn restore_behind(&mut self, open: usize, behind: Behind) -> Result<()> {
        let size = self.template.size();
        if open > size {
            let limit = match (self.template.reset.limit(), behind) {
                (Some(limit), Behind::Anything) => limit,
                (Some(limit), Behind::MadeZero) if pagemap_scan_available() => {
                    // SAFETY: the caller's promise.
                    unsafe { self.restore_grown(open, limit) }?;
                    self.hidden = self.hidden.max(open);
                    self.hidden_for = 0;
                    return Ok(());
                }
                _ => 0,
            };
            let kept = open.min(size + limit);
            if kept > size {
                self.hidden = self.hidden.max(kept);
                self.hidden_for = 0;
            }
            if kept < open {
                // SAFETY: the caller's range.
                unsafe { pages::discard(self.base.add(kept), open - kept) }?;
            }
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.restore_hidden() }
    }

    /// After a use that has not grown the memory: lets go of what has lain behind the template's size
    /// unused for long.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    pub(super) unsafe fn restore_hidden(&mut self) -> Result<()> {
        if self.hidden > self.template.size() {
            self.hidden_for += 1;
            if self.hidden_for >= self.ages.patience() {
                // SAFETY: the caller's promise.
                unsafe { self.drop_hidden() }?;
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    pub(super) unsafe fn drop_hidden(&mut self) -> Result<()> {
        let size = self.template.size();
        // SAFETY: pages behind the memory that nobody can reach now, opened before by the
        // caller of `reset_with`, in the same mapping.
        unsafe { pages::discard(self.base.add(size), self.hidden - size) }?;
        self.hidden = 0;
        self.behind.forget();
        Ok(())
    }

    /// Whether it is known when the memory is used on several threads, so that the faults of one
    /// tell what was written behind the template's size.
    fn knows_threads(&self) -> bool {
        self.notes_threads
            || matches!(self.template.reset, ResetMethod::Gated { .. } | ResetMethod::Auto { .. })
    }

    /// Makes what a memory has grown by zero again, as [`reset_gated`](Self::reset_gated) does with
    /// the rest where faults tell what was written there, else by a scan.
    ///
    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown).
    unsafe fn restore_grown(&mut self, open: usize, limit: usize) -> Result<()> {
        let size = self.template.size();
        if self.is_locked || !self.knows_threads() {
            self.behind.forget();
            // SAFETY: the caller's promise.
            return unsafe { self.restore_range(size, open, limit, |_| {}) }.map(drop);
        }
        if open > self.small_to {
            // One fault may have made more than a page writable there.
            self.behind.forget();
            // SAFETY: the caller's promise.
            unsafe { pages::make_small(self.base.add(size), open - size) }?;
            self.small_to = open;
        }
        self.ages.grow(open / host_page());
        std::mem::swap(&mut self.gate, &mut *self.behind);
        // SAFETY: the caller's promise.
        let restored = unsafe { self.restore_gated(size..open, limit) };
        std::mem::swap(&mut self.gate, &mut *self.behind);
        restored.map(drop)
    }

    /// Whether the memory was larger than the template's size in one of the last calls.
    #[inline]
    pub(in super::super) fn has_grown(&self) -> bool {
        self.hidden > 0
    }

    /// How often the kernel was asked about what the memory has grown by.
    #[cfg(test)]
    pub(in super::super) fn scans_behind(&self) -> usize {
        self.behind.scans
    }
}
