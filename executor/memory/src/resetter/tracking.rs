//! Memories whose first write to each page is noticed, and what becomes of them where that does not
//! pay.

use super::super::ages::Verdict;
use super::super::exclusive::{Exclusive, places, runs};
use super::super::mappings;
use super::super::rule::Watch;
use super::super::tracked::Tracked;
use super::super::{MemoryTemplate, host_page, pagemap_scan_available};
use super::gate::ByFaults;
use super::kept::{Kept, Used};
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Resets for which pages that are watched again keep their content, should they come back.
const REST: u32 = 256;

/// The state of a memory of kind [`ResetMethod::Tracked`](super::super::ResetMethod::Tracked).
pub(super) struct Tracking {
    pub(super) kept: Kept,
    /// `None` for a memory that is one too many to be tracked.
    tracked: Option<Arc<Tracked>>,
    watch: Watch,
    /// While writes are not watched.
    pub(super) open: ByFaults,
    /// `true` if each fault makes one page writable.
    is_small: bool,
    /// Pages that are watched again but still resident (and clean), or were opened once more since;
    /// to be dropped at `rest_until`.
    resting: Vec<usize>,
    rest_until: u32,
}

impl Tracking {
    /// Starts to watch the first `size` bytes of a clean memory, if there is a place for one more.
    pub(super) fn new(
        template: &MemoryTemplate,
        memory: &mut Exclusive<'_>,
        base: *mut u8,
        limit: usize,
    ) -> Result<Self> {
        let (size, kept) = (template.size(), Kept::new(limit));
        let mut tracked = None;
        if size > 0 {
            let parts = template.image().into_iter().flat_map(|image| image.parts());
            let mappings = std::iter::once(0).chain(parts.flat_map(|part| [part.start, part.end]));
            memory.make_joinable(mappings.filter(|page| page * host_page() < size));
            let all = 0..size;
            let watched = memory.discard(&all).and_then(|()| memory.watch(&all));
            tracked = watched.ok().and_then(|()| Tracked::new(base, size, kept.limit));
            if tracked.is_none() {
                memory.unwatch(&all)?;
            }
        }
        let (watch, open) = (Watch::new(), ByFaults::new());
        let resting = Vec::new();
        Ok(Self { kept, tracked, watch, open, is_small: false, resting, rest_until: 0 })
    }

    /// The list of open pages, while it is complete.
    #[inline]
    fn watched(&self) -> Option<&Tracked> {
        self.tracked.as_deref().filter(|tracked| !tracked.pages.overflowed())
    }

    /// `true` if the first write to each page is a signal.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.watched().is_some()
    }

    /// Pages that were opened by write faults, while all of them are known.
    pub(super) fn listed(&self) -> Option<usize> {
        Some(self.watched()?.pages.listed())
    }

    /// Makes the first `size` bytes clean. Returns `false` if the kernel was asked because nobody
    /// notes on which threads the memory is used.
    #[inline]
    pub(super) fn reset(
        &mut self,
        used: &mut Used<'_>,
        size: usize,
        knows_threads: bool,
    ) -> Result<bool> {
        if !self.is_watched() {
            return self.reset_open(used, size, knows_threads);
        }
        self.restore_listed(used, size, None)?;
        if self.kept.ages.new_pages() > 0 {
            self.note_signals(used, size)?;
        }
        Ok(true)
    }

    /// Opens the memory if signals keep coming: page faults cost less.
    #[cold]
    fn note_signals(&mut self, used: &mut Used<'_>, size: usize) -> Result<()> {
        let ends = self.watch.signalled(self.kept.ages.now());
        if ends && pagemap_scan_available() { self.open_all(used, size) } else { Ok(()) }
    }

    /// Resets a memory that is not watched, until calls are light.
    fn reset_open(
        &mut self,
        used: &mut Used<'_>,
        size: usize,
        knows_threads: bool,
    ) -> Result<bool> {
        if !pagemap_scan_available() {
            return self.start_over(used, size).map(|()| true);
        }
        if !self.is_small {
            used.memory.make_small(&(0..size))?;
            self.is_small = true;
        }
        let seen = self.open.reset(&mut self.kept, used, size, knows_threads)?;
        if let Some(tracked) = &self.tracked
            && !self.open.drops()
        {
            let is_light =
                seen.new == 0 && seen.dirty * 2 <= self.kept.limit && !mappings::are_many();
            let is_large = tracked.pages.listed() == tracked.pages.keeps();
            if self.watch.not_watched(is_light, is_large, self.kept.ages.now()) {
                self.start_over(used, size)?;
            }
        }
        Ok(knows_threads)
    }

    /// Restores the pages that were opened by write faults; the list of them must be complete.
    /// With `into`, exchanges them with those of a clean memory.
    #[inline]
    pub(super) fn restore_listed<'a>(
        &mut self,
        used: &mut Used<'a>,
        size: usize,
        mut into: Option<Exclusive<'a>>,
    ) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        self.kept.ages.next(size / host_page());
        let listed = tracked.pages.listed();
        // Read once: behind each call the compiler would read it again.
        let compare = self.kept.compare;
        for page in tracked.pages.iter() {
            let changed = match &mut into {
                None => used.memory.restore(compare, used.image, page),
                Some(clean) => used.memory.exchange(compare, page, clean),
            };
            if self.kept.ages.seen(page, changed) == Verdict::LetGo {
                self.kept.leaving.push(page);
            }
        }
        if !self.kept.leaving.is_empty() {
            self.let_go(used, size)?;
        }
        if let Some(tail) = self.tracked.as_deref().and_then(|tracked| tracked.pages.halve()) {
            self.narrow(used, size, tail)?;
        }
        if listed > mappings::FEW_RUNS && mappings::are_many() {
            self.give_back_mappings(used, size)?;
        }
        let rested = self.kept.ages.now().wrapping_sub(self.rest_until) < u32::MAX / 2;
        if !self.resting.is_empty() && rested {
            return self.drop_resting(used);
        }
        Ok(())
    }

    /// Watches the pages again that are leaving. They rest.
    #[cold]
    fn let_go(&mut self, used: &mut Used<'_>, size: usize) -> Result<()> {
        let Some(tracked) = self.tracked.as_deref() else { return Ok(()) };
        self.kept.leaving.sort_unstable();
        let leaving = &self.kept.leaving;
        if tracked.pages.runs_without(runs(leaving)) > mappings::RUNS {
            // Out of the middle of what is open. If nobody writes them as a whole either, the next
            // resets drop them.
            self.kept.leaving.clear();
            return self.open_all(used, size);
        }
        if places(leaving).try_for_each(|place| used.memory.watch(&place)).is_err() {
            // The process may have no more mappings, and each run makes two of one. As a whole the
            // memory takes fewer.
            self.kept.leave();
            return self.start_over(used, size);
        }
        tracked.pages.retain(|page| leaving.binary_search(&page).is_err());
        tracked.pages.sort();
        let most = tracked.pages.keeps();
        self.resting.extend_from_slice(leaving);
        self.kept.leave();
        self.rest(used, most)
    }

    /// Watches pages again that a fault opened for a guest that writes in order, unless the call
    /// has changed some of them. If it writes further each time what is there already, nothing else
    /// tells how far it comes.
    #[cold]
    fn narrow(&mut self, used: &mut Used<'_>, size: usize, tail: Range<usize>) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        if tail.clone().any(|page| self.kept.ages.is_changed(page)) {
            return Ok(());
        }
        let place = tail.start * host_page()..tail.end * host_page();
        if used.memory.watch(&place).is_err() {
            return self.start_over(used, size);
        }
        let most = tracked.pages.keeps();
        tracked.pages.retain(|page| !tail.contains(&page));
        tail.clone().for_each(|page| self.kept.ages.forget(page));
        self.resting.extend(tail);
        self.rest(used, most)
    }

    /// Keeps the pages that rest resident for a while, unless they are more than so many.
    fn rest(&mut self, used: &mut Used<'_>, most: usize) -> Result<()> {
        self.rest_until = self.kept.ages.now().wrapping_add(REST);
        if self.resting.len() > most { self.drop_resting(used) } else { Ok(()) }
    }

    /// Drops the pages that rest, but for those that were opened again.
    #[cold]
    fn drop_resting(&mut self, used: &mut Used<'_>) -> Result<()> {
        let mut resting = std::mem::take(&mut self.resting);
        resting.sort_unstable();
        resting.dedup();
        if let Some(tracked) = &self.tracked {
            resting.retain(|page| !tracked.pages.is_open(*page as u32));
        }
        places(&resting).try_for_each(|place| used.memory.discard(&place))
    }

    /// While the process has too many mappings, keeps only as many as it may.
    #[cold]
    fn give_back_mappings(&mut self, used: &mut Used<'_>, size: usize) -> Result<()> {
        match &self.tracked {
            Some(tracked) if tracked.pages.runs() > mappings::FEW_RUNS => self.open_all(used, size),
            _ => Ok(()),
        }
    }

    /// Opens a clean memory as a whole, so that it takes no more mappings than any other.
    #[cold]
    fn open_all(&mut self, used: &mut Used<'_>, size: usize) -> Result<()> {
        match &self.tracked {
            Some(tracked) if tracked.pages.open_all(&**tracked) => Ok(()),
            _ => self.start_over(used, size),
        }
    }

    /// Drops all pages of a clean memory and, if it is tracked, watches them all.
    #[cold]
    pub(super) fn start_over(&mut self, used: &mut Used<'_>, size: usize) -> Result<()> {
        self.open.drop_all(&mut self.kept, used, size)?;
        self.resting.clear();
        self.watch.begin(self.kept.ages.now());
        if let Some(tracked) = &self.tracked {
            used.memory.watch(&(0..size))?;
            tracked.pages.start_over();
        }
        Ok(())
    }
}
