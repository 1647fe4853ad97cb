//! A memory of an instance that is reset in place, and what makes it clean.

use super::Place;
use std::sync::Arc;
use touchstone_memory::{
    InitialContent, MemoryTemplate, ResetMethod, Resetter, ResetterMut, Result,
};

/// A memory that is made clean while its instance goes on to use it.
pub struct Restored {
    /// For a memory that does not make itself clean. Dropped before the memory.
    resetter: Option<Resetter>,
    place: Arc<Place>,
    /// Where its first byte lies that is not zero at first, if that was found out here.
    data: Option<usize>,
}

impl Restored {
    /// Takes the content that the memory has now for the clean one, if it does not know its own.
    /// Fails when the system has no memory or file left.
    ///
    /// # Safety
    ///
    /// No slice of the memory may be alive, and its instance must not run now or during any
    /// call of a method. There must be no other value of this type for the memory.
    pub unsafe fn new(place: Arc<Place>, reset: ResetMethod) -> Result<Self> {
        if place.is_leased() {
            // Nothing has been written to it: what has its content is left out of the form of the
            // guest that was instantiated, and there is no start function.
            return Ok(Self { resetter: None, place, data: None });
        }
        // A start function may have run: only now content and size are known.
        place.keep_size();
        // SAFETY: so many bytes are accessible, and nobody writes to them meanwhile, by the
        // caller's promise.
        let content = unsafe { std::slice::from_raw_parts(place.base(), place.size()) };
        let content = InitialContent::capture(content);
        let data = content.first_data_byte();
        let template = MemoryTemplate::new(content, reset)?;
        // SAFETY: the memory is one of Touchstone's without a template: page-aligned, private, of
        // the template's size, and alive as long as `place`, which is dropped after the resetter.
        // Only its instance uses it, which does not run. All that is not zero in it now is part of
        // the template's content.
        let resetter = unsafe { template.install(place.base()) }?;
        Ok(Self { resetter: Some(resetter), place, data })
    }

    /// Makes the memory clean and of its first size. Whether it had another size: then Wasmtime has
    /// to be made to ask for its size and address. Fails when the kernel refuses; the instance must
    /// then not be used.
    #[inline]
    pub fn reset(&mut self) -> Result<bool> {
        if let Some(resetter) = &mut self.resetter {
            // SAFETY: the instance does not run and no slice of its memory is alive, by the
            // promise made to `new`; the memory has this size.
            unsafe { resetter.reset(self.place.size()) }?;
        }
        let lacks_notes = self.resetter.as_ref().is_some_and(Resetter::lacks_notes);
        Ok(self.place.reset()? || lacks_notes)
    }

    /// Lets go of what the clean memory keeps resident. Fails when the kernel refuses; the instance
    /// must then not be used.
    pub fn trim(&mut self) -> Result<()> {
        if let Some(resetter) = &mut self.resetter {
            // SAFETY: as in `reset`, and the memory is clean.
            unsafe { ResetterMut::from(resetter).trim() }?;
        }
        self.place.trim()
    }

    /// Does something with what makes the memory clean.
    pub fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        match &mut self.resetter {
            Some(resetter) => Some(work(resetter.into())),
            None => self.place.with_resetter(work),
        }
    }

    /// Address of its first byte that is not zero at first; `None` also where the memory
    /// makes itself clean.
    #[must_use]
    pub fn data(&self) -> Option<usize> {
        Some(self.place.base() as usize + self.data?)
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        if let Some(resetter) = self.resetter.take() {
            self.place.keep(resetter);
        }
    }
}
