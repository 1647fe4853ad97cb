//! One memory and how it is made clean after each use.

mod gate;
mod grown;
mod kept;
mod tracking;

use super::exclusive::Exclusive;
use super::{HeldMappings, Image, InitialContent, MemoryTemplate, ResetMethod, host_page};
use crate::error::{Error, Result};
use gate::ByFaults;
use grown::{Behind, Grown};
use kept::{Kept, Used};
use std::ops::Deref;
use std::sync::Arc;
use tracking::Tracking;

const BROKEN: Error = Error::Misuse("use of a memory that could not be reset before");

/// Makes a memory clean again that a [`MemoryTemplate`] was installed to.
///
/// After a reset that failed or was interrupted by a panic, the content of the memory is unknown,
/// and every later reset fails.
///
/// At most the limit's bytes of the memory stay resident after a reset, as much again of what it
/// had grown by or what rests, beside what its image shares with all others.
pub struct Resetter {
    template: MemoryTemplate,
    base: *mut u8,
    kind: Kind,
    /// Empty for kinds that keep no pages, as `grown` is.
    kept: Kept,
    grown: Grown,
    /// `true` if the owner [notes](super::UsedOn) on which threads the memory is used.
    notes_threads: bool,
    /// `true` if the last reset had to ask the kernel because the owner does not.
    lacks_notes: bool,
    /// Set while a reset is on its way, and after one that failed.
    broken: bool,
    /// For the parts into which the image and a region split the memory.
    _held: HeldMappings,
}

/// The state of each [`ResetMethod`].
enum Kind {
    /// All pages are dropped. [`ResetMethod::Segments`] has content that is copied in again.
    Drop(Option<Arc<InitialContent>>),
    Resident,
    Gated(ByFaults),
    Tracked(Tracking),
}

/// A [`Resetter`] that the owner of its memory lends. Unlike through a mutable reference, nobody
/// can put another one in its place, which would reset memory that is not its own.
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
            .finish_non_exhaustive()
    }
}

impl MemoryTemplate {
    /// Gives a memory that is all zero and untouched its clean content: maps the image over it or
    /// copies the segments in, and maps the region behind it. What comes back makes it clean again
    /// after a use, and leaves the region alone. Fails when the kernel refuses.
    ///
    /// # Safety
    ///
    /// `base` must be the page-aligned start of a private mapping of at least
    /// [`whole_size`](Self::whole_size) bytes, readable and writable. It must stay mapped, at
    /// this place, and the caller's own until the result is dropped; until then
    /// the protection of its pages and what lies under them is the result's
    /// business, and after that nobody may write to it any more. Where there is a region, nobody
    /// but a guest may write behind [`size`](Self::size): there is a fault.
    pub unsafe fn install(&self, base: *mut u8) -> Result<Resetter> {
        let size = self.size();
        let parts = self.image().into_iter().flat_map(Image::parts);
        let borders = parts.flat_map(|part| [part.start * host_page(), part.end * host_page()]);
        let splits = borders.filter(|border| (1..size).contains(border)).count();
        let held = HeldMappings::new(splits + usize::from(self.region.is_some()))?;
        // SAFETY: the caller owns the memory, and nobody uses it yet.
        let mut memory = unsafe { Exclusive::new(base, size, self.whole_size()) };
        if let Some(region) = &self.region {
            region.map_over(&mut memory, size)?;
        }
        match &self.image {
            Some(image) => image.map_over(&mut memory)?,
            None if self.reset == ResetMethod::Segments => self.content.write(memory.bytes(size)),
            None => {}
        }
        let (limit, kind) = match self.reset {
            ResetMethod::Segments => (0, Kind::Drop(Some(Arc::clone(&self.content)))),
            ResetMethod::Drop => (0, Kind::Drop(None)),
            ResetMethod::Resident { limit } => (limit, Kind::Resident),
            ResetMethod::Gated { limit } => {
                memory.make_small(&(0..size))?;
                (limit, Kind::Gated(ByFaults::new()))
            }
            ResetMethod::Tracked { limit } => {
                let keep = limit / host_page();
                (limit, Kind::Tracked(Tracking::new(self, &mut memory, base, keep)?))
            }
        };
        Ok(Resetter {
            template: self.clone(),
            base,
            kind,
            kept: Kept::new(limit),
            grown: Grown::default(),
            notes_threads: false,
            lacks_notes: false,
            broken: false,
            _held: held,
        })
    }
}

impl Resetter {
    /// The template that was installed.
    pub fn template(&self) -> &MemoryTemplate {
        &self.template
    }

    /// `true` if the memory can be used: no reset has failed so far.
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
        match &mut self.kind {
            Kind::Gated(by_faults) => by_faults.gate.lend(),
            Kind::Tracked(tracking) => tracking.open.gate.lend(),
            Kind::Drop(_) | Kind::Resident => {}
        }
        self.grown.gate.lend();
    }

    /// The memory gets another owner, who has not said anything yet about threads.
    pub(super) fn forget_owner(&mut self) {
        (self.notes_threads, self.lacks_notes) = (false, false);
    }

    /// `true` if resets may depend on the faults of a thread.
    pub(super) fn asks_threads(&self) -> bool {
        self.grown.hidden > 0
            || match &self.kind {
                Kind::Drop(_) | Kind::Resident => false,
                Kind::Gated(_) => true,
                Kind::Tracked(tracking) => !tracking.is_watched(),
            }
    }

    /// `true` if the last reset had to ask the kernel because the owner does not
    /// [note threads](ResetterMut::note_threads).
    #[inline]
    pub fn lacks_notes(&self) -> bool {
        self.lacks_notes
    }

    /// Makes the memory clean. Its first `open` bytes may have been written, or the template's size
    /// if that is more: the pages behind that are made zero. The caller closes them. Fails when the
    /// kernel refuses; the memory must then not be used.
    ///
    /// # Safety
    ///
    /// Nobody may hold a reference into the memory or run on it. What [`ResetMethod::Gated`] says
    /// about others that write must be true where the memory is of that kind, or its
    /// [threads are noted](ResetterMut::note_threads), or it is not clean afterwards. `open` bytes
    /// must be readable, writable and the caller's own. They must stay mapped until the resetter is
    /// dropped, also where they are closed: later resets still let go of their pages.
    #[inline]
    pub unsafe fn reset(&mut self, open: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.reset_with(open, Behind::MadeZero) }
    }

    /// As [`reset`](Self::reset), for a memory whose owner makes zero what it opens: what lies
    /// behind the template's size may keep any content. As much of it as the limit says stays
    /// resident until no call has grown the memory for a while. Fails as [`reset`](Self::reset)
    /// does.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    pub unsafe fn reset_shrunk(&mut self, open: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.reset_with(open, Behind::Anything) }
    }

    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    #[inline]
    unsafe fn reset_with(&mut self, open: usize, behind: Behind) -> Result<()> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(BROKEN);
        }
        let size = self.template.size();
        let open = open.max(size);
        // SAFETY: the caller's promise, and that of `install`: the memory is the caller's own, and
        // what was open in earlier resets lies behind it in the same mapping.
        let memory = unsafe { Exclusive::new(self.base, open, self.grown.known_to()) };
        let knows_threads = self.notes_threads || matches!(self.kind, Kind::Gated(_));
        let mut used = Used::new(memory, &self.template, &mut self.kept, knows_threads);
        match &mut self.kind {
            Kind::Drop(content) => {
                used.memory.discard(&(0..open))?;
                if let Some(content) = content {
                    content.write(used.memory.bytes(size));
                }
            }
            Kind::Resident => {
                used.kept.ages.next(size / host_page());
                used.restore_scanned(&(0..size), None)?;
            }
            Kind::Gated(by_faults) => drop(by_faults.reset(&mut used)?),
            Kind::Tracked(tracking) => tracking.reset(&mut used)?,
        }
        if open > size && !matches!(self.kind, Kind::Drop(_)) {
            self.grown.reset(&mut used, open, behind)?;
        } else if self.grown.hidden > 0 {
            self.grown.rest(&mut used)?;
        }
        self.lacks_notes = used.lacks_notes;
        self.broken = false;
        Ok(())
    }

    /// Exchanges the written pages with those of a clean memory, `to`, of the same content: that
    /// one then has the content of this one, which is clean. Returns `false` and changes nothing if
    /// more than `most` pages were written, or it is not known which. If the kernel refuses
    /// something after the exchange, this memory is not [usable](Self::is_usable) any more.
    pub(super) fn move_written(
        &mut self,
        own: Exclusive<'_>,
        to: Exclusive<'_>,
        most: usize,
    ) -> bool {
        assert_eq!(own.address(), self.base.addr(), "another memory");
        let Kind::Tracked(tracking) = &mut self.kind else { return false };
        if self.broken || tracking.listed().is_none_or(|listed| listed > most) {
            return false;
        }
        let mut used = Used::new(own, &self.template, &mut self.kept, self.notes_threads);
        // Until all is done: a panic in between leaves a half-exchanged memory.
        self.broken = true;
        let mut cleaned = tracking.restore_listed(&mut used, Some(to));
        if self.grown.hidden > 0 {
            cleaned = cleaned.and_then(|()| self.grown.rest(&mut used));
        }
        self.broken = cleaned.is_err();
        true
    }
}

impl ResetterMut<'_> {
    /// Says that the owner notes on which threads the memory is used, in a
    /// [`UsedOn`](super::UsedOn), from the next use on. What [`ResetMethod::Gated`] says about
    /// others that write must hold then for memories of every kind, and the kernel need not be
    /// asked after each call about what the memory grows by, or about a tracked memory that is [not
    /// watched](ResetMethod::Tracked).
    pub fn note_threads(&mut self) {
        (self.0.notes_threads, self.0.lacks_notes) = (true, false);
    }

    /// Says that the memory is used from now on. If it is of kind [`ResetMethod::Tracked`] and not
    /// watched, and its [threads are noted](Self::note_threads), the next reset asks the kernel
    /// only if the thread had a page fault since. What other memories did in between does not
    /// matter.
    ///
    /// # Safety
    ///
    /// Nobody may have written the memory since its last reset, and what [`ResetMethod::Gated`]
    /// says about other threads and processes must be true from now on until the next one.
    #[inline]
    pub unsafe fn begin_use(&mut self) {
        if let Kind::Tracked(tracking) = &mut self.0.kind {
            tracking.open.gate.begin();
        }
        self.0.grown.gate.begin();
    }

    /// Lets go of all pages of a clean memory: for one that will be idle. The next use is as clean,
    /// and pays for the pages it writes. Fails when the kernel refuses; the memory must then not be
    /// used.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Resetter::reset), after which nothing was written.
    pub unsafe fn trim(&mut self) -> Result<()> {
        let Resetter { base, kind, kept, grown, broken, template, .. } = &mut *self.0;
        if matches!(kind, Kind::Drop(_)) {
            return Ok(());
        }
        if std::mem::replace(broken, true) {
            return Err(BROKEN);
        }
        // SAFETY: as in `reset_with`.
        let memory = unsafe { Exclusive::new(*base, template.size(), grown.known_to()) };
        let mut used = Used::new(memory, template, kept, false);
        grown.drop_all(&mut used)?;
        match kind {
            Kind::Drop(_) => {}
            Kind::Resident => used.drop_all()?,
            Kind::Gated(by_faults) => by_faults.drop_all(&mut used)?,
            Kind::Tracked(tracking) => tracking.start_over(&mut used)?,
        }
        *broken = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Resetter {
        /// `true` if the first write to each page is a signal.
        pub(in super::super) fn is_watched(&self) -> bool {
            matches!(&self.kind, Kind::Tracked(tracking) if tracking.is_watched())
        }

        /// `true` if the next reset drops all pages.
        pub(in super::super) fn drops_all(&self) -> bool {
            match &self.kind {
                Kind::Gated(by_faults) => by_faults.drops(),
                Kind::Tracked(tracking) => !tracking.is_watched() && tracking.open.drops(),
                _ => false,
            }
        }

        /// How often the kernel was asked about a memory that goes by faults.
        pub(in super::super) fn scans(&self) -> usize {
            match &self.kind {
                Kind::Gated(by_faults) => by_faults.gate.scans,
                Kind::Tracked(tracking) => tracking.open.gate.scans,
                _ => 0,
            }
        }

        /// How often the kernel was asked about what the memory has grown by.
        pub(in super::super) fn scans_behind(&self) -> usize {
            self.grown.gate.scans
        }

        /// Pages that the next reset will compare.
        pub(in super::super) fn kept(&self) -> usize {
            match &self.kind {
                Kind::Tracked(tracking) => {
                    tracking.listed().unwrap_or_else(|| self.kept.ages.kept())
                }
                _ => self.kept.ages.kept(),
            }
        }
    }
}
