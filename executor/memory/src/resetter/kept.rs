//! Pages that stay resident: restoring those that a scan finds, and dropping those that nobody
//! writes.

use super::super::ages::{Ages, Verdict};
use super::super::compare::Compare;
use super::super::exclusive::{Exclusive, places};
use super::super::pagemap::{self, Region};
use super::super::rule::Seen;
use super::super::{Image, MemoryTemplate, host_page};
use crate::error::{Error, Result};
use std::ops::{ControlFlow, Range};

/// A used memory, and what its reset needs.
pub(super) struct Used<'a> {
    pub(super) memory: Exclusive<'a>,
    /// That of the clean content.
    pub(super) image: Option<&'a Image>,
    /// Bytes of a clean memory.
    pub(super) size: usize,
    pub(super) kept: &'a mut Kept,
    /// `true` if the faults of this thread tell what was written, or the mark does not hold.
    pub(super) knows_threads: bool,
    /// Set if the kernel was asked because nobody notes on which threads the memory is used.
    pub(super) lacks_notes: bool,
}

/// The pages that stay resident after a reset.
#[derive(Debug)]
pub(super) struct Kept {
    /// Pages that stay at most.
    pub(super) limit: usize,
    pub(super) compare: Compare,
    pub(super) ages: Ages,
    /// Found by the reset that is on its way: pages to be let go.
    pub(super) leaving: Vec<usize>,
    /// Pages that the call has not written.
    idle: Vec<usize>,
}

impl Kept {
    /// `limit`: bytes that stay at most.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit / host_page(),
            compare: Compare::new(),
            ages: Ages::default(),
            leaving: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// Notes that the pages which were leaving are gone.
    pub(super) fn leave(&mut self) {
        self.leaving.iter().for_each(|page| self.ages.leave(*page));
        self.leaving.clear();
    }
}

/// The state of a scan.
struct Pass<'a> {
    /// Pages that may still be kept.
    room: usize,
    seen: Seen,
    /// The pages that stay, if somebody wants to know.
    stay: Option<&'a mut Vec<usize>>,
}

impl<'a> Used<'a> {
    pub(super) fn new(
        memory: Exclusive<'a>,
        template: &'a MemoryTemplate,
        kept: &'a mut Kept,
        knows_threads: bool,
    ) -> Self {
        let (image, size) = (template.image(), template.size());
        Self { memory, image, size, kept, knows_threads, lacks_notes: false }
    }

    /// Calls `found` for the pages of each run in a range of bytes that are resident and the
    /// memory's own, until it breaks.
    pub(super) fn each_run(
        &mut self,
        range: &Range<usize>,
        mut found: impl FnMut(&mut Self, &Region, Range<usize>) -> ControlFlow<usize>,
    ) -> Result<ControlFlow<usize>> {
        let start = self.memory.address() as u64;
        let addresses = start + range.start as u64..start + range.end as u64;
        pagemap::each_region(addresses, |region| found(self, region, region.pages(start)))
            .map_err(Error::system("cannot ask which pages were written"))
    }

    /// Restores a page and judges it. Returns what is to become of it, and whether the call changed
    /// it and the last one had not kept it.
    #[inline]
    pub(super) fn restore(&mut self, page: usize) -> (Verdict, bool, bool) {
        let ages = &mut self.kept.ages;
        let changed = self.memory.restore(self.kept.compare, self.image, page);
        let before = ages.new_pages;
        let verdict = ages.seen(page, changed);
        (verdict, changed, ages.new_pages > before)
    }

    /// Restores the pages of a range of bytes that the kernel says were written, up to the limit,
    /// and drops the rest. The pages that stay resident are added to `stay`. Returns `true` beside
    /// the findings if there was a rest.
    pub(super) fn restore_scanned(
        &mut self,
        range: &Range<usize>,
        stay: Option<&mut Vec<usize>>,
    ) -> Result<(Seen, bool)> {
        self.kept.ages.grow(range.end / host_page());
        let mut pass = Pass { room: self.kept.limit, seen: Seen::default(), stay };
        let full =
            self.each_run(range, |used, region, pages| used.restore_run(region, pages, &mut pass))?;
        if let ControlFlow::Break(page) = full {
            (page..range.end / host_page()).for_each(|page| self.kept.ages.forget(page));
            self.memory.discard(&(page * host_page()..range.end))?;
        }
        // What the call has written is kept before the rest.
        let Kept { leaving, idle, .. } = &mut *self.kept;
        leaving.extend(idle.drain(pass.room.min(idle.len())..));
        match pass.stay {
            Some(stay) => stay.append(idle),
            None => idle.clear(),
        }
        self.let_go()?;
        Ok((pass.seen, full.is_break()))
    }

    /// Restores a run of pages. Breaks with the first one beyond the limit.
    fn restore_run(
        &mut self,
        region: &Region,
        pages: Range<usize>,
        pass: &mut Pass<'_>,
    ) -> ControlFlow<usize> {
        if !region.is_shared_zeros() {
            return self.restore_pages(pages, pass);
        }
        // Outside the image, these pages were only read.
        for part in self.image.into_iter().flat_map(Image::parts) {
            let inside = pages.start.max(part.start)..pages.end.min(part.end);
            self.restore_pages(inside, pass)?;
        }
        ControlFlow::Continue(())
    }

    fn restore_pages(&mut self, pages: Range<usize>, pass: &mut Pass<'_>) -> ControlFlow<usize> {
        for page in pages {
            if pass.room == 0 {
                return ControlFlow::Break(page);
            }
            let (verdict, changed, is_new) = self.restore(page);
            let is_written = changed || is_new;
            pass.seen.dirty += usize::from(is_written);
            pass.seen.new += usize::from(is_new);
            match verdict {
                Verdict::Keep if is_written => {
                    pass.room -= 1;
                    pass.stay.iter_mut().for_each(|stay| stay.push(page));
                }
                Verdict::Keep => self.kept.idle.push(page),
                Verdict::LetGo => self.kept.leaving.push(page),
            }
        }
        ControlFlow::Continue(())
    }

    /// Drops the pages that are leaving. The memory must be clean: dropped, they are the same.
    #[inline]
    pub(super) fn let_go(&mut self) -> Result<()> {
        if self.kept.leaving.is_empty() { Ok(()) } else { self.drop_leaving() }
    }

    #[cold]
    fn drop_leaving(&mut self) -> Result<()> {
        self.kept.leaving.sort_unstable();
        places(&self.kept.leaving).try_for_each(|place| self.memory.discard(&place))?;
        self.kept.leave();
        Ok(())
    }

    /// Drops all pages of a clean memory.
    pub(super) fn drop_all(&mut self) -> Result<()> {
        self.kept.ages.forget_all();
        self.memory.discard(&(0..self.size))
    }
}
