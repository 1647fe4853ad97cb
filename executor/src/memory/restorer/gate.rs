//! Asking the kernel what was written only when there is a reason.

use super::super::ages::Verdict;
use super::super::faults::Mark;
use super::super::{host_page, pages};
use super::Restorer;
use crate::error::Result;

/// What the last scan of a memory found, and until when that is all there is.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The thread's faults when the memory was clean again after the last scan.
    mark: Option<Mark>,
    /// The pages that were resident and the memory's own then, but for those that were
    /// dropped since.
    pages: Vec<usize>,
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
}

impl Restorer {
    /// Restores the pages of the last scan if the thread had no page fault since, else
    /// those of a new one.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub(super) unsafe fn reset_gated(&mut self, size: usize, limit: usize) -> Result<()> {
        self.ages.next(size / host_page());
        if self.gate.mark.as_ref().is_some_and(Mark::holds) {
            // SAFETY: the caller's promise.
            return unsafe { self.restore_last() };
        }
        // SAFETY: the caller's promise.
        unsafe { self.restore_again(size, limit) }
    }

    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    unsafe fn restore_last(&mut self) -> Result<()> {
        self.gate.pages.retain(|&page| {
            // SAFETY: the scan found only pages of the memory, which nobody else uses now
            // and which are writable.
            let changed =
                unsafe { pages::restore(self.compare, self.plan.image(), self.base, page) };
            let verdict = self.ages.seen(page, changed);
            if verdict == Verdict::LetGo {
                self.leaving.push(page);
            }
            verdict == Verdict::Keep
        });
        if self.leaving.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's promise; all that was written is restored. Those that are
        // written again fault, which the mark notices.
        unsafe { self.let_go() }
    }

    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[cold]
    unsafe fn restore_again(&mut self, size: usize, limit: usize) -> Result<()> {
        self.gate.forget();
        let mut found = std::mem::take(&mut self.gate.pages);
        // SAFETY: the caller's promise.
        unsafe { self.restore_range(0, size, limit, |page| found.push(page)) }?;
        self.gate.pages = found;
        #[cfg(test)]
        {
            self.gate.scans += 1;
        }
        // After the last access to the memory: those may fault as well.
        self.gate.mark = Mark::now();
        Ok(())
    }
}
