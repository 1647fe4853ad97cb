//! Pages that stay resident: restoring those that a scan finds, and dropping those that nobody
//! writes.

use super::super::ages::{Ages, Verdict};
use super::super::compare::Compare;
use super::super::exclusive::{Exclusive, places};
use super::super::pagemap::{self, Region};
use super::super::rule::Seen;
use super::super::{Image, host_page};
use crate::error::{Error, Result};
use std::ops::{ControlFlow, Range};

/// A used memory, and the image of its clean content.
pub(super) struct Used<'a> {
    pub(super) memory: Exclusive<'a>,
    pub(super) image: Option<&'a Image>,
}

impl Used<'_> {
    /// Calls `found` for the pages of each run in a range of bytes that are resident and the
    /// memory's own, until it breaks.
    pub(super) fn each_run<B>(
        &mut self,
        range: &Range<usize>,
        mut found: impl FnMut(&mut Self, &Region, Range<usize>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>> {
        let start = self.memory.address() as u64;
        let addresses = start + range.start as u64..start + range.end as u64;
        pagemap::each_region(addresses, |region| found(self, region, region.pages(start)))
            .map_err(Error::system("cannot ask which pages were written"))
    }

    /// Calls `found` for each resident page in a range of bytes that is the memory's own.
    pub(super) fn each_resident(
        &mut self,
        range: &Range<usize>,
        mut found: impl FnMut(usize),
    ) -> Result<()> {
        let all = self.each_run(range, |_, region, pages| {
            if !region.is_shared_zeros() {
                pages.for_each(&mut found);
            }
            ControlFlow::<()>::Continue(())
        });
        all.map(drop)
    }
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

/// The state of a scan.
struct Pass<'a> {
    /// Pages that may still be kept.
    room: usize,
    seen: Seen,
    /// The pages that stay, if somebody wants to know.
    kept: Option<&'a mut Vec<usize>>,
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

    /// Restores a page and judges it. Returns what is to become of it, and whether the call changed
    /// it and the last one had not kept it.
    #[inline]
    pub(super) fn restore(&mut self, used: &mut Used<'_>, page: usize) -> (Verdict, bool, bool) {
        let changed = used.memory.restore(self.compare, used.image, page);
        let before = self.ages.new_pages();
        let verdict = self.ages.seen(page, changed);
        (verdict, changed, self.ages.new_pages() > before)
    }

    /// Restores the pages of a range of bytes that the kernel says were written, up to the limit,
    /// and drops the rest. The pages that stay resident are added to `kept`. Returns `true` beside
    /// the findings if there was a rest.
    pub(super) fn restore_scanned(
        &mut self,
        used: &mut Used<'_>,
        range: &Range<usize>,
        kept: Option<&mut Vec<usize>>,
    ) -> Result<(Seen, bool)> {
        self.ages.grow(range.end / host_page());
        let mut pass = Pass { room: self.limit, seen: Seen::default(), kept };
        let full = used.each_run(range, |used, region, pages| {
            self.restore_run(used, region, pages, &mut pass)
        })?;
        if let ControlFlow::Break(page) = full {
            (page..range.end / host_page()).for_each(|page| self.ages.forget(page));
            used.memory.discard(&(page * host_page()..range.end))?;
        }
        // What the call has written is kept before the rest.
        self.leaving.extend(self.idle.drain(pass.room.min(self.idle.len())..));
        match pass.kept {
            Some(kept) => kept.append(&mut self.idle),
            None => self.idle.clear(),
        }
        self.let_go(used)?;
        Ok((pass.seen, full.is_break()))
    }

    /// Restores a run of pages. Breaks with the first one beyond the limit.
    fn restore_run(
        &mut self,
        used: &mut Used<'_>,
        region: &Region,
        pages: Range<usize>,
        pass: &mut Pass<'_>,
    ) -> ControlFlow<usize> {
        if !region.is_shared_zeros() {
            return self.restore_pages(used, pages, pass);
        }
        // Outside the image, these pages were only read.
        for part in used.image.into_iter().flat_map(Image::parts) {
            let inside = pages.start.max(part.start)..pages.end.min(part.end);
            self.restore_pages(used, inside, pass)?;
        }
        ControlFlow::Continue(())
    }

    fn restore_pages(
        &mut self,
        used: &mut Used<'_>,
        pages: Range<usize>,
        pass: &mut Pass<'_>,
    ) -> ControlFlow<usize> {
        for page in pages {
            if pass.room == 0 {
                return ControlFlow::Break(page);
            }
            let (verdict, changed, is_new) = self.restore(used, page);
            let is_written = changed || is_new;
            pass.seen.dirty += usize::from(is_written);
            pass.seen.new += usize::from(is_new);
            match verdict {
                Verdict::Keep if is_written => {
                    pass.room -= 1;
                    if let Some(kept) = &mut pass.kept {
                        kept.push(page);
                    }
                }
                Verdict::Keep => self.idle.push(page),
                Verdict::LetGo => self.leaving.push(page),
            }
        }
        ControlFlow::Continue(())
    }

    /// Drops the pages that are leaving. The memory must be clean: dropped, they are the same.
    #[inline]
    pub(super) fn let_go(&mut self, used: &mut Used<'_>) -> Result<()> {
        if self.leaving.is_empty() { Ok(()) } else { self.drop_leaving(used) }
    }

    #[cold]
    fn drop_leaving(&mut self, used: &mut Used<'_>) -> Result<()> {
        self.leaving.sort_unstable();
        for place in places(&self.leaving) {
            used.memory.discard(&place)?;
        }
        self.leave();
        Ok(())
    }

    /// Notes that the pages which were leaving are gone.
    pub(super) fn leave(&mut self) {
        self.leaving.iter().for_each(|page| self.ages.leave(*page));
        self.leaving.clear();
    }
}
