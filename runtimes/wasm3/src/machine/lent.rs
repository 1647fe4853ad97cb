//! Touchstone's memories instead of Wasm3's own.
//!
//! Wasm3 keeps a header of three words right before a memory's first byte. A
//! [`Lent`] is a mapping whose first host page ends with that header, so that
//! the data starts at a page and can be mapped from an image.

use super::layout::{MemoryHeader, Runtime};
use touchstone_executor::Result;
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::memory::{Mapping, MemoryTemplate, Resetter, ResetterMut, host_page};

/// A memory of Touchstone's: a host page whose end is Wasm3's header, then the data.
pub(crate) struct Lent {
    /// Dropped before the mapping.
    resetter: Resetter,
    mapping: Mapping,
    /// Bytes of the data that are open.
    size: usize,
}

impl Lent {
    /// A memory with the template's content that can grow to so many pages.
    pub(crate) fn new(template: &MemoryTemplate, largest: u32) -> Result<Self> {
        let (page, size) = (host_page(), template.size());
        let mut mapping = Mapping::new(page + size, page + largest as usize * WASM_PAGE)?;
        // Wasm3 compares each access with the length in the header.
        mapping.stay_open();
        // The data is watched or otherwise set apart from the header.
        mapping.split()?;
        // SAFETY: one host page into a mapping that is new, zero, ours, and
        // larger than that page by at least the template's size. It is unmapped after the
        // resetter is dropped.
        let resetter = unsafe { template.install(mapping.base().add(page)) }?;
        Ok(Self { resetter, mapping, size })
    }

    /// Puts it in the place of the runtime's memory, which is returned.
    ///
    /// # Safety
    ///
    /// The runtime must be alive and idle. Before it resizes or frees its
    /// memory, and before this value is dropped, its own must be put back.
    pub(super) unsafe fn install(&self, runtime: *mut Runtime) -> *mut MemoryHeader {
        // SAFETY: the header lies in a page that stays accessible. Nothing else
        // points to the runtime's own memory while it is idle.
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

    /// Changes its size as far as the reservation goes; `false` when that is
    /// refused, and then nothing has changed.
    ///
    /// # Safety
    ///
    /// It must be installed in this runtime, and no slice of it may be in use.
    pub(super) unsafe fn resize(&mut self, runtime: *mut Runtime, size: usize) -> bool {
        if self.mapping.resize(host_page() + size).is_err() {
            return false;
        }
        self.size = size;
        // SAFETY: the caller's promise.
        unsafe {
            (*self.header()).length = size;
            self.announce(runtime);
        }
        true
    }

    /// Makes it clean again, at its first size. What still runs on it in a
    /// runtime has to be told by [`announce`](Self::announce). After an error it
    /// must not be used.
    pub(crate) fn clean(&mut self) -> Result<()> {
        let size = self.resetter.template().size();
        // SAFETY: `&mut self` says that nothing runs on the memory; so much of it is open.
        unsafe { self.resetter.reset_grown(self.size) }?;
        // Also where the size is the same: it fails where a growth did that could not be undone.
        self.mapping.hide(host_page() + size)?;
        if self.size != size {
            self.size = size;
            // SAFETY: the header's page is accessible and nobody else's;
            // `install` writes the header before anybody reads it.
            unsafe { (*self.header()).length = self.size };
        }
        Ok(())
    }

    /// What makes it clean.
    pub(crate) fn resetter(&mut self) -> ResetterMut<'_> {
        (&mut self.resetter).into()
    }

    /// Tells the runtime the size in pages, as the most that there can be: so
    /// Wasm3 itself refuses to grow it, instead of calling `realloc` on it.
    ///
    /// # Safety
    ///
    /// It must be installed in this runtime, which is not in the middle of
    /// reading it.
    pub(super) unsafe fn announce(&self, runtime: *mut Runtime) {
        let pages = (self.size / WASM_PAGE) as u32;
        // SAFETY: the caller's promise.
        unsafe {
            (*runtime).memory.num_pages = pages;
            (*runtime).memory.max_pages = pages;
        }
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the mapping is at least a page long.
        unsafe { self.mapping.base().add(host_page()) }
    }

    fn header(&self) -> *mut MemoryHeader {
        // SAFETY: inside the mapping's first page.
        unsafe { self.data().sub(size_of::<MemoryHeader>()).cast() }
    }
}
