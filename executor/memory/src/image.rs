//! The content of a clean memory, also as a file in memory to be mapped.

use super::HeldMappings;
use super::addresses::Addresses;
use super::compare::BLOCK;
use super::exclusive::Exclusive;
use super::host_page;
use crate::error::{Error, Result};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Images with data up to this size, bytes, are brought into memory when they are made.
const POPULATED: usize = 64 << 20;
/// Bytes without data that are mapped from the image, so that data on both sides of
/// them takes one mapping.
const GAP: usize = 64 << 10;
/// Bytes without data in front of the first part that are mapped from the image at most, such as a
/// stack. That saves each memory a mapping. The first use of such a page takes longer, and
/// allocates it in the file: good for memories that keep their pages and share their image.
const FRONT: usize = 1 << 20;
/// Parts of an image at most: each takes up to two mappings of every memory.
const PARTS: usize = 32;
/// Bytes of larger gaps that are mapped at most to keep to that.
const GAPS: usize = 256 << 20;

/// The content of a clean memory: the parts that are not zero.
#[derive(Debug, Clone, Default)]
pub struct InitialContent {
    /// Offset and bytes, in the order in which they are written.
    parts: Vec<(usize, Vec<u8>)>,
    /// Size of the memory, bytes.
    size: usize,
    /// `true` if it is that of one memory alone.
    pub(super) is_captured: bool,
}

impl InitialContent {
    /// The content of a memory of `size` bytes after each segment, an offset and bytes, was written
    /// to it in this order. Fails with [`Error::OutOfBounds`] where a segment does not fit.
    pub fn from_segments<'a>(
        size: usize,
        segments: impl IntoIterator<Item = (usize, &'a [u8])>,
    ) -> Result<Self> {
        let part = |(offset, bytes): (usize, &[u8])| {
            let length = bytes.len();
            match offset.checked_add(length).is_some_and(|end| end <= size) {
                true => Ok((offset, bytes.to_vec())),
                false => Err(Error::OutOfBounds { offset, length, size }),
            }
        };
        let parts = segments.into_iter().map(part).collect::<Result<_>>()?;
        Ok(Self { parts, size, is_captured: false })
    }

    /// The reason why data in these places lies too scattered for an [`Image`]; `None` where it
    /// does not. Zeros count as data.
    pub fn scattered(places: impl IntoIterator<Item = Range<usize>>) -> Option<String> {
        let page = host_page();
        let places = places.into_iter().filter(|place| !place.is_empty());
        let mut pages: Vec<_> =
            places.map(|place| place.start / page..place.end.div_ceil(page)).collect();
        pages.sort_unstable_by_key(|pages| pages.start);
        parts_of(&pages).err()
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
        Self { parts, size: memory.len(), is_captured: true }
    }

    /// A memory of so many bytes that are all zero.
    pub fn zeroed(size: usize) -> Self {
        Self { size, ..Self::default() }
    }

    /// The same at the start of a larger memory.
    pub(super) fn of_size(&self, size: usize) -> Self {
        Self { size: size.max(self.size), ..self.clone() }
    }

    /// The same without its last bytes; `None` where these are not all zero, or all there is.
    pub(super) fn without_end(&self, length: usize) -> Option<Self> {
        let size = self.size.checked_sub(length).filter(|size| *size > 0)?;
        let fits = self.parts.iter().all(|(offset, bytes)| offset + bytes.len() <= size);
        fits.then(|| Self { size, ..self.clone() })
    }

    /// Size of the memory, bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where the first byte lies that is not zero; `None` when all are.
    pub fn first_data_byte(&self) -> Option<usize> {
        let first = |(offset, bytes): &(usize, Vec<u8>)| {
            Some(offset + bytes.iter().position(|byte| *byte != 0)?)
        };
        self.parts.iter().filter_map(first).min()
    }

    /// The pages that have data, in ascending order, and where in them it lies. A page comes once
    /// for each segment in it.
    fn touched(&self) -> Vec<Touched> {
        let size = host_page();
        let mut touched = Vec::new();
        for (offset, bytes) in &self.parts {
            // The first piece ends with the page that it begins in.
            let (head, rest) = bytes.split_at((size - offset % size).min(bytes.len()));
            let mut at = *offset;
            for piece in std::iter::once(head).chain(rest.chunks(size)) {
                let is_data = |byte: &u8| *byte != 0;
                if let (Some(first), Some(last)) =
                    (piece.iter().position(is_data), piece.iter().rposition(is_data))
                {
                    let data = at % size + first..at % size + last + 1;
                    touched.push(Touched { page: at / size, data });
                }
                at += piece.len();
            }
        }
        touched.sort_unstable_by_key(|touched| touched.page);
        touched
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

/// A page with data.
struct Touched {
    page: usize,
    /// From the first byte in it that is not zero to the last.
    data: Range<usize>,
}

/// The content as a sealed file in memory, to be mapped copy-on-write, and as
/// mappings to compare with.
///
/// Between the parts lies anonymous memory: reading or writing a hole of a file in memory allocates
/// a page that stays as long as the file. Holes are mapped only where that saves mappings.
#[derive(Debug)]
pub struct Image {
    /// As long as the content, with holes.
    file: File,
    /// In ascending order, with gaps between them.
    parts: Vec<Part>,
    /// The first page behind the last of them.
    end: usize,
}

/// Pages of the file that are mapped to compare with.
#[derive(Debug)]
struct Part {
    pages: Range<usize>,
    /// The first page that memories map from the file.
    first: usize,
    bytes: Addresses,
    /// Where in each page the data lies, in blocks.
    data: Box<[Range<u16>]>,
    _held: HeldMappings,
}

impl Part {
    /// Maps pages of a file that can neither shrink nor be written.
    fn new(file: &File, touched: &[Touched], pages: Range<usize>, flags: MapFlags) -> Result<Self> {
        let (start, length) = (pages.start * host_page(), pages.len() * host_page());
        let held = HeldMappings::new(1)?;
        let bytes = Addresses::new(length, ProtFlags::READ, flags, Some((file.as_fd(), start)))
            .map_err(Error::system("cannot map the memory image"))?;
        let mut data = vec![0..0; pages.len()];
        let first = touched.partition_point(|touched| touched.page < pages.start);
        for Touched { page, data: of } in &touched[first..] {
            let Some(data) = data.get_mut(page - pages.start) else { break };
            let blocks = (of.start / BLOCK) as u16..of.end.div_ceil(BLOCK) as u16;
            *data = match data.end {
                0 => blocks,
                end => data.start.min(blocks.start)..end.max(blocks.end),
            };
        }
        Ok(Self { first: pages.start, pages, bytes, data: data.into(), _held: held })
    }
}

impl Image {
    /// An image of the content; `None` when all of it is zero. With `front`, memories map it from
    /// their start on if its data begins not far behind. Fails when the system has no memory
    /// or file descriptors left, or the content lies in so many places far apart that memories
    /// would need too many mappings.
    pub(super) fn new(content: &InitialContent, front: bool) -> Result<Option<Self>> {
        let touched = content.touched();
        let pages: Vec<_> = touched.iter().map(|touched| touched.page..touched.page + 1).collect();
        let parts = parts_of(&pages).map_err(Error::Unsuitable)?;
        let Some(&Range { end, .. }) = parts.last() else { return Ok(None) };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("touchstone-image", flags)
            .map_err(Error::system("cannot make a file in memory for the image"))?;
        let file = File::from(file);
        // Sparse: a segment at the end of a large memory must not cost all of it.
        file.set_len((end * host_page()) as u64)
            .map_err(Error::system("cannot size the memory image"))?;
        for (offset, part) in &content.parts {
            let written_to = *offset / host_page()..(offset + part.len()).div_ceil(host_page());
            // Zeros in a hole need not be there.
            if parts.iter().any(|part| part.start < written_to.end && written_to.start < part.end) {
                file.write_all_at(part, *offset as u64)
                    .map_err(Error::system("cannot write the memory image"))?;
            }
        }
        // Mapped privately by many: a write through the file would show in all.
        let seals = SealFlags::SEAL | SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK;
        rustix::fs::fcntl_add_seals(&file, seals)
            .map_err(Error::system("cannot seal the memory image"))?;
        // Populated: the comparing resets read it without faults.
        let all: usize = parts.iter().map(|part| part.len() * host_page()).sum();
        let populate = if all <= POPULATED { MapFlags::POPULATE } else { MapFlags::empty() };
        let part = |pages| Part::new(&file, &touched, pages, MapFlags::PRIVATE | populate);
        let mut parts: Vec<Part> = parts.into_iter().map(part).collect::<Result<_>>()?;
        let near = |part: &&mut Part| front && part.first * host_page() <= FRONT;
        parts.first_mut().filter(near).into_iter().for_each(|part| part.first = 0);
        Ok(Some(Self { file, parts, end }))
    }

    /// Where in the memory the first byte lies that is mapped from the image: for a look
    /// at what the kernel says is there.
    pub fn start(&self) -> usize {
        self.parts.first().map_or(0, |part| part.first * host_page())
    }

    /// The clean content of a page of the host; `None` outside the pages that are kept to compare
    /// with, where it is all zero. With it the place of the data, on the borders of blocks to
    /// compare: all around is zero.
    #[inline]
    pub(super) fn page(&self, page: usize) -> Option<(&[u8], Range<usize>)> {
        if page >= self.end {
            return None;
        }
        let part = self.parts.iter().find(|part| page < part.pages.end)?;
        let index = page.checked_sub(part.pages.start)?;
        let data = &part.data[index];
        let bytes = part.bytes.start().wrapping_add(index * host_page());
        // SAFETY: the page is one of the part's, so this lies in its mapping, which is readable,
        // lives as long as `self` and is never written: the file is sealed.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, host_page()) };
        Some((bytes, usize::from(data.start) * BLOCK..usize::from(data.end) * BLOCK))
    }

    /// The pages that are mapped from the image, as runs in ascending order.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.parts.iter().map(|part| part.first..part.pages.end)
    }

    /// Maps the image over a memory that is all zero, copy-on-write. If the kernel refuses, the
    /// memory must not be used.
    pub(super) fn map_over(&self, memory: &mut Exclusive<'_>) -> Result<()> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        for pages in self.parts() {
            let place = pages.start * host_page()..pages.end * host_page();
            memory
                .map(&place, &self.file, ProtFlags::READ | ProtFlags::WRITE, flags, place.start)
                .map_err(Error::system("cannot map the image copy-on-write"))?;
        }
        Ok(())
    }
}

/// Runs of pages with data in ascending order. Small gaps belong to them, and the smallest of the
/// others where there are too many.
fn parts_of(pages: &[Range<usize>]) -> Result<Vec<Range<usize>>, String> {
    let page = host_page();
    let mut parts = joined(pages, GAP / page);
    if parts.len() > PARTS {
        let mut gaps: Vec<usize> =
            parts.windows(2).map(|pair| pair[1].start - pair[0].end).collect();
        gaps.sort_unstable();
        let closed = &gaps[..parts.len() - PARTS];
        if closed.iter().sum::<usize>() * page > GAPS {
            return Err(format!(
                "its data lies in {} places more than {} KiB apart; a memory is mapped from at \
                 most {PARTS}",
                parts.len(),
                GAP >> 10
            ));
        }
        parts = joined(&parts, closed.last().copied().unwrap_or(0));
    }
    Ok(parts)
}

/// Runs of pages in ascending order of their starts, those not further apart than `gap` made one.
fn joined(runs: &[Range<usize>], gap: usize) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if run.start <= last.end + gap => last.end = last.end.max(run.end),
            _ => joined.push(run.clone()),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(content: &InitialContent) -> Result<Vec<Range<usize>>, String> {
        let touched = content.touched();
        parts_of(&Vec::from_iter(touched.iter().map(|touched| touched.page..touched.page + 1)))
    }

    fn content(places: impl IntoIterator<Item = usize>) -> InitialContent {
        let parts: Vec<_> = places.into_iter().map(|page| (page * host_page(), vec![1])).collect();
        InitialContent { size: 1 << 32, parts, is_captured: false }
    }

    #[test]
    fn an_image_has_the_pages_with_data_and_small_gaps() {
        let gap = (64 << 10) / host_page();
        let found = parts(&content([2000, 3, 3, 4 + gap, 3000 + gap, 2001 + gap])).unwrap();
        assert_eq!(found, [3..5 + gap, 2000..2002 + gap, 3000 + gap..3001 + gap]);
        assert_eq!(parts(&content([])).unwrap(), []);
        assert_eq!(parts(&InitialContent::zeroed(9)).unwrap(), []);
    }

    #[test]
    fn zeros_are_no_data() {
        let page = host_page();
        let mut bytes = vec![0; 100 * page];
        (bytes[page], bytes[99 * page - 1]) = (1, 1);
        let content = InitialContent::from_segments(1 << 32, [(5 * page + 1, &*bytes)]).unwrap();
        assert_eq!(content.first_data_byte(), Some(6 * page + 1));
        assert_eq!(parts(&content).unwrap(), [6..7, 104..105]);
    }

    #[test]
    fn of_many_places_the_nearest_are_one_part() {
        let near = content((0..PARTS).map(|place| place * 1000).chain([500, 1500]));
        let nearest = parts(&near).unwrap();
        assert!(nearest.len() <= PARTS);
        assert_eq!(nearest[0], 0..2001);
        let far = content((0..1000).map(|place| place * 1000));
        assert!(parts(&far).unwrap_err().contains("1000 places"));
        let places = (0..1000).map(|place| place * 1000 * host_page()).map(|at| at..at + 1);
        assert!(InitialContent::scattered(places.clone()).unwrap().contains("1000 places"));
        assert_eq!(InitialContent::scattered(places.take(60)), None);
    }

    #[test]
    fn segments_reach_up_to_the_end_of_the_memory() {
        let of =
            |offset, length| InitialContent::from_segments(100, [(offset, &[7; 200][..length])]);
        for (offset, length) in [(0, 100), (97, 3), (100, 0)] {
            let content = of(offset, length).unwrap();
            let mut memory = [0; 100];
            content.write(&mut memory);
            assert!(memory[..offset].iter().chain(&memory[offset + length..]).all(|b| *b == 0));
            assert!(memory[offset..offset + length].iter().all(|byte| *byte == 7));
        }
        for (offset, length) in [(0, 101), (98, 3), (101, 0), (usize::MAX, 1)] {
            assert!(of(offset, length).is_err(), "{length} bytes at {offset}");
        }
    }

    #[test]
    fn only_zeros_at_the_end_can_be_left_out() {
        let full = InitialContent::capture(&[1; 100]);
        assert_eq!(full.of_size(300).size(), 300);
        assert_eq!(full.of_size(50).size(), 100);
        assert!(full.without_end(1).is_none());
        let larger = full.of_size(300).without_end(200).unwrap();
        assert_eq!((larger.size(), larger.first_data_byte()), (100, Some(0)));
        assert!(InitialContent::zeroed(100).without_end(100).is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap with files")]
    fn an_image_is_unmapped_when_it_is_dropped() {
        let image = Image::new(&content([1, 2, 3, 900]), true).unwrap().unwrap();
        let inode = rustix::fs::fstat(&image.file).unwrap().st_ino.to_string();
        let parts = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let inodes = maps.lines().map(|line| line.split_whitespace().nth(4));
            inodes.filter(|found| *found == Some(&*inode)).count()
        };
        assert_eq!(parts(), 2);
        drop(image);
        assert_eq!(parts(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap with files")]
    fn each_page_is_found() {
        for (front, start) in [(false, host_page()), (true, 0)] {
            let image = Image::new(&content([1, 2, 900, 5000]), front).unwrap().unwrap();
            assert_eq!(image.start(), start);
            for page in 0..6000 {
                let clean = image.page(page);
                let is_inside = page > 0 && image.parts().any(|part| part.contains(&page));
                assert_eq!(clean.is_some(), is_inside, "page {page}");
                let first = clean.map_or(0, |(bytes, _)| bytes[0]);
                assert_eq!(first == 1, [1, 2, 900, 5000].contains(&page), "page {page}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap with files")]
    fn around_the_data_of_a_page_is_zero() {
        let page = host_page();
        let parts = vec![
            (page + 3 * BLOCK - 1, vec![1, 1]),
            (page + 5 * BLOCK + 7, vec![0, 2, 0]),
            (3 * page - 1, vec![3, 0, 0]),
            (4 * page, vec![4; page]),
        ];
        let content = InitialContent { size: 9 * page, parts, is_captured: false };
        let image = Image::new(&content, false).unwrap().unwrap();
        let data = |page: usize| image.page(page).unwrap().1;
        assert_eq!(data(1), 2 * BLOCK..6 * BLOCK);
        assert_eq!(data(2), page - BLOCK..page);
        assert_eq!((data(3).len(), data(4)), (0, 0..page));
        for index in image.parts().flatten() {
            let (bytes, data) = image.page(index).unwrap();
            assert!(bytes[..data.start].iter().chain(&bytes[data.end..]).all(|byte| *byte == 0));
        }
    }
}
