//! One memory and how it is made clean after each use.

mod gate;
mod grown;
mod in_place;

use super::ages::Ages;
use super::compare::Compare;
use super::mapping::hold;
use super::mappings::Held;
use super::rule::{Rule, WATCHED, Watch};
use super::tracked::Tracked;
use super::{MemoryTemplate, ResetMethod, faults, host_page, pages};
use crate::error::{Error, Result};
use gate::Gate;
use std::ops::Deref;
use std::sync::Arc;

/// Light calls after which a memory that was opened as a whole is watched again,
/// at first and at most.
const CALM: (u32, u32) = (4, 256);

const BROKEN: Error = Error::Misuse("use of a memory that could not be reset before");

/// Makes a memory clean again that a [`MemoryTemplate`] was installed to.
///
/// After a reset that failed, or did not come to its end because of a panic, nobody knows
/// what the memory contains: every later one fails too.
///
/// At most the limit's bytes of the memory stay resident after a reset, as much
/// again of what it had grown by or what rests, beside what its image shares with
/// all others.
pub struct Resetter {
    template: MemoryTemplate,
    base: *mut u8,
    compare: Compare,
    ages: Ages,
    /// Pages to be let go, and such that the call has not written, found by the reset that is on
    /// its way.
    leaving: Vec<usize>,
    idle: Vec<usize>,
    /// For [`ResetMethod::Gated`] and [`ResetMethod::Auto`], and for memories that are too many to be
    /// tracked.
    gate: Gate,
    /// The same for what lies behind the template's size. Elsewhere: few memories need it.
    behind: Box<Gate>,
    /// Up to where each fault behind the template's size makes one page writable.
    small_to: usize,
    /// Whether a part behind the template's size was locked when it was scanned: to open what lies there
    /// then makes absent pages writable without a fault.
    is_locked: bool,
    /// Whether the owner [notes](super::UsedOn) on which threads the memory is used.
    notes_threads: bool,
    /// For [`ResetMethod::Auto`].
    rule: Rule,
    watch: Watch,
    /// For [`ResetMethod::Tracked`] and [`ResetMethod::Auto`], unless too many memories are tracked already.
    tracked: Option<Arc<Tracked>>,
    /// Pages that are watched again but still resident (and clean), or were opened
    /// once more since; to be dropped at `rest_until`.
    resting: Vec<usize>,
    rest_until: u32,
    /// Light calls since the whole memory was opened, and how many it takes.
    calm: u32,
    calm_needed: u32,
    /// Pages behind the template's size that nobody can reach but that are still resident, up
    /// to this offset.
    hidden: usize,
    hidden_for: u16,
    /// Set while a reset is on its way, and after one that failed.
    broken: bool,
    /// What the image and a region split the memory into.
    _held: Held,
}

/// A [`Resetter`] that the owner of its memory lends. Unlike through a mutable reference, nobody can
/// put another one in its place, which would reset memory that is not its own.
#[derive(Debug)]
pub struct ResetterMut<'a>(&'a mut Resetter);

impl<'a> From<&'a mut Resetter> for ResetterMut<'a> {
    fn from(resetter: &'a mut Resetter) -> Self {
        Self(resetter)
    }
}

impl Deref for ResetterMut<'_> {
    type Target = Resetter;

    #[inline]
    fn deref(&self) -> &Resetter {
        self.0
    }
}

impl ResetterMut<'_> {
    /// See [`Resetter::note_threads`].
    pub fn note_threads(&mut self) {
        self.0.note_threads();
    }

    /// See [`Resetter::begin_use`].
    ///
    /// # Safety
    ///
    /// As there.
    #[inline]
    pub unsafe fn begin_use(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.begin_use() };
    }

    /// See [`Resetter::trim`].
    ///
    /// # Safety
    ///
    /// As there.
    ///
    /// # Errors
    ///
    /// As there.
    pub unsafe fn trim(&mut self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.0.trim() }
    }
}

// SAFETY: the memory behind `base` is, by the promise made to `MemoryTemplate::install`,
// whoever's this value is; nothing about it belongs to a thread.
unsafe impl Send for Resetter {}
// SAFETY: through a shared reference only plain numbers are given out.
unsafe impl Sync for Resetter {}

impl std::fmt::Debug for Resetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resetter")
            .field("base", &self.base)
            .field("reset", &self.template.reset)
            .field("is_tracked", &self.tracked.is_some())
            .finish_non_exhaustive()
    }
}

impl Resetter {
    /// # Safety
    ///
    /// As for [`MemoryTemplate::install`].
    pub(super) unsafe fn install(template: MemoryTemplate, base: *mut u8) -> Result<Self> {
        let size = template.size();
        let parts = template.image().map_or(0, |image| image.parts().count());
        let held = hold(2 * parts + usize::from(template.region.is_some()))?;
        match &template.image {
            // SAFETY: the caller owns the memory at `base`, of at least the
            // content's size, which the image does not exceed.
            Some(image) => unsafe { image.map_over(base) }?,
            // SAFETY: as above; readable, writable and initialised.
            None => template.content.write(unsafe { std::slice::from_raw_parts_mut(base, size) }),
        }
        let mut resetter = Self {
            template,
            base,
            compare: Compare::new(),
            ages: Ages::new(),
            leaving: Vec::new(),
            idle: Vec::new(),
            gate: Gate::default(),
            behind: Box::default(),
            small_to: size,
            is_locked: false,
            notes_threads: false,
            rule: Rule::new(),
            watch: Watch::new(),
            tracked: None,
            resting: Vec::new(),
            rest_until: 0,
            calm: 0,
            calm_needed: CALM.0,
            hidden: 0,
            hidden_for: 0,
            broken: false,
            _held: held,
        };
        let listed = match resetter.template.reset {
            ResetMethod::Tracked { limit } => Some(limit / host_page()),
            // A log tells at least as much, and its faults cost less.
            ResetMethod::Auto { limit } if !faults::are_logged() => {
                Some((limit / host_page()).min(WATCHED))
            }
            _ => None,
        };
        if let Some(listed) = listed.filter(|_| size > 0) {
            let parts = resetter.template.image.iter().flat_map(|image| image.parts());
            let mappings = std::iter::once(0).chain(parts.flat_map(|part| [part.start, part.end]));
            // SAFETY: the caller owns the range, which is readable and writable; the pages
            // are those of it at which mappings begin. Dropped they are as they were.
            let watched = unsafe {
                pages::make_joinable(base, mappings.filter(|page| page * host_page() < size));
                pages::discard(base, size).and_then(|()| pages::watch(base, size))
            };
            resetter.tracked = watched.ok().and_then(|()| Tracked::new(base, size, listed));
            if resetter.tracked.is_none() {
                // SAFETY: as above. Opened again: it is reset in another way.
                unsafe { pages::open(base, size) }?;
            }
        }
        if resetter.may_be_gated() {
            // SAFETY: the caller owns the range.
            unsafe { pages::make_small(base, size) }?;
        }
        Ok(resetter)
    }

    /// The template that was installed.
    #[must_use]
    pub fn template(&self) -> &MemoryTemplate {
        &self.template
    }

    /// Whether the memory can be used: no reset has failed so far.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        !self.broken
    }

    /// The memory is not to be used any more: no reset succeeds from now on.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
    }

    /// Says that the host may do anything with the bytes of the memory until the next reset, also
    /// have the kernel write to pages that it pins (`O_DIRECT`). Only memories whose resets depend
    /// on the faults of a thread need to know.
    #[inline]
    pub fn lend(&mut self) {
        if self.may_be_gated() {
            self.gate.lend();
        }
        if self.hidden > 0 {
            self.behind.lend();
        }
    }

    /// Says that the owner notes on which threads the memory is used, in a
    /// [`UsedOn`](super::UsedOn), from the next use on. What [`ResetMethod::Gated`] says about others that
    /// write holds then for what the memory grows by, of whatever kind it is, and the kernel need
    /// not be asked about that after each call.
    pub fn note_threads(&mut self) {
        self.notes_threads = true;
    }

    /// The memory gets another owner, who has not said anything yet about threads.
    pub(super) fn forget_owner(&mut self) {
        self.notes_threads = false;
    }

    /// Makes the first [`MemoryTemplate::size`] bytes of the memory clean.
    ///
    /// # Safety
    ///
    /// Nobody may hold a reference into the memory or run on it. What [`ResetMethod::Gated`] says
    /// about others that write must be true where the memory
    /// is of such a kind, or its [threads are noted](Self::note_threads), or it is not clean
    /// afterwards.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory must then not be used.
    #[inline]
    pub unsafe fn reset(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(BROKEN);
        }
        // SAFETY: the caller's promise.
        unsafe { self.restore() }?;
        self.broken = false;
        Ok(())
    }

    /// Makes the template's size clean.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    unsafe fn restore(&mut self) -> Result<()> {
        let size = self.template.size();
        match self.template.reset {
            ResetMethod::Segments => {
                // SAFETY: the promise made to `install` covers the range.
                unsafe { pages::discard(self.base, size) }?;
                // SAFETY: as above, and nobody else has a reference; dropped
                // anonymous pages read as zero.
                let memory = unsafe { std::slice::from_raw_parts_mut(self.base, size) };
                self.template.content.write(memory);
                Ok(())
            }
            // SAFETY: as above.
            ResetMethod::Drop => unsafe { pages::discard(self.base, size) },
            ResetMethod::Resident { limit } => {
                // SAFETY: the caller's promise.
                unsafe { self.restore_scanned(size, limit) }.map(drop)
            }
            // SAFETY: the caller's promise.
            ResetMethod::Gated { limit } => unsafe { self.reset_gated(size, limit) }.map(drop),
            // SAFETY: the caller's promise.
            ResetMethod::Auto { limit } => unsafe { self.reset_auto(size, limit) },
            // SAFETY: the caller's promise.
            ResetMethod::Tracked { limit } => unsafe { self.reset_tracked(size, limit) },
        }
    }

    /// Exchanges the written pages with those of a clean memory: that one then has the content of
    /// this one, which is clean. Returns `false` and changes nothing if more than `most` pages
    /// were written, or it is not known which. If the kernel refuses something after the exchange,
    /// this memory is not [usable](Self::is_usable) any more.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), and `to` must be the start of another memory of
    /// the same clean content, at least as large and the caller's own.
    pub(super) unsafe fn move_written(&mut self, to: *mut u8, most: usize) -> bool {
        let Some(tracked) = &self.tracked else { return false };
        if self.broken || tracked.pages.overflowed() || tracked.pages.listed() > most {
            return false;
        }
        let size = self.template.size();
        self.broken = true;
        // SAFETY: the caller's promise.
        let cleaned =
            unsafe { self.restore_listed(size, Some(to)).and_then(|()| self.restore_hidden()) };
        self.broken = cleaned.is_err();
        true
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
    /// When the kernel refuses; the memory must then not be used.
    pub unsafe fn trim(&mut self) -> Result<()> {
        if self.template.reset.limit().is_none() {
            return Ok(());
        }
        if std::mem::replace(&mut self.broken, true) {
            return Err(BROKEN);
        }
        // SAFETY: the caller's promise.
        unsafe {
            if self.hidden > self.template.size() {
                self.drop_hidden()?;
            }
            self.start_over()?;
        }
        self.broken = false;
        Ok(())
    }

    /// Drops all pages of a clean memory and, where writes are tracked, watches them
    /// all.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[cold]
    unsafe fn start_over(&mut self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.drop_all() }?;
        if let Some(tracked) = &self.tracked {
            // SAFETY: as above.
            unsafe { pages::watch(self.base, self.template.size()) }?;
            tracked.pages.start_over();
        }
        Ok(())
    }

    /// Drops all pages of a clean memory. What was watched still is.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[cold]
    unsafe fn drop_all(&mut self) -> Result<()> {
        let size = self.template.size();
        // SAFETY: the caller's promise; the memory is clean when its pages are dropped.
        unsafe { pages::discard(self.base, size) }?;
        self.ages.forget_all();
        self.gate.forget();
        self.resting.clear();
        self.calm = 0;
        Ok(())
    }

    /// Opens a tracked memory as a whole, so that it takes no more mappings than any
    /// other; the kernel is asked what was written, until calls are light.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset), and the memory must be clean.
    #[cold]
    unsafe fn merge_mappings(&mut self) -> Result<()> {
        self.calm = 0;
        match &self.tracked {
            Some(tracked) if tracked.open_all() => Ok(()),
            // SAFETY: the caller's promise.
            _ => unsafe { self.start_over() },
        }
    }

    /// How often a memory that [may be gated](Self::may_be_gated) asked the kernel.
    #[cfg(test)]
    pub(super) fn scans(&self) -> usize {
        self.gate.scans
    }

    /// Whether the first write to each page is a signal.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.tracked.as_ref().is_some_and(|tracked| !tracked.pages.overflowed())
    }

    /// Whether a memory of kind [`ResetMethod::Auto`] drops all pages in the next reset.
    #[cfg(test)]
    pub(super) fn drops_all(&self) -> bool {
        self.rule.drops() && !self.is_watched()
    }

    /// Pages that the next reset will compare.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        match &self.tracked {
            Some(tracked) if !tracked.pages.overflowed() => tracked.pages.listed(),
            _ => self.ages.kept(),
        }
    }
}
