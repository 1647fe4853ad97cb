//! Memories whose first write to each page is noticed, and what becomes of them where that does not
//! pay.

use super::super::ages::Verdict;
use super::super::exclusive::{Exclusive, places, runs};
use super::super::mappings;
use super::super::rule::Watch;
use super::super::tracked::Tracked;
use super::super::{Image, MemoryTemplate, host_page, pagemap_scan_available};
use super::gate::ByFaults;
use super::kept::Used;
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Resets for which pages that are watched again keep their content, should they come back.
const REST: u32 = 256;

/// The state of a memory of kind [`ResetMethod::Tracked`](super::super::ResetMethod::Tracked).
pub(super) struct Tracking {
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
    /// Starts to watch a clean memory, if there is a place for one more. At most `keep` pages stay
    /// open.
    pub(super) fn new(
        template: &MemoryTemplate,
        memory: &mut Exclusive<'_>,
        base: *mut u8,
        keep: usize,
    ) -> Result<Self> {
        let (size, mut tracked) = (template.size(), None);
        if size > 0 {
            // Of each part, a page with data: others would be allocated in the file.
            let front = template.image().is_none_or(|image| image.start() > 0).then_some(0);
            let parts = template.image().into_iter().flat_map(Image::parts);
            let mappings = front.into_iter().chain(parts.flat_map(|part| [part.end - 1, part.end]));
            memory.make_joinable(mappings.filter(|page| page * host_page() < size));
            let all = 0..size;
            let watched = memory.discard(&all).and_then(|()| memory.watch(&all));
            tracked = watched.ok().and_then(|()| Tracked::new(base, size, keep));
            if tracked.is_none() {
                memory.unwatch(&all)?;
            }
        }
        let (watch, open) = (Watch::new(), ByFaults::new());
        let resting = Vec::new();
        Ok(Self { tracked, watch, open, is_small: false, resting, rest_until: 0 })
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

    /// Makes the memory clean.
    #[inline]
    pub(super) fn reset(&mut self, used: &mut Used<'_>) -> Result<()> {
        if !self.is_watched() {
            return self.reset_open(used);
        }
        self.restore_listed(used, None)?;
        if used.kept.ages.new_pages > 0 { self.note_signals(used) } else { Ok(()) }
    }

    /// Opens the memory if signals keep coming: page faults cost less.
    #[cold]
    fn note_signals(&mut self, used: &mut Used<'_>) -> Result<()> {
        let ends = self.watch.signalled(used.kept.ages.now);
        if ends && pagemap_scan_available() { self.open_all(used) } else { Ok(()) }
    }

    /// Resets a memory that is not watched, until calls are light.
    fn reset_open(&mut self, used: &mut Used<'_>) -> Result<()> {
        if !pagemap_scan_available() {
            return self.start_over(used);
        }
        if !self.is_small {
            used.memory.make_small(&(0..used.size))?;
            self.is_small = true;
        }
        let seen = self.open.reset(used)?;
        if let Some(tracked) = &self.tracked
            && !self.open.drops()
        {
            let is_light =
                seen.new == 0 && seen.dirty * 2 <= used.kept.limit && !mappings::are_many();
            let is_large = tracked.pages.listed() == tracked.pages.keeps();
            if self.watch.not_watched(is_light, is_large, used.kept.ages.now) {
                self.start_over(used)?;
            }
        }
        Ok(())
    }

    /// Restores the pages that were opened by write faults; the list of them must be complete.
    /// With `into`, exchanges them with those of a clean memory.
    #[inline]
    pub(super) fn restore_listed<'a>(
        &mut self,
        used: &mut Used<'a>,
        mut into: Option<Exclusive<'a>>,
    ) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        let kept = &mut *used.kept;
        kept.ages.next(used.size / host_page());
        let listed = tracked.pages.listed();
        // Read once: behind each call the compiler would read it again.
        let compare = kept.compare;
        for page in tracked.pages.iter() {
            let changed = match &mut into {
                None => used.memory.restore(compare, used.image, page),
                Some(clean) => used.memory.exchange(compare, page, clean),
            };
            if kept.ages.seen(page, changed) == Verdict::LetGo {
                kept.leaving.push(page);
            }
        }
        if !kept.leaving.is_empty() {
            self.let_go(used)?;
        }
        if let Some(tail) = self.tracked.as_deref().and_then(|tracked| tracked.pages.halve()) {
            self.narrow(used, tail)?;
        }
        let has_many = |tracked: &Arc<Tracked>| tracked.pages.runs() > mappings::FEW_RUNS;
        if listed > mappings::FEW_RUNS
            && mappings::are_many()
            && self.tracked.as_ref().is_some_and(has_many)
        {
            // While the process has too many mappings, it keeps only as many as it may.
            self.open_all(used)?;
        }
        let rested = used.kept.ages.now.wrapping_sub(self.rest_until) < u32::MAX / 2;
        if !self.resting.is_empty() && rested {
            return self.drop_resting(used);
        }
        Ok(())
    }

    /// Watches the pages again that are leaving. They rest.
    #[cold]
    fn let_go(&mut self, used: &mut Used<'_>) -> Result<()> {
        let Some(tracked) = self.tracked.as_deref() else { return Ok(()) };
        used.kept.leaving.sort_unstable();
        let leaving = &used.kept.leaving;
        if tracked.pages.runs_without(runs(leaving)) > mappings::RUNS {
            // Out of the middle of what is open. If nobody writes them as a whole either, the next
            // resets drop them.
            used.kept.leaving.clear();
            return self.open_all(used);
        }
        if places(leaving).try_for_each(|place| used.memory.watch(&place)).is_err() {
            // The process may have no more mappings, and each run makes two of one. As a whole the
            // memory takes fewer.
            used.kept.leave();
            return self.start_over(used);
        }
        tracked.pages.retain(|page| leaving.binary_search(&page).is_err());
        tracked.pages.sort();
        let most = tracked.pages.keeps();
        self.resting.extend_from_slice(leaving);
        used.kept.leave();
        self.rest(used, most)
    }

    /// Watches pages again that a fault opened for a guest that writes in order, unless the call
    /// has changed some of them. If it writes further each time what is there already, nothing else
    /// tells how far it comes.
    #[cold]
    fn narrow(&mut self, used: &mut Used<'_>, tail: Range<usize>) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        if tail.clone().any(|page| used.kept.ages.is_changed(page)) {
            return Ok(());
        }
        let place = tail.start * host_page()..tail.end * host_page();
        if used.memory.watch(&place).is_err() {
            return self.start_over(used);
        }
        let most = tracked.pages.keeps();
        tracked.pages.retain(|page| !tail.contains(&page));
        tail.clone().for_each(|page| used.kept.ages.forget(page));
        self.resting.extend(tail);
        self.rest(used, most)
    }

    /// Keeps the pages that rest resident for a while, unless they are more than so many.
    fn rest(&mut self, used: &mut Used<'_>, most: usize) -> Result<()> {
        self.rest_until = used.kept.ages.now.wrapping_add(REST);
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

    /// Opens a clean memory as a whole, so that it takes no more mappings than any other.
    #[cold]
    fn open_all(&mut self, used: &mut Used<'_>) -> Result<()> {
        match &self.tracked {
            Some(tracked) if tracked.pages.open_all(&**tracked) => Ok(()),
            _ => self.start_over(used),
        }
    }

    /// Drops all pages of a clean memory and, if it is tracked, watches them all.
    #[cold]
    pub(super) fn start_over(&mut self, used: &mut Used<'_>) -> Result<()> {
        self.open.drop_all(used)?;
        self.resting.clear();
        self.watch.begin(used.kept.ages.now);
        if let Some(tracked) = &self.tracked {
            used.memory.watch(&(0..used.size))?;
            tracked.pages.start_over();
        }
        Ok(())
    }
}
