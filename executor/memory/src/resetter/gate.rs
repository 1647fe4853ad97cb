//! Asking the kernel what was written only when the thread's faults do not tell, and whether to
//! keep what was.

use super::super::ages::Verdict;
use super::super::faults::{self, Mark};
use super::super::rule::{Rule, Seen};
use super::super::{fault_log, host_page};
use super::kept::Used;
use crate::error::Result;
use std::ops::{ControlFlow, Range};

/// Faults of a call that hardly writes.
const FEW: u64 = 4;

/// The pages that can have been written without a fault since the last scan of a memory or of a
/// part of it.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The thread's faults when the memory was clean again. `None`: the kernel has to be asked.
    mark: Option<Mark>,
    /// The pages that were resident and the memory's own at the mark, but for those that were
    /// dropped since.
    pages: Vec<usize>,
    /// The thread's count of faults when the host got the memory's bytes after the last reset.
    lent: Option<u64>,
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

    /// The host may do anything with the bytes of the memory from now on, such as having the kernel
    /// write to them in ways that no log tells of.
    #[inline]
    pub(super) fn lend(&mut self) {
        if self.lent.is_none() && self.mark.is_some_and(|mark| mark.is_logged()) {
            // Without a count, the mark does not hold.
            self.lent = faults::count();
            self.mark = self.mark.filter(|_| self.lent.is_some());
        }
    }

    /// `true` if the thread had no fault since the host got the bytes, if it did. Asked once after
    /// each use.
    #[inline]
    fn is_as_lent(&mut self) -> bool {
        self.lent.take().is_none_or(|count| faults::count() == Some(count))
    }

    /// The memory is used from now on, on this thread, and was not written since its last reset.
    #[inline]
    pub(super) fn begin(&mut self) {
        if let Some(mark) = self.mark {
            self.mark = mark.renewed();
            self.lent = None;
        }
    }

    /// Restores the known pages of a range of bytes, if no others can have been written; else
    /// returns `None`. Pages behind the range, where the memory had been larger before, stay as
    /// they are: clean.
    #[inline]
    pub(super) fn restore_known(
        &mut self,
        used: &mut Used<'_>,
        range: &Range<usize>,
    ) -> Result<Option<Seen>> {
        if used.knows_threads
            && self.is_as_lent()
            && let Some(mark) = self.mark
            && (mark.holds() || self.add_faults(mark, used, range))
        {
            let seen = self.restore_pages(used, range.end / host_page())?;
            if !mark.is_logged() {
                self.mark = self.mark.map(|mark| mark.logged().unwrap_or(mark));
            }
            return Ok(Some(seen));
        }
        Ok(None)
    }

    /// Adds the pages in which the thread had faults since a mark. Returns `true` if all that can
    /// have been written is known then: not where the log does not tell, or there are too many.
    #[cold]
    fn add_faults(&mut self, mark: Mark, used: &Used<'_>, range: &Range<usize>) -> bool {
        let (start, pages) = (used.memory.address(), &mut self.pages);
        self.mark = mark.each_since(|address| {
            let offset = address.wrapping_sub(start);
            if range.contains(&offset) {
                pages.push(offset / host_page());
            }
        });
        pages.sort();
        pages.dedup();
        self.mark.is_some() && self.pages.len() <= used.kept.limit
    }

    #[inline]
    fn restore_pages(&mut self, used: &mut Used<'_>, open: usize) -> Result<Seen> {
        let (mut seen, mut is_exact) = (Seen::default(), true);
        self.pages.retain(|&page| {
            if page >= open {
                return true;
            }
            let (verdict, changed, is_new) = used.restore(page);
            if is_new && !changed {
                // It was only read, and stays as it is until it is written, or it was written
                // without a change. The next scan tells.
                used.kept.ages.forget(page);
                is_exact = false;
                return false;
            }
            seen.dirty += usize::from(changed);
            seen.new += usize::from(is_new);
            if verdict == Verdict::LetGo {
                used.kept.leaving.push(page);
            }
            verdict == Verdict::Keep
        });
        if !is_exact {
            self.mark = None;
        }
        // Pages that are let go and written again fault, which the mark notices.
        used.let_go()?;
        Ok(seen)
    }

    /// Restores the pages of a new scan of a range of bytes. Resident pages from there to `hidden`
    /// are clean; when the memory is as large again, they can be written without a fault.
    #[cold]
    pub(super) fn scan(
        &mut self,
        used: &mut Used<'_>,
        range: &Range<usize>,
        hidden: usize,
    ) -> Result<Seen> {
        self.forget();
        let (seen, is_full) = used.restore_scanned(range, Some(&mut self.pages))?;
        if hidden > range.end {
            let _ = used.each_run(&(range.end..hidden), |_, region, pages| {
                if !region.is_shared_zeros() {
                    self.pages.extend(pages);
                }
                ControlFlow::Continue(())
            })?;
        }
        #[cfg(test)]
        {
            self.scans += 1;
        }
        // After the last access to the memory: those may fault as well. Of a call that writes more
        // than is kept, the log does not tell enough.
        self.mark = if is_full { Mark::counted() } else { Mark::now() };
        if is_full {
            fault_log::is_unneeded();
        }
        Ok(seen)
    }
}

/// Resets by the faults of a thread while calls write the same pages, and drops all pages while
/// they write others.
#[derive(Debug)]
pub(super) struct ByFaults {
    pub(super) gate: Gate,
    rule: Rule,
}

impl ByFaults {
    pub(super) fn new() -> Self {
        Self { gate: Gate::default(), rule: Rule::new() }
    }

    /// `true` if the next reset drops all pages.
    #[inline]
    pub(super) fn drops(&self) -> bool {
        self.rule.drops()
    }

    /// Makes the memory clean.
    #[inline]
    pub(super) fn reset(&mut self, used: &mut Used<'_>) -> Result<Seen> {
        used.lacks_notes |= !used.knows_threads;
        if self.rule.drops() {
            let few = self.drop_if_written(used)?;
            self.rule.dropped(few);
            return Ok(Seen::default());
        }
        used.kept.ages.next(used.size / host_page());
        let range = 0..used.size;
        let seen = match self.gate.restore_known(used, &range)? {
            Some(seen) => seen,
            None => self.gate.scan(used, &range, range.end)?,
        };
        if self.rule.kept(seen) {
            self.drop_all(used)?;
        }
        Ok(seen)
    }

    /// Drops all pages of a clean memory.
    #[cold]
    pub(super) fn drop_all(&mut self, used: &mut Used<'_>) -> Result<()> {
        self.gate.forget();
        used.drop_all()
    }

    /// Drops all pages of a memory of which none was resident at the mark. Without a page fault
    /// since, none is now. Returns `true` if there were few.
    fn drop_if_written(&mut self, used: &mut Used<'_>) -> Result<bool> {
        // Before the pages are dropped: a fault in between is one too many, not one too few.
        // By their number: a log of pages that are all dropped would be for nothing.
        let now = Mark::counted().filter(|_| used.knows_threads);
        let faults = now.zip(self.gate.mark).and_then(|(now, mark)| now.faults_since(mark));
        if self.gate.is_as_lent() && faults == Some(0) {
            return Ok(true);
        }
        fault_log::is_unneeded();
        self.gate.mark = None;
        used.memory.discard(&(0..used.size))?;
        self.gate.mark = now;
        Ok(faults.is_some_and(|faults| faults <= FEW))
    }
}
