//! An instance over whose memory its clean content is mapped.

use super::{CleanContent, Disposable, LoadedGuest, Resident, Snapshot, Stateful};
use crate::error::Result;
use crate::memory::{Resetter, ResetterMut};
use std::sync::Arc;

/// An instance with a memory of the runtime's that a [`Resetter`] can look after.
///
/// # Safety
///
/// The memory of a new instance is page-aligned and private, and stays at its place as long as the
/// instance lives. Only the instance has it, and nobody writes it after the instance is dropped.
pub unsafe trait InPlace: Stateful + Disposable {
    /// The guest, and the content of its clean memories.
    fn parts(shared: &Self::Shared) -> (&LoadedGuest, &CleanContent);

    /// Resets the memory to its clean content of `size` bytes, a region included. There is no
    /// resetter for a memory without pages. `false` if something grew that cannot shrink.
    ///
    /// # Errors
    ///
    /// When the reset fails.
    fn reset_memory(&mut self, size: usize, resetter: Option<&mut Resetter>) -> Result<bool>;
}

/// Such an instance with its clean state.
pub struct Mapped<L: InPlace> {
    // Dropped before the instance, which has its memory.
    resetter: Option<Resetter>,
    live: L,
    snapshot: Snapshot<L>,
    /// Bytes of the clean memory, with its region.
    size: usize,
}

impl<L: InPlace> Resident for Mapped<L> {
    type Shared = L::Shared;
    type Live = L;

    fn new(shared: &Arc<L::Shared>) -> Result<Self> {
        let (guest, content) = L::parts(shared);
        let mut live = L::new(shared, None)?;
        let snapshot = Snapshot::take(&mut live, guest.info())?;
        let (mut resetter, mut size) = (None, 0);
        let memory = live.memory();
        if !memory.is_empty() {
            let (template, base) = (content.template(guest.engine, memory)?, memory.as_mut_ptr());
            // SAFETY: by the contract of `InPlace`, and as `template` checks, this is a private
            // memory of the template's size, of which no slice is alive any more. All that is not
            // zero in it is part of the content. It is dropped after the resetter.
            resetter = Some(unsafe { template.install(base) }?);
            content.check(guest, &template, base as usize)?;
            size = template.whole_size();
        }
        Ok(Self { resetter, live, snapshot, size })
    }

    #[inline]
    fn live(&mut self) -> &mut L {
        &mut self.live
    }

    #[inline]
    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.resetter.as_mut().map(|resetter| work(resetter.into()))
    }

    fn reset(&mut self) -> Result<bool> {
        Ok(self.live.reset_memory(self.size, self.resetter.as_mut())?
            && self.snapshot.restore(&mut self.live)?)
    }
}
