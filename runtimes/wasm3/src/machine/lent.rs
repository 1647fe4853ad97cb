//! Touchstone's memories instead of Wasm3's own.
//!
//! Wasm3 keeps a header of three words right before a memory's first byte. A [`Lent`] is a mapping
//! whose first host page ends with that header, so the data starts at a page and can be mapped from
//! an image.

use super::layout::{MemoryHeader, Runtime};
use touchstone_executor::Result;
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::memory::{Mapping, MemoryTemplate, Resetter, ResetterMut, host_page};

/// A memory of Touchstone's.
pub(crate) struct Lent {
    /// Dropped before the mapping.
    resetter: Resetter,
    mapping: Mapping,
    /// Open bytes of the data.
    size: usize,
}

impl Lent {
    /// A memory with the template's content that can grow to `largest` pages.
    pub(crate) fn new(template: &MemoryTemplate, largest: u32) -> Result<Self> {
        let (page, size) = (host_page(), template.size());
        let mut mapping = Mapping::new(page + size, page + largest as usize * WASM_PAGE)?;
        // Wasm3 compares each access with the length in the header.
        mapping.stay_open();
        // The header must not be reset with the data.
        mapping.split()?;
        // SAFETY: behind the first host page of a new, zero, private mapping lie at least as many
        // bytes as the template has. It is unmapped after the resetter is dropped.
        let resetter = unsafe { template.install(mapping.base().add(page)) }?;
        Ok(Self { resetter, mapping, size })
    }

    /// Replaces the runtime's memory, which is returned.
    ///
    /// # Safety
    ///
    /// The runtime must be alive and idle. Its own memory must be restored before it resizes or
    /// frees its memory, and before this value is dropped.
    pub(super) unsafe fn install(&self, runtime: *mut Runtime) -> *mut MemoryHeader {
        // SAFETY: the header lies in a page that stays accessible, and the runtime is alive and
        // idle.
        unsafe {
            let own = (*runtime).memory.mallocated;
            self.header().write(MemoryHeader {
                runtime,
                max_stack: (*runtime).origin_stack.add((*runtime).num_stack_slots as usize),
                length: self.size,
            });
            (*runtime).memory.mallocated = self.header();
            self.announce(runtime);
            own
        }
    }

    /// Changes its size within the reservation; `false`, without a change, if that is refused.
    ///
    /// # Safety
    ///
    /// It must be installed in this runtime, and no slice of it may be in use.
    pub(super) unsafe fn resize(&mut self, runtime: *mut Runtime, size: usize) -> bool {
        if self.mapping.resize(host_page() + size).is_err() {
            return false;
        }
        self.size = size;
        // SAFETY: it is installed in this runtime, without slices.
        unsafe {
            (*self.header()).length = size;
            self.announce(runtime);
        }
        true
    }

    /// Resets content and size. [`announce`](Self::announce) then tells the runtime in which it is
    /// installed. After an error it must not be used.
    pub(crate) fn clean(&mut self) -> Result<()> {
        let size = self.resetter.template().size();
        // SAFETY: `&mut self` shows that nothing runs on the memory, of which `size` bytes are
        // open.
        unsafe { self.resetter.reset(self.size) }?;
        // Also at the same size: it reports a growth that could not be undone.
        self.mapping.hide(host_page() + size)?;
        if self.size != size {
            self.size = size;
            // SAFETY: the header's page is accessible, and `&mut self` shows that nothing reads it.
            unsafe { (*self.header()).length = self.size };
        }
        Ok(())
    }

    pub(crate) fn resetter(&mut self) -> ResetterMut<'_> {
        (&mut self.resetter).into()
    }

    /// Sets the runtime's number of pages, also as the maximum: so Wasm3 refuses to grow the memory
    /// instead of calling `realloc` on it.
    ///
    /// # Safety
    ///
    /// It must be installed in this runtime, which must not read its size meanwhile.
    pub(super) unsafe fn announce(&self, runtime: *mut Runtime) {
        let pages = (self.size / WASM_PAGE) as u32;
        // SAFETY: the runtime is alive, as it has this memory, and does not read its size.
        unsafe {
            (*runtime).memory.num_pages = pages;
            (*runtime).memory.max_pages = pages;
        }
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the mapping has at least one page.
        unsafe { self.mapping.base().add(host_page()) }
    }

    fn header(&self) -> *mut MemoryHeader {
        // SAFETY: inside the mapping's first page.
        unsafe { self.data().sub(size_of::<MemoryHeader>()).cast() }
    }
}
