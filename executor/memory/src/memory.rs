//! A linear memory of our own with the means to make it clean.

use super::{Mapping, MemoryTemplate, Region, Resetter, ResetterMut, host_page};
use crate::error::{Error, Result};
use std::sync::Arc;

/// A [`Mapping`] and, where there is a template, what makes it clean again.
#[derive(Debug)]
pub struct Memory {
    // Dropped in this order: a resetter must not outlive the mapping.
    pub(super) resetter: Option<Resetter>,
    mapping: Mapping,
    /// Mapped behind the template's content.
    region: Option<Arc<Region>>,
}

impl Memory {
    /// A clean memory: at least `size` accessible bytes in a reservation of `reserved`, all zero
    /// without a template, else with the template's size and content. Fails when the system has no
    /// memory left.
    pub fn new(template: Option<&MemoryTemplate>, size: usize, reserved: usize) -> Result<Self> {
        let Some(template) = template else {
            let mapping = Mapping::new(size, reserved)?;
            return Ok(Self { resetter: None, mapping, region: None });
        };
        let mapping = Mapping::new(template.whole_size(), reserved)?;
        // SAFETY: the mapping is new, of the template's whole size and this value's own. It is
        // dropped after the resetter, and meanwhile what lies below the template's size
        // is only touched by `reset` and by whoever this value is lent to. No Rust code writes
        // to the region behind that: `reset` and `grow` leave it alone, and whoever this value
        // is lent to knows that it is read-only.
        let resetter = unsafe { template.install(mapping.base()) }?;
        Ok(Self { resetter: Some(resetter), mapping, region: template.region.clone() })
    }

    /// Leaves pages open to the kernel that a reset or [`hide`](Self::hide) puts behind the
    /// memory's end: for users who compare each access with what is
    /// [`accessible`](Self::accessible), as interpreters do. A memory that grows and shrinks in
    /// each call then needs no system call for it.
    #[must_use]
    pub fn staying_open(mut self) -> Self {
        self.mapping.stay_open();
        self
    }

    /// Start of the memory. It never moves.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.mapping.base()
    }

    /// Bytes that can be read, and written but for those of a [`Region`].
    pub fn accessible(&self) -> usize {
        self.mapping.accessible()
    }

    /// Opens more of the reservation; what is opened is zero. Fails when it is larger than the
    /// reservation, the memory ends with a [`Region`], or the kernel refuses.
    pub fn grow(&mut self, accessible: usize) -> Result<()> {
        if self.region.is_some() && accessible > self.accessible() {
            return Err(Error::Misuse("a memory that ends with a shared region cannot grow"));
        }
        self.mapping.resize(accessible.max(self.accessible()))
    }

    /// Exchanges the written pages with those of a clean memory of the same content, at least as
    /// large: that one then has the content of this one, which is clean. Returns `false` if more
    /// than `most` pages were written; nothing has then changed. After `true`, this memory may not
    /// be [usable](Self::is_usable).
    pub(super) fn move_written(&mut self, to: &mut Self, most: usize) -> bool {
        let Some(resetter) = &mut self.resetter else { return false };
        // What this memory has grown by is not watched.
        let fits = !self.mapping.is_broken()
            && resetter.template().size() == self.mapping.accessible()
            && to.mapping.accessible() >= self.mapping.accessible();
        if !fits {
            return false;
        }
        resetter.move_written(self.mapping.exclusive(), to.mapping.exclusive(), most)
    }

    /// Closes what lies behind `accessible` bytes and keeps its pages, all of which have to be
    /// zero: opened again, it is as a new memory. For memories that somebody else makes clean.
    /// Fails when it has a template that is for more than that, or the kernel refuses.
    pub fn hide(&mut self, accessible: usize) -> Result<()> {
        let kept = self.resetter.as_ref().map_or(0, |resetter| resetter.template().whole_size());
        if accessible < kept {
            return Err(Error::Misuse("a memory cannot become smaller than its template"));
        }
        self.mapping.hide(accessible)
    }

    /// Makes the memory clean and of its first size. Without a template nothing is
    /// known about that, and nothing is done: `false`.
    ///
    /// One of kind [`ResetMethod::Gated`](super::ResetMethod::Gated) that other threads have
    /// written is clean only after [`note_foreign_writes`](super::note_foreign_writes). Fails when
    /// the kernel refuses; the memory must then not be used, and every later reset fails.
    #[inline]
    pub fn reset(&mut self) -> Result<bool> {
        let Some(resetter) = &mut self.resetter else { return Ok(false) };
        let size = resetter.template().size();
        // One with a region has not grown, and the region was not written.
        let open = if self.region.is_some() { size } else { self.mapping.accessible() };
        // SAFETY: `&mut self` says that nobody uses the memory; all of what is
        // accessible is readable and writable or becomes so by a fault.
        unsafe { resetter.reset(open) }?;
        if self.region.is_none() {
            self.mapping.hide(size).inspect_err(|_| resetter.give_up())?;
        }
        Ok(true)
    }

    /// Lets go of all pages that a clean memory keeps resident. For an idle memory: the next use is
    /// as clean, and pays for the pages it writes. Fails when the kernel refuses; the memory must
    /// then not be used, and every later reset fails.
    pub fn trim(&mut self) -> Result<()> {
        // SAFETY: `&mut self` says that nobody uses the memory.
        self.resetter().map_or(Ok(()), |mut resetter| unsafe { resetter.trim() })
    }

    /// `true` if it can be used: nothing that was to make it clean or to close it has failed.
    pub fn is_usable(&self) -> bool {
        !self.mapping.is_broken() && self.resetter.as_ref().is_none_or(Resetter::is_usable)
    }

    /// The resetter, if there is a template.
    #[inline]
    pub fn resetter(&mut self) -> Option<ResetterMut<'_>> {
        self.resetter.as_mut().map(ResetterMut::from)
    }

    /// The memory as bytes, without a [`Region`] behind them. The kernel may write to them, but in
    /// a tracked memory only where [`writable`] was called before.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if let Some(resetter) = &mut self.resetter {
            resetter.lend();
        }
        self.own_bytes_mut()
    }

    /// The same for code that makes no system call on them which pins pages (`O_DIRECT`,
    /// `process_vm_writev`). A memory of kind [`ResetMethod::Gated`](super::ResetMethod::Gated)
    /// then need not ask the kernel.
    pub fn own_bytes_mut(&mut self) -> &mut [u8] {
        self.mapping.bytes_before(self.region.as_ref().map_or(0, |region| region.length()))
    }
}

/// Makes sure that the kernel can write to a part of a memory.
///
/// A system call does not fault like other code: where `read(2)` is given a buffer in a page of a
/// tracked memory that nobody has written since it was clean, it fails with `EFAULT`, or ends early
/// and says that it read less. A host function that has the kernel write to a guest's memory
/// therefore passes the place through this first. It writes to each page what is there, so that
/// those pages count as written; in a memory of any other kind nothing else comes of it.
pub fn writable(bytes: &mut [u8]) -> &mut [u8] {
    // The first byte of each page that the slice has bytes of.
    let first = bytes.as_ptr().align_offset(host_page()).min(bytes.len());
    let starts = (first..bytes.len()).step_by(host_page());
    for at in std::iter::once(0).filter(|_| first > 0).chain(starts) {
        let byte = &raw mut bytes[at];
        // SAFETY: a byte of the slice. Volatile, because to the compiler this is nothing.
        unsafe { byte.write_volatile(byte.read_volatile()) };
    }
    bytes
}
