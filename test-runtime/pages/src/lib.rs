//! A guest that writes as many pages of its memory as it is told: which ones, and how much of
//! each.

#![no_std]

extern crate alloc;

use guest_support::{HOST_PAGE, Output, WASM_PAGE, memory, round_up_to_page, u32_at};

guest_support::export! {
    write_pages = write,
}

/// The written byte; a clean memory holds zeros there.
const WRITTEN: u8 = 0x5a;

/// Flag of the input: whole pages are written, and not one byte of each.
const WHOLE: u32 = 1;
/// Flag of the input: the pages follow each other in a pseudo-random order.
const SCATTERED: u32 = 2;
/// Flag of the input: the pages are read before and after they are written.
const LOOKS: u32 = 4;

/// The work of a call.
struct Order {
    seed: u32,
    /// Place of the first page in the order of all of them.
    first: u32,
    /// Pages to write.
    count: u32,
    /// One less than the number of pages to choose from, which is a power of two.
    mask: u32,
    flags: u32,
}

impl Order {
    /// Panics where the input is short, or asks for pages that there are not.
    fn of(input: &[u8]) -> Self {
        let [seed, first, count, pages, flags] = [0, 4, 8, 12, 16].map(|at| u32_at(input, at));
        assert!(pages.is_power_of_two() && count <= pages, "there are fewer pages");
        Self { seed, first, count, mask: pages - 1, flags }
    }

    /// The addresses of the pages to write, each once. The first 64 KiB behind the heap's start
    /// are left to the host's allocator, for input and output.
    fn pages(&self) -> impl Iterator<Item = u32> {
        let start = round_up_to_page(memory::heap_base()).wrapping_add(WASM_PAGE);
        (0..self.count).map(move |number| {
            let place = self.first.wrapping_add(number) & self.mask;
            let page = if self.flags & SCATTERED == 0 { place } else { self.scattered(place) };
            start.wrapping_add(page.wrapping_mul(HOST_PAGE))
        })
    }

    /// The page at a place of a pseudo-random order. Each step can be undone within the bits of
    /// the mask, so no two places have the same page.
    fn scattered(&self, place: u32) -> u32 {
        let half = (self.mask.count_ones() / 2).max(1);
        let mixed = (place ^ self.seed).wrapping_mul(0x9e37_79b1) & self.mask;
        let mixed = (mixed ^ (mixed >> half)).wrapping_mul(0x85eb_ca6b) & self.mask;
        mixed ^ (mixed >> half)
    }

    /// Bytes of each page that are written.
    fn bytes(&self) -> u32 {
        if self.flags & WHOLE == 0 { 1 } else { HOST_PAGE }
    }

    /// Writes the pages. One function for all callers, so that what is timed is what was looked
    /// at.
    #[inline(never)]
    fn fill(&self) {
        match self.bytes() {
            1 => self.pages().for_each(|page| memory::write(page, WRITTEN)),
            bytes => self.pages().for_each(|page| memory::fill(page, bytes, WRITTEN)),
        }
    }

    /// How many of the pages hold this byte wherever they are written.
    fn count(&self, value: u8) -> u32 {
        let holds = |page: u32| match self.bytes() {
            1 => memory::read(page) == value,
            bytes => {
                let word = u32::from_le_bytes([value; 4]);
                (0..bytes).step_by(4).all(|at| memory::read_word(page.wrapping_add(at)) == word)
            }
        };
        self.pages().map(|page| u32::from(holds(page))).sum()
    }
}

/// Writes pages and answers nothing. Where it looks, it answers how many of the pages were clean
/// before and how many hold what was written, `u32` each.
fn write(input: &[u8]) -> Output {
    let order = Order::of(input);
    if order.flags & LOOKS == 0 {
        order.fill();
        return Output::EMPTY;
    }
    let clean = order.count(0);
    order.fill();
    Output::from([clean, order.count(WRITTEN)].map(u32::to_le_bytes).as_flattened())
}
