//! One memory and how it is made clean after each use.

use super::ages::{Ages, Verdict};
use super::pagemap::{self, Region};
use super::tracked::Tracked;
use super::{Image, Plan, Reset, compare, host_page};
use crate::error::{Error, Result};
use rustix::mm::MprotectFlags;
use std::sync::Arc;

/// Regions that one scan returns at most; the scan goes on where it stopped.
const REGIONS: usize = 64;
/// Resets for which pages that are watched again keep their content, should they
/// come back.
const REST: u32 = 256;
/// Light calls after which a memory that was opened as a whole is watched again,
/// at first and at most.
const CALM: (u32, u32) = (4, 256);

/// Makes a memory clean again that a [`Plan`] was installed to.
///
/// At most the limit's bytes of the memory stay resident after a reset, as much
/// again of what it had grown by or what rests, beside what its image shares with
/// all others.
pub struct Restorer {
    plan: Plan,
    base: *mut u8,
    ages: Ages,
    /// Pages to be let go, found by the reset that is on its way.
    leaving: Vec<usize>,
    /// For [`Reset::Tracked`], unless too many memories are tracked already.
    tracked: Option<Arc<Tracked>>,
    /// Pages that are watched again but still resident (and clean), or were opened
    /// once more since; to be dropped at `rest_until`.
    resting: Vec<usize>,
    rest_until: u32,
    /// Light calls since the whole memory was opened, and how many it takes.
    calm: u32,
    calm_needed: u32,
    /// Pages behind the plan's size that are closed but still resident (and
    /// zero), up to this offset.
    hidden: usize,
    hidden_for: u16,
}

// SAFETY: the memory behind `base` is, by the promise made to `Plan::install`,
// whoever's this value is; nothing about it belongs to a thread.
unsafe impl Send for Restorer {}
// SAFETY: through a shared reference only plain numbers are given out.
unsafe impl Sync for Restorer {}

impl std::fmt::Debug for Restorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restorer")
            .field("base", &self.base)
            .field("reset", &self.plan.reset)
            .field("is_tracked", &self.tracked.is_some())
            .finish_non_exhaustive()
    }
}

impl Restorer {
    /// # Safety
    ///
    /// As for [`Plan::install`].
    pub(super) unsafe fn install(plan: Plan, base: *mut u8) -> Result<Self> {
        let size = plan.size();
        match &plan.image {
            // SAFETY: the caller owns the memory at `base`, of at least the
            // content's size, which the image does not exceed.
            Some(image) => unsafe { image.map_over(base) }?,
            // SAFETY: as above; readable, writable and initialised.
            None => plan.content.write(unsafe { std::slice::from_raw_parts_mut(base, size) }),
        }
        let mut restorer = Self {
            plan,
            base,
            ages: Ages::new(),
            leaving: Vec::new(),
            tracked: None,
            resting: Vec::new(),
            rest_until: 0,
            calm: 0,
            calm_needed: CALM.0,
            hidden: 0,
            hidden_for: 0,
        };
        if let Reset::Tracked { limit } = restorer.plan.reset
            && size > 0
        {
            // SAFETY: the caller owns the range.
            restorer.tracked = unsafe { watch(base, size) }
                .ok()
                .and_then(|()| Tracked::new(base, size, limit / host_page()));
            if restorer.tracked.is_none() {
                // SAFETY: as above. Opened again: it is reset in another way.
                unsafe { protect(base, size, MprotectFlags::READ | MprotectFlags::WRITE) }?;
            }
        }
        Ok(restorer)
    }

    /// The plan that was installed.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Makes the first [`Plan::size`] bytes of the memory clean.
    ///
    /// # Safety
    ///
    /// Nobody may hold a reference into the memory or run on it.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory must then not be used.
    #[inline]
    pub unsafe fn reset(&mut self) -> Result<()> {
        let size = self.plan.size();
        match self.plan.reset {
            Reset::Segments => {
                // SAFETY: the promise made to `install` covers the range.
                unsafe { drop_pages(self.base, size) }?;
                // SAFETY: as above, and nobody else has a reference; dropped
                // anonymous pages read as zero.
                let memory = unsafe { std::slice::from_raw_parts_mut(self.base, size) };
                self.plan.content.write(memory);
                Ok(())
            }
            // SAFETY: as above.
            Reset::Drop => unsafe { drop_pages(self.base, size) },
            Reset::Resident { limit } => self.restore_scanned(size, limit).map(drop),
            Reset::Tracked { limit } => self.reset_tracked(size, limit),
        }
    }

    /// As [`reset`](Self::reset), for a memory whose first `open` bytes may have
    /// been written, more than the plan's size: the pages behind that are made
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
    pub unsafe fn reset_grown(&mut self, open: usize) -> Result<()> {
        let size = self.plan.size();
        // SAFETY: the caller's promise.
        unsafe { self.reset() }?;
        if open > size {
            match self.plan.reset {
                Reset::Resident { limit } | Reset::Tracked { limit }
                    if super::pagemap_scan_available() =>
                {
                    self.restore_range(size, open, limit)?;
                    self.hidden = self.hidden.max(open);
                    self.hidden_for = 0;
                    return Ok(());
                }
                // SAFETY: the caller's range.
                _ => return unsafe { drop_pages(self.base.add(size), open - size) },
            }
        }
        if self.hidden > size {
            self.hidden_for += 1;
            if self.hidden_for >= self.ages.patience() {
                // SAFETY: closed pages behind the memory, opened by `reset_grown`'s
                // caller before, in the same mapping.
                unsafe { drop_pages(self.base.add(size), self.hidden - size) }?;
                self.hidden = 0;
            }
        }
        Ok(())
    }

    /// Lets go of all pages of a clean memory: for one that will be idle. The next
    /// use is as clean, and pays for the pages it writes.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), after which nothing was written.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory is then as clean as it was.
    pub unsafe fn trim(&mut self) -> Result<()> {
        let size = self.plan.size();
        if matches!(self.plan.reset, Reset::Resident { .. } | Reset::Tracked { .. }) {
            if self.hidden > size {
                // SAFETY: closed pages behind the memory, in the same mapping.
                unsafe { drop_pages(self.base.add(size), self.hidden - size) }?;
                self.hidden = 0;
            }
            self.start_over()?;
        }
        Ok(())
    }

    /// Drops all pages of a clean memory and, where writes are tracked, watches them
    /// all.
    #[cold]
    fn start_over(&mut self) -> Result<()> {
        let size = self.plan.size();
        // SAFETY: the memory is ours to reset, by the callers' callers; it is clean
        // when its pages are dropped.
        unsafe { drop_pages(self.base, size) }?;
        self.ages.forget_all();
        self.resting.clear();
        self.calm = 0;
        if let Some(tracked) = &self.tracked {
            // SAFETY: as above.
            unsafe { watch(self.base, size) }?;
            tracked.pages.start_over();
        }
        Ok(())
    }

    /// Pages that the next reset will compare.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        match &self.tracked {
            Some(tracked) if !tracked.pages.overflowed() => tracked.pages.listed(),
            _ => self.ages.kept(),
        }
    }

    /// Restores the pages that were opened by write faults.
    #[inline]
    fn reset_tracked(&mut self, size: usize, limit: usize) -> Result<()> {
        let Some(tracked) = &self.tracked else {
            return match super::pagemap_scan_available() {
                true => self.restore_scanned(size, limit).map(drop),
                // SAFETY: the memory is ours to reset, by `reset`'s caller.
                false => unsafe { drop_pages(self.base, size) },
            };
        };
        if tracked.pages.overflowed() {
            return self.reset_overflowed(size, limit);
        }
        self.ages.next(size / host_page());
        let mut leaving = std::mem::take(&mut self.leaving);
        for index in 0..tracked.pages.listed() {
            let page = tracked.pages.page(index);
            // SAFETY: pages in the list lie in the memory, which nobody else uses now,
            // and are writable.
            let changed = unsafe { restore_page(self.plan.image(), self.base, page) };
            if self.ages.seen(page, changed) == Verdict::LetGo {
                leaving.push(page);
            }
        }
        self.leaving = leaving;
        if !self.leaving.is_empty() {
            self.let_go()?;
        }
        let rested = self.ages.now().wrapping_sub(self.rest_until) < u32::MAX / 2;
        if !self.resting.is_empty() && rested { self.drop_resting() } else { Ok(()) }
    }

    /// After a call for which the list was too short, until calls are light.
    #[cold]
    fn reset_overflowed(&mut self, size: usize, limit: usize) -> Result<()> {
        let scans = super::pagemap_scan_available();
        if scans {
            let written = self.restore_scanned(size, limit)?;
            self.calm = if written * host_page() * 2 <= limit { self.calm + 1 } else { 0 };
            if self.calm < self.calm_needed {
                return Ok(());
            }
            // Should it be wrong again, it takes longer to come back here.
            self.calm_needed = (self.calm_needed * 2).min(CALM.1);
        }
        self.start_over()
    }

    /// Restores what the kernel says was written, up to `limit` bytes, and drops
    /// the rest. Returns how many pages the call had changed.
    fn restore_scanned(&mut self, size: usize, limit: usize) -> Result<usize> {
        self.ages.next(size / host_page());
        self.restore_range(0, size, limit)
    }

    /// The same for a part of the memory.
    fn restore_range(&mut self, first: usize, end: usize, limit: usize) -> Result<usize> {
        let page = host_page();
        self.ages.grow(end / page);
        let start = self.base as u64;
        let mut budget = (limit / page) as u64;
        let mut written = 0;
        let mut regions = [Region::default(); REGIONS];
        let mut from = first;
        let mut leaving = std::mem::take(&mut self.leaving);
        while from < end {
            if budget == 0 {
                for page in from / page..end / page {
                    self.ages.forget(page);
                }
                // SAFETY: a part of the memory, which is ours to reset.
                unsafe { drop_pages(self.base.add(from), end - from) }?;
                break;
            }
            let scan = pagemap::scan(start + from as u64, start + end as u64, budget, &mut regions)
                .map_err(Error::system("cannot ask which pages were written"))?;
            for region in &regions[..scan.found] {
                let (first, last) =
                    ((region.start - start) as usize / page, (region.end - start) as usize / page);
                budget = budget.saturating_sub((last - first) as u64);
                for page in first..last {
                    // SAFETY: the kernel reports only pages inside the range that it
                    // was asked about, which is open and ours to reset.
                    let changed = unsafe { restore_page(self.plan.image(), self.base, page) };
                    written += usize::from(changed);
                    if self.ages.seen(page, changed) == Verdict::LetGo {
                        leaving.push(page);
                    }
                }
            }
            let walked_to = (scan.walked_to - start) as usize;
            if walked_to <= from {
                break;
            }
            from = walked_to;
        }
        self.leaving = leaving;
        if !self.leaving.is_empty() {
            self.let_go()?;
        }
        Ok(written)
    }

    /// Lets go of the pages that are leaving: where writes are tracked they are
    /// watched again and rest, else they are dropped.
    #[cold]
    fn let_go(&mut self) -> Result<()> {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.sort_unstable();
        for page in &leaving {
            self.ages.forget(*page);
        }
        self.ages.let_go(leaving.len());
        let size = self.plan.size();
        let watching = self.tracked.as_deref().filter(|tracked| !tracked.pages.overflowed());
        // Behind the plan's size nothing is tracked.
        let grown = leaving.partition_point(|page| watching.is_some() && page * host_page() < size);
        let (watched, dropped) = leaving.split_at(grown);
        // SAFETY: pages of the memory, which is ours to reset; they are clean, and
        // dropped they are the same.
        let is_watched = unsafe {
            for_runs(self.base, dropped, |start, length| drop_pages(start, length))?;
            for_runs(self.base, watched, |start, length| watch(start, length))
        };
        if is_watched.is_err() {
            // The process may have no more mappings, and each run makes two of one.
            // As a whole the memory takes fewer.
            leaving.clear();
            self.leaving = leaving;
            return self.start_over();
        }
        if let Some(tracked) = watching {
            tracked.pages.retain(|page| watched.binary_search(&page).is_err());
            tracked.pages.sort();
            self.resting.extend_from_slice(watched);
            self.rest_until = self.ages.now().wrapping_add(REST);
            if self.resting.len() > tracked.pages.keeps() {
                self.drop_resting()?;
            }
        }
        leaving.clear();
        self.leaving = leaving;
        Ok(())
    }

    /// Drops the pages that rest, but for those that were opened again.
    #[cold]
    fn drop_resting(&mut self) -> Result<()> {
        let mut resting = std::mem::take(&mut self.resting);
        resting.sort_unstable();
        resting.dedup();
        if let Some(tracked) = &self.tracked {
            resting.retain(|page| !tracked.pages.is_open(*page as u32));
        }
        // SAFETY: pages of the memory, which is ours to reset, clean since they were
        // watched again: dropped they are the same.
        unsafe { for_runs(self.base, &resting, |start, length| drop_pages(start, length)) }
    }
}

/// Calls `each` with start and length of each run of neighbours among pages in
/// ascending order.
///
/// # Safety
///
/// The pages must lie in a memory at `base`.
unsafe fn for_runs(
    base: *mut u8,
    pages: &[usize],
    mut each: impl FnMut(*mut u8, usize) -> Result<()>,
) -> Result<()> {
    for run in pages.chunk_by(|one, next| one + 1 == *next) {
        // SAFETY: the caller's promise.
        each(unsafe { base.add(run[0] * host_page()) }, run.len() * host_page())?;
    }
    Ok(())
}

/// Writes the clean content over a page; whether that changed anything.
///
/// # Safety
///
/// The page must lie in an accessible memory at `base` that nobody else uses.
#[inline]
unsafe fn restore_page(image: Option<&Image>, base: *mut u8, page: usize) -> bool {
    let (start, length) = (page * host_page(), host_page());
    // SAFETY: the caller's promise.
    let used = unsafe { std::slice::from_raw_parts_mut(base.add(start), length) };
    // The image is made of whole pages as well.
    match image.and_then(|image| image.bytes().get(start..start + length)) {
        Some(clean) => compare::restore(used, clean),
        None => compare::clear(used),
    }
}

/// Makes pages read-only, so that the next write to them is noticed.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
unsafe fn watch(base: *mut u8, size: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { protect(base, size, MprotectFlags::READ) }
}

/// # Safety
///
/// The range must be page-aligned and the caller's own.
unsafe fn protect(base: *mut u8, size: usize, flags: MprotectFlags) -> Result<()> {
    // SAFETY: the caller owns the range.
    unsafe { rustix::mm::mprotect(base.cast(), size, flags) }
        .map_err(Error::system("cannot change the protection of a memory"))
}

/// Drops the pages of a range; they read as the file under them or as zero.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
unsafe fn drop_pages(base: *mut u8, size: usize) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller owns the range.
    unsafe { rustix::mm::madvise(base.cast(), size, rustix::mm::Advice::LinuxDontNeed) }
        .map_err(Error::system("cannot drop the pages of a memory"))
}
