//! Bringing back written pages where they are: those that were opened by write faults,
//! and those that the kernel says were written.

use super::super::ages::Verdict;
use super::super::pagemap::{self, Region};
use super::super::rule::Seen;
use super::super::{Image, host_page, mappings, pagemap_scan_available, pages};
use super::{CALM, Resetter};
use crate::error::{Error, Result};
use std::ops::Range;

/// Resets for which pages that are watched again keep their content, should they
/// come back.
const REST: u32 = 256;

/// What a scan found.
#[derive(Default)]
pub(super) struct Scanned {
    /// Pages that the call had changed.
    changed: usize,
    /// What it says about the pages to keep.
    pub(super) seen: Seen,
    /// Runs of pages that are resident.
    runs: usize,
}

impl Resetter {
    /// Restores the pages that were opened by write faults.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub(super) unsafe fn reset_tracked(&mut self, size: usize, limit: usize) -> Result<()> {
        let Some(tracked) = &self.tracked else {
            return match pagemap_scan_available() {
                // SAFETY: the caller's promise.
                true => unsafe { self.reset_untracked(size, limit) },
                // SAFETY: the caller's promise.
                false => unsafe { pages::discard(self.base, size) },
            };
        };
        if tracked.pages.overflowed() {
            // SAFETY: the caller's promise.
            return unsafe { self.reset_overflowed(size, limit) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.restore_listed(size, None) }
    }

    /// Restores the pages that were opened by write faults; the list of them must be complete.
    /// With `into`, exchanges them with those of a clean memory.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), and for the start of the clean memory as for
    /// [`move_written`](Self::move_written).
    #[inline]
    pub(super) unsafe fn restore_listed(
        &mut self,
        size: usize,
        into: Option<*mut u8>,
    ) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        self.ages.next(size / host_page());
        let listed = tracked.pages.listed();
        let mut leaving = std::mem::take(&mut self.leaving);
        // Read once: behind each call the compiler would read them again.
        let (compare, image, base) = (self.compare, self.template.image(), self.base);
        let ages = &mut self.ages;
        for page in tracked.pages.iter() {
            // SAFETY: pages in the list lie in the memory and, where there is one, in the clean
            // one. Nobody else uses these now, and they are writable, or become so by a fault.
            let changed = unsafe {
                match into {
                    None => pages::restore(compare, image, base, page),
                    Some(clean) => pages::exchange(compare, base, clean, page),
                }
            };
            if ages.seen(page, changed) == Verdict::LetGo {
                leaving.push(page);
            }
        }
        self.leaving = leaving;
        if !self.leaving.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { self.let_go() }?;
        }
        if let Some(tail) = self.tracked.as_deref().and_then(|tracked| tracked.pages.halve()) {
            // SAFETY: the caller's promise; all that was written is restored.
            unsafe { self.narrow(tail) }?;
        }
        if listed > mappings::FEW_RUNS && mappings::are_many() {
            // SAFETY: the caller's promise; all that was written is restored.
            unsafe { self.give_back_mappings() }?;
        }
        let rested = self.ages.now().wrapping_sub(self.rest_until) < u32::MAX / 2;
        if !self.resting.is_empty() && rested {
            // SAFETY: the caller's promise.
            return unsafe { self.drop_resting() };
        }
        Ok(())
    }

    /// Watches pages again that a fault opened for a guest that writes in order, unless the
    /// call has changed some of them. Where it writes further each time what is there
    /// already, nothing else tells how far it comes.
    ///
    /// # Safety
    ///
    /// As for [`merge_mappings`](Self::merge_mappings).
    #[cold]
    unsafe fn narrow(&mut self, tail: Range<usize>) -> Result<()> {
        let Some(tracked) = &self.tracked else { return Ok(()) };
        if tail.clone().any(|page| self.ages.is_changed(page)) {
            return Ok(());
        }
        let (start, length) = (tail.start * host_page(), tail.len() * host_page());
        // SAFETY: a fault opened the pages, so they lie in the memory, which is ours to reset
        // and clean.
        if unsafe { pages::watch(self.base.add(start), length) }.is_err() {
            // SAFETY: the caller's promise.
            return unsafe { self.start_over() };
        }
        let most = tracked.pages.keeps();
        tracked.pages.retain(|page| !tail.contains(&page));
        tail.clone().for_each(|page| self.ages.forget(page));
        // SAFETY: the caller's promise.
        unsafe { self.rest(tail, most) }
    }

    /// Notes pages that are watched again and stay resident for a while, up to so many: all of more
    /// are dropped.
    ///
    /// # Safety
    ///
    /// As for [`let_go`](Self::let_go).
    unsafe fn rest(&mut self, pages: impl IntoIterator<Item = usize>, most: usize) -> Result<()> {
        self.resting.extend(pages);
        self.rest_until = self.ages.now().wrapping_add(REST);
        if self.resting.len() > most {
            // SAFETY: the caller's promise.
            unsafe { self.drop_resting() }?;
        }
        Ok(())
    }

    /// While the process has too many mappings, keeps only as many as it may.
    ///
    /// # Safety
    ///
    /// As for [`merge_mappings`](Self::merge_mappings).
    #[cold]
    unsafe fn give_back_mappings(&mut self) -> Result<()> {
        match &self.tracked {
            Some(tracked) if tracked.pages.runs() > mappings::FEW_RUNS => {
                // SAFETY: the caller's promise.
                unsafe { self.merge_mappings() }
            }
            _ => Ok(()),
        }
    }

    /// After a call for which the list was too short, until calls are light.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[cold]
    unsafe fn reset_overflowed(&mut self, size: usize, limit: usize) -> Result<()> {
        let scans = pagemap_scan_available();
        if scans {
            // SAFETY: the caller's promise.
            let Scanned { changed, runs, .. } = unsafe { self.restore_scanned(size, limit) }?;
            let is_light = changed * host_page() * 2 <= limit
                && runs * 2 <= mappings::RUNS
                && (runs <= mappings::FEW_RUNS || !mappings::are_many());
            self.calm = if is_light { self.calm + 1 } else { 0 };
            if self.calm < self.calm_needed {
                return Ok(());
            }
            // Should it be wrong again, it takes longer to come back here.
            self.calm_needed = (self.calm_needed * 2).min(CALM.1);
        }
        // SAFETY: the caller's promise.
        unsafe { self.start_over() }
    }

    /// Restores what the kernel says was written, up to `limit` bytes, and drops
    /// the rest.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    pub(super) unsafe fn restore_scanned(&mut self, size: usize, limit: usize) -> Result<Scanned> {
        self.ages.next(size / host_page());
        // SAFETY: the caller's promise.
        unsafe { self.restore_range(0, size, limit, |_| {}) }
    }

    /// The same for a part of the memory. Calls `kept` for each page that was compared and
    /// stays resident.
    ///
    /// # Safety
    ///
    /// As for [`reset_grown`](Self::reset_grown), with `end` as what is open.
    pub(super) unsafe fn restore_range(
        &mut self,
        first: usize,
        end: usize,
        limit: usize,
        mut kept: impl FnMut(usize),
    ) -> Result<Scanned> {
        let page = host_page();
        self.ages.grow(end / page);
        let start = self.base as u64;
        let mut room = limit / page;
        let mut scanned = Scanned::default();
        let mut regions = [Region::default(); pagemap::REGIONS];
        let mut from = first;
        let mut leaving = std::mem::take(&mut self.leaving);
        // Pages that would be kept and that the call has not written: what it has written is
        // kept before them.
        let mut idle = std::mem::take(&mut self.idle);
        'memory: while from < end {
            let at = start + from as u64;
            let scan = pagemap::scan(at, start + end as u64, &mut regions)
                .map_err(Error::system("cannot ask which pages were written"))?;
            for region in &regions[..scan.found] {
                let found = region.pages(start);
                let mut full_at = None;
                let restore = |page: usize| {
                    if room == 0 {
                        full_at = Some(page);
                        return false;
                    }
                    // SAFETY: the kernel reports only pages inside the range that it
                    // was asked about, which is open and ours to reset.
                    let changed = unsafe {
                        pages::restore(self.compare, self.template.image(), self.base, page)
                    };
                    scanned.changed += usize::from(changed);
                    let before = self.ages.new_pages();
                    let verdict = self.ages.seen(page, changed);
                    let is_new = self.ages.new_pages() > before;
                    let is_written = changed || is_new;
                    scanned.seen.dirty += usize::from(is_written);
                    scanned.seen.new += usize::from(is_new);
                    match verdict {
                        Verdict::Keep if is_written => {
                            room -= 1;
                            kept(page);
                        }
                        Verdict::Keep => idle.push(page),
                        Verdict::LetGo => leaving.push(page),
                    }
                    true
                };
                if region.is_shared_zeros() {
                    let parts = self.template.image().into_iter().flat_map(Image::parts);
                    let of =
                        |part: Range<usize>| found.start.max(part.start)..found.end.min(part.end);
                    parts.flat_map(of).all(restore);
                } else {
                    scanned.runs += 1;
                    found.clone().all(restore);
                }
                if let Some(page) = full_at {
                    // SAFETY: a part of the memory, which is ours to reset.
                    unsafe { self.drop_from(page * host_page(), end) }?;
                    break 'memory;
                }
            }
            let next = scan.next(at).map_err(Error::system("cannot ask about all pages"))?;
            from = (next - start) as usize;
        }
        leaving.extend(idle.drain(room.min(idle.len())..));
        idle.drain(..).for_each(kept);
        (self.leaving, self.idle) = (leaving, idle);
        if !self.leaving.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { self.let_go() }?;
        }
        Ok(scanned)
    }

    /// Calls `found` for each page of a range that is resident and the memory's own.
    pub(super) fn resident_pages(
        &self,
        range: Range<usize>,
        mut found: impl FnMut(usize),
    ) -> Result<()> {
        let start = self.base as u64;
        let addresses = start + range.start as u64..start + range.end as u64;
        pagemap::each_region(addresses, |region| {
            if !region.is_shared_zeros() {
                region.pages(start).for_each(&mut found);
            }
        })
        .map_err(Error::system("cannot ask which pages are resident"))
    }

    /// Drops a part of the memory.
    ///
    /// # Safety
    ///
    /// As for [`restore_range`](Self::restore_range).
    unsafe fn drop_from(&mut self, from: usize, end: usize) -> Result<()> {
        for page in from / host_page()..end / host_page() {
            self.ages.forget(page);
        }
        // SAFETY: the caller's promise.
        unsafe { pages::discard(self.base.add(from), end - from) }
    }

    /// Lets go of the pages that are leaving: where writes are tracked they are
    /// watched again and rest, else they are dropped.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), and the memory must be clean.
    #[cold]
    pub(super) unsafe fn let_go(&mut self) -> Result<()> {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.sort_unstable();
        // SAFETY: the caller's promise.
        let done = unsafe { self.let_go_of(&leaving) };
        leaving.clear();
        self.leaving = leaving;
        done
    }

    /// The same for pages in ascending order.
    ///
    /// # Safety
    ///
    /// As for [`let_go`](Self::let_go).
    unsafe fn let_go_of(&mut self, leaving: &[usize]) -> Result<()> {
        let size = self.template.size();
        let watching = self.tracked.as_deref().filter(|tracked| !tracked.pages.overflowed());
        // Behind the template's size nothing is tracked.
        let grown = leaving.partition_point(|page| watching.is_some() && page * host_page() < size);
        let (watched, dropped) = leaving.split_at(grown);
        // SAFETY: pages of the memory, which is ours to reset; they are clean, and dropped they are
        // the same.
        unsafe {
            pages::for_runs(self.base, dropped, |start, length| pages::discard(start, length))
        }?;
        let runs = watching.map_or(0, |tracked| tracked.pages.runs_without(pages::runs(watched)));
        if runs > mappings::RUNS {
            // Out of the middle of what is open. Should nobody write them as a whole
            // either, the next resets drop them.
            // SAFETY: the caller's promise.
            return unsafe { self.merge_mappings() };
        }
        for page in leaving {
            self.ages.leave(*page);
        }
        self.ages.let_go(leaving.len());
        // SAFETY: as above.
        let is_watched = unsafe {
            pages::for_runs(self.base, watched, |start, length| pages::watch(start, length))
        };
        if is_watched.is_err() {
            // The process may have no more mappings, and each run makes two of one.
            // As a whole the memory takes fewer.
            // SAFETY: the caller's promise.
            return unsafe { self.start_over() };
        }
        if let Some(tracked) = watching {
            tracked.pages.retain(|page| watched.binary_search(&page).is_err());
            tracked.pages.sort();
            let most = tracked.pages.keeps();
            // SAFETY: the caller's promise.
            unsafe { self.rest(watched.iter().copied(), most) }?;
        }
        Ok(())
    }

    /// Drops the pages that rest, but for those that were opened again.
    ///
    /// # Safety
    ///
    /// As for [`let_go`](Self::let_go).
    #[cold]
    unsafe fn drop_resting(&mut self) -> Result<()> {
        let mut resting = std::mem::take(&mut self.resting);
        resting.sort_unstable();
        resting.dedup();
        if let Some(tracked) = &self.tracked {
            resting.retain(|page| !tracked.pages.is_open(*page as u32));
        }
        // SAFETY: pages of the memory, which is ours to reset, clean since they were
        // watched again: dropped they are the same.
        unsafe {
            pages::for_runs(self.base, &resting, |start, length| pages::discard(start, length))
        }
    }
}
