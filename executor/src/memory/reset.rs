//! Bringing a used memory back to its clean content.

use super::pagemap::{self, Region};
use super::{Image, InitialMemory, host_page};
use crate::error::{Error, Result};
use crate::strategy::MemoryFrom;
use std::sync::Arc;

/// How a used memory is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// All pages are dropped; segments are copied in again.
    Segments,
    /// All pages are dropped; what lies under them is the image.
    Drop,
    /// Written pages are found with `PAGEMAP_SCAN` and restored in place, up to
    /// so many bytes; what is beyond is dropped, so that one heavy call does
    /// not keep its memory for ever.
    Resident {
        /// Bytes that stay mapped at most.
        limit: usize,
    },
}

/// Bytes that the `…_resident` strategies of every backend keep mapped.
pub const KEEP_RESIDENT: usize = 4 << 20;

impl Reset {
    /// The reset of a strategy's memories, where they are ours.
    #[must_use]
    pub fn of(memory: MemoryFrom) -> Self {
        match memory {
            MemoryFrom::Segments => Self::Segments,
            MemoryFrom::CopyOnWrite => Self::Drop,
            MemoryFrom::Resident => Self::Resident { limit: KEEP_RESIDENT },
        }
    }
}

/// Everything that is needed to reset the memories of one module.
#[derive(Debug, Clone)]
pub struct Plan {
    content: Arc<InitialMemory>,
    image: Option<Arc<Image>>,
    reset: Reset,
}

/// Regions that one scan returns at most; the scan goes on where it stopped.
const REGIONS: usize = 64;
/// Bytes that are compared at once: a cache line.
const LINE: usize = 64;

impl Plan {
    /// A plan for a content.
    ///
    /// # Errors
    ///
    /// When the image cannot be made.
    pub fn new(content: InitialMemory, reset: Reset) -> Result<Self> {
        let image = match reset {
            Reset::Segments => None,
            Reset::Drop | Reset::Resident { .. } => Image::new(&content)?.map(Arc::new),
        };
        Ok(Self { content: Arc::new(content), image, reset })
    }

    /// The image that memories are to be mapped from, where there is one.
    #[must_use]
    pub fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// Size of a clean memory, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.content.size()
    }

    /// Gives a memory that is all zero and untouched its clean content: maps
    /// the image over it or copies the segments in.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub unsafe fn install(&self, base: *mut u8) -> Result<()> {
        match &self.image {
            // SAFETY: the caller owns the memory at `base`, of at least the
            // content's size, which the image does not exceed.
            Some(image) => unsafe { image.map_over(base) },
            None => {
                // SAFETY: as above; readable, writable and initialised.
                self.content
                    .write(unsafe { std::slice::from_raw_parts_mut(base, self.content.size()) });
                Ok(())
            }
        }
    }

    /// Makes the first [`size`](Self::size) bytes of a memory clean.
    ///
    /// # Safety
    ///
    /// `base` must be the page-aligned start of a private mapping of at least
    /// `size` bytes, readable and writable, to which this plan was installed;
    /// nobody else may access it during the call.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory must then not be used.
    pub unsafe fn reset(&self, base: *mut u8) -> Result<()> {
        let size = self.content.size();
        match self.reset {
            Reset::Segments => {
                // SAFETY: the caller's promise covers the range.
                unsafe { drop_pages(base, size) }?;
                // SAFETY: as above; dropped anonymous pages read as zero.
                self.content.write(unsafe { std::slice::from_raw_parts_mut(base, size) });
                Ok(())
            }
            // SAFETY: the caller's promise covers the range.
            Reset::Drop => unsafe { drop_pages(base, size) },
            // SAFETY: the caller's promise covers the range.
            Reset::Resident { limit } => unsafe { self.restore(base, size, limit) },
        }
    }

    /// Restores written pages in place, up to `limit` bytes, and drops the rest.
    ///
    /// # Safety
    ///
    /// As for [`reset`](Self::reset).
    unsafe fn restore(&self, base: *mut u8, size: usize, limit: usize) -> Result<()> {
        let (start, end) = (base as u64, base as u64 + size as u64);
        let mut budget = (limit / host_page()) as u64;
        let mut regions = [Region::default(); REGIONS];
        let mut from = start;
        while from < end {
            if budget == 0 {
                let offset = (from - start) as usize;
                // SAFETY: `offset..size` lies in the caller's range.
                return unsafe { drop_pages(base.add(offset), size - offset) };
            }
            let scan = pagemap::scan(from, end, budget, &mut regions)
                .map_err(Error::system("cannot ask which pages were written"))?;
            for region in &regions[..scan.found] {
                let (offset, length) =
                    ((region.start - start) as usize, (region.end - region.start) as usize);
                budget = budget.saturating_sub((length / host_page()) as u64);
                // SAFETY: the kernel reports only pages inside the range that
                // it was asked about, which the caller owns.
                let used = unsafe { std::slice::from_raw_parts_mut(base.add(offset), length) };
                self.restore_bytes(offset, used);
            }
            if scan.walked_to <= from {
                break;
            }
            from = scan.walked_to;
        }
        Ok(())
    }

    /// Writes the clean content over `used`, whole host pages that start at `offset`.
    fn restore_bytes(&self, offset: usize, used: &mut [u8]) {
        let image = self.image().map_or(&[][..], Image::bytes);
        let image = image.get(offset..).unwrap_or_default();
        // The image is made of whole pages as well: no line lies across its end.
        let (in_image, beyond) = used.split_at_mut(image.len().min(used.len()));
        let (in_image, _) = in_image.as_chunks_mut::<LINE>();
        let (clean, _) = image.as_chunks::<LINE>();
        // Storing only what differs leaves clean lines clean: they are not
        // written back to memory.
        for (line, clean) in in_image.iter_mut().zip(clean) {
            if differ(line, clean) {
                *line = *clean;
            }
        }
        for line in beyond.as_chunks_mut::<LINE>().0 {
            if differ(line, &[0; LINE]) {
                *line = [0; LINE];
            }
        }
    }
}

/// Whether two lines differ. All words are looked at, without a branch in
/// between, so that the compiler makes vector instructions of it; leaving at the
/// first difference took ten times as long.
#[inline]
fn differ(a: &[u8; LINE], b: &[u8; LINE]) -> bool {
    let words = |line: &[u8; LINE]| {
        let (words, _) = line.as_chunks::<8>();
        std::array::from_fn::<u64, { LINE / 8 }, _>(|index| u64::from_ne_bytes(words[index]))
    };
    words(a).iter().zip(words(b)).fold(0, |seen, (a, b)| seen | (a ^ b)) != 0
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

#[cfg(test)]
mod tests {
    use super::super::Mapping;
    use super::*;
    use proptest::prelude::*;

    fn content(size: usize) -> InitialMemory {
        let mut clean = vec![0; size];
        for (index, byte) in clean.iter_mut().enumerate().take(3 * 4096 + 17).skip(5000) {
            *byte = (index % 251) as u8;
        }
        InitialMemory::capture(&clean)
    }

    fn kinds() -> Vec<Reset> {
        let mut kinds = vec![Reset::Segments, Reset::Drop];
        if pagemap::is_available() {
            kinds.extend([
                Reset::Resident { limit: 1 << 20 },
                Reset::Resident { limit: 3 * 4096 },
                Reset::Resident { limit: 0 },
            ]);
        }
        kinds
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// After any writes and a reset, every byte is as in a fresh memory.
        #[test]
        fn a_reset_memory_is_a_fresh_memory(
            writes in prop::collection::vec((0_usize..65_536 * 4, any::<u8>(), 1_usize..9000), 0..40),
            rounds in 1_usize..4,
        ) {
            let size = 65_536 * 4;
            let mut fresh = vec![0; size];
            content(size).write(&mut fresh);
            for kind in kinds() {
                let plan = Plan::new(content(size), kind).unwrap();
                let mut mapping = Mapping::new(size, 2 * size).unwrap();
                // SAFETY: the mapping is ours, zero and untouched.
                unsafe { plan.install(mapping.base()) }.unwrap();
                prop_assert!(mapping.bytes_mut() == fresh, "installed by {kind:?}");
                for _ in 0..rounds {
                    let memory = mapping.bytes_mut();
                    for (offset, value, length) in &writes {
                        let end = (offset + length).min(size);
                        memory[*offset..end].fill(*value);
                    }
                    // SAFETY: the mapping is ours and the plan was installed.
                    unsafe { plan.reset(mapping.base()) }.unwrap();
                    prop_assert!(mapping.bytes_mut() == fresh, "reset by {kind:?}");
                }
            }
        }
    }

    #[test]
    fn a_mapping_shrinks_and_grows_with_zeros() {
        let mut mapping = Mapping::new(65_536, 4 * 65_536).unwrap();
        mapping.resize(2 * 65_536).unwrap();
        mapping.bytes_mut().fill(7);
        mapping.resize(65_536).unwrap();
        mapping.resize(3 * 65_536).unwrap();
        let memory = mapping.bytes_mut();
        assert!(memory[..65_536].iter().all(|byte| *byte == 7));
        assert!(memory[65_536..].iter().all(|byte| *byte == 0));
        assert!(mapping.resize(5 * 65_536).is_err());
    }

    #[test]
    fn a_memory_without_content_needs_no_image() {
        let plan = Plan::new(InitialMemory::capture(&[0; 65_536]), Reset::Drop).unwrap();
        assert!(plan.image().is_none());
    }
}
