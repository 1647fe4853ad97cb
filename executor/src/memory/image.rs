//! What a clean memory contains, and the same as a file in memory to be mapped.

use super::host_page;
use crate::error::{Error, Result};
use crate::guest::{GuestModule, Segment};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::OwnedFd;

/// Images up to this size, bytes, are brought into memory when they are made.
const POPULATED: usize = 64 << 20;

/// The content of a clean memory: the parts that are not zero.
#[derive(Debug, Clone, Default)]
pub struct InitialMemory {
    /// Offset and bytes, in the order in which they are written.
    parts: Vec<(usize, Vec<u8>)>,
    /// Size of the memory, bytes.
    size: usize,
}

impl InitialMemory {
    /// Told from the module's bytes alone.
    ///
    /// # Errors
    ///
    /// When a start function or a computed offset makes that impossible, or a
    /// segment lies outside the memory (instantiation would trap).
    pub fn of(guest: &GuestModule) -> Result<Self> {
        if let Some(reason) = guest.info().image_refusal() {
            return Err(Error::Unhostable { reason });
        }
        let size = guest.info().memory.map_or(0, |limits| limits.initial_bytes());
        Self::of_segments(size, &guest.info().segments, guest.wasm())
    }

    /// Made of segments, the bytes of which lie in `wasm`.
    pub(crate) fn of_segments(size: usize, segments: &[Segment], wasm: &[u8]) -> Result<Self> {
        let mut parts = Vec::new();
        for segment in segments {
            let offset = segment.offset.unwrap_or_default() as usize;
            let bytes = wasm[segment.bytes.clone()].to_vec();
            if offset + bytes.len() > size {
                return Err(Error::Unhostable {
                    reason: format!(
                        "a data segment of {} bytes at {offset:#x} lies outside its memory of \
                         {size} bytes",
                        bytes.len()
                    ),
                });
            }
            parts.push((offset, bytes));
        }
        Ok(Self { parts, size })
    }

    /// Taken from a memory that was just instantiated, after its start function.
    #[must_use]
    pub fn capture(memory: &[u8]) -> Self {
        let page = host_page();
        let parts = memory
            .chunks(page)
            .enumerate()
            .filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0))
            .map(|(index, bytes)| (index * page, bytes.to_vec()))
            .collect();
        Self { parts, size: memory.len() }
    }

    /// A memory of so many bytes that are all zero.
    #[must_use]
    pub fn zeroed(size: usize) -> Self {
        Self { parts: Vec::new(), size }
    }

    /// The same at the start of a larger memory.
    pub(super) fn of_size(&self, size: usize) -> Self {
        Self { parts: self.parts.clone(), size: size.max(self.size) }
    }

    /// Size of the memory, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// First byte that is always zero from there on.
    #[must_use]
    pub fn end(&self) -> usize {
        self.parts.iter().map(|(offset, bytes)| offset + bytes.len()).max().unwrap_or(0)
    }

    /// Writes the content into a memory that is zero.
    ///
    /// # Panics
    ///
    /// When the memory is smaller than [`size`](Self::size).
    pub fn write(&self, memory: &mut [u8]) {
        for (offset, bytes) in &self.parts {
            memory[*offset..][..bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// The content as a sealed file in memory, to be mapped copy-on-write, and as a
/// mapping to compare with. It covers whole host pages from offset 0.
#[derive(Debug)]
pub struct Image {
    file: OwnedFd,
    bytes: *const u8,
    length: usize,
}

// SAFETY: the mapping behind `bytes` is read-only, private to this value and
// unmapped only when it is dropped; the file is sealed against writing.
unsafe impl Send for Image {}
// SAFETY: as above: all access through a shared reference is reading.
unsafe impl Sync for Image {}

impl Image {
    /// An image of the content; `None` when all of it is zero.
    ///
    /// # Errors
    ///
    /// When the system has no memory or file descriptors left.
    pub fn new(content: &InitialMemory) -> Result<Option<Self>> {
        let length = content.end().next_multiple_of(host_page());
        if length == 0 {
            return Ok(None);
        }
        let file = rustix::fs::memfd_create(
            "touchstone-image",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )
        .map_err(Error::system("cannot make a file in memory for the image"))?;
        // Sparse: a segment at the end of a large memory must not cost all of it.
        rustix::fs::ftruncate(&file, length as u64)
            .map_err(Error::system("cannot size the memory image"))?;
        for (offset, part) in &content.parts {
            let mut written = 0;
            while written < part.len() {
                written += rustix::io::pwrite(&file, &part[written..], (offset + written) as u64)
                    .map_err(Error::system("cannot write the memory image"))?;
            }
        }
        // Mapped privately by many: a write through the file would show in all.
        rustix::fs::fcntl_add_seals(
            &file,
            SealFlags::SEAL | SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK,
        )
        .map_err(Error::system("cannot seal the memory image"))?;
        // Populated: the comparing resets read it without faults.
        let populate = if length <= POPULATED {
            MapFlags::PRIVATE | MapFlags::POPULATE
        } else {
            MapFlags::PRIVATE
        };
        // SAFETY: a new mapping at an address of the kernel's choice, of a file
        // that can neither shrink nor be written.
        let mapped = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, ProtFlags::READ, populate, &file, 0)
        }
        .map_err(Error::system("cannot map the memory image"))?;
        Ok(Some(Self { file, bytes: mapped.cast(), length }))
    }

    /// Length in bytes, a multiple of the host's page.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// The content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `bytes` is the start of a readable mapping of `length` bytes
        // that lives as long as `self` and is never written.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }
    }

    /// Maps the image over the start of a memory, copy-on-write.
    ///
    /// # Safety
    ///
    /// `base` must be the page-aligned start of a mapping of the caller's own
    /// of at least [`length`](Self::length) bytes, and nothing may hold a
    /// reference into it.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory is then as it was.
    pub unsafe fn map_over(&self, base: *mut u8) -> Result<()> {
        // SAFETY: the caller owns the range that is replaced.
        unsafe {
            rustix::mm::mmap(
                base.cast(),
                self.length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE,
                &self.file,
                0,
            )
        }
        .map_err(Error::system("cannot map the image copy-on-write"))?;
        Ok(())
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `new`, and nobody else has it.
        // It cannot fail for a range that was mapped as a whole.
        let _ = unsafe { rustix::mm::munmap(self.bytes.cast_mut().cast(), self.length) };
    }
}
