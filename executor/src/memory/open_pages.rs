//! Which pages of a tracked memory are open, and how many a fault opens: the
//! bookkeeping alone.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Pages that one fault opens at most.
const WIDEST: u32 = 64;

/// The list of open pages of one memory.
///
/// The handler writes it on the thread whose write faulted, which is the one that
/// has the memory; nobody else looks at this meanwhile. Atomics, because to the
/// compiler a handler is like another thread.
pub(super) struct OpenPages {
    pages: u32,
    /// The pages that are open, in the order in which they were first written.
    /// As many places as pages may stay open.
    list: Box<[AtomicU32]>,
    listed: AtomicUsize,
    /// A bit for each page: set when it is in the list.
    open: Box<[AtomicU64]>,
    /// Set when the list was full: then the whole memory is open.
    overflowed: AtomicBool,
    /// The page behind those that were opened last, and how many they were.
    next: AtomicU32,
    width: AtomicU32,
}

/// What is to be done about a write to a page that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing: the page is open. It was refused for another reason.
    Nothing,
    /// So many pages are to be opened, from this one on.
    Pages(u32),
    /// The list is full: all are to be opened.
    All,
}

impl OpenPages {
    /// None of `pages` pages is open, and at most `keep` will be listed.
    pub(super) fn new(pages: u32, keep: usize) -> Self {
        Self {
            pages,
            list: (0..keep.min(pages as usize)).map(|_| AtomicU32::new(0)).collect(),
            listed: AtomicUsize::new(0),
            open: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            overflowed: AtomicBool::new(false),
            next: AtomicU32::new(u32::MAX),
            width: AtomicU32::new(1),
        }
    }

    /// How many pages the memory has.
    pub(super) fn count(&self) -> u32 {
        self.pages
    }

    /// How many pages are open, if the list was long enough for them.
    #[inline]
    pub(super) fn listed(&self) -> usize {
        self.listed.load(Ordering::Relaxed)
    }

    /// How many pages may be open.
    pub(super) fn keeps(&self) -> usize {
        self.list.len()
    }

    /// The open page at a place of the list.
    #[inline]
    pub(super) fn page(&self, index: usize) -> usize {
        self.list[index].load(Ordering::Relaxed) as usize
    }

    /// Whether the whole memory was opened, because too many pages were written.
    #[inline]
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Whether a page is in the list.
    pub(super) fn is_open(&self, page: u32) -> bool {
        self.open[page as usize / 64].load(Ordering::Relaxed) & (1 << (page % 64)) != 0
    }

    /// Puts the list in the order of addresses: a reset then walks through memory
    /// as the processor expects it.
    pub(super) fn sort(&self) {
        let mut pages: Vec<u32> =
            self.list[..self.listed()].iter().map(|page| page.load(Ordering::Relaxed)).collect();
        if pages.is_sorted() {
            return;
        }
        pages.sort_unstable();
        for (place, page) in self.list.iter().zip(pages) {
            place.store(page, Ordering::Relaxed);
        }
    }

    /// Takes pages off the list; `keep` is asked for each one.
    pub(super) fn retain(&self, mut keep: impl FnMut(usize) -> bool) {
        let mut kept = 0;
        for index in 0..self.listed() {
            let page = self.list[index].load(Ordering::Relaxed);
            if keep(page as usize) {
                self.list[kept].store(page, Ordering::Relaxed);
                kept += 1;
            } else {
                self.open[page as usize / 64].fetch_and(!(1 << (page % 64)), Ordering::Relaxed);
            }
        }
        self.listed.store(kept, Ordering::Relaxed);
    }

    /// Forgets all that was noted: no page is open.
    pub(super) fn start_over(&self) {
        self.retain(|_| false);
        self.overflowed.store(false, Ordering::Relaxed);
        self.next.store(u32::MAX, Ordering::Relaxed);
        self.width.store(1, Ordering::Relaxed);
    }

    /// What to do when a write to a page was refused. The pages behind it come
    /// along when the last faults were in order: a guest that fills a buffer then
    /// faults a few times and not for every page.
    ///
    /// This, [`note`](Self::note) and [`note_all`](Self::note_all) are for the
    /// handler.
    pub(super) fn wanted(&self, page: u32) -> Wanted {
        if self.overflowed() || self.is_open(page) {
            return Wanted::Nothing;
        }
        let in_order = self.next.load(Ordering::Relaxed) == page;
        let wanted =
            if in_order { (self.width.load(Ordering::Relaxed) * 2).min(WIDEST) } else { 1 };
        let room = (self.list.len() - self.listed()) as u32;
        let mut width = 0;
        while width < wanted.min(room).min(self.pages - page) && !self.is_open(page + width) {
            width += 1;
        }
        if width == 0 { Wanted::All } else { Wanted::Pages(width) }
    }

    /// So many pages, as [`wanted`](Self::wanted) said, are open from now on.
    pub(super) fn note(&self, page: u32, width: u32) {
        let listed = self.listed();
        for index in 0..width {
            let page = page + index;
            self.list[listed + index as usize].store(page, Ordering::Relaxed);
            self.open[page as usize / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
        self.listed.store(listed + width as usize, Ordering::Relaxed);
        self.next.store(page + width, Ordering::Relaxed);
        self.width.store(width, Ordering::Relaxed);
    }

    /// All pages are open from now on.
    pub(super) fn note_all(&self) {
        self.overflowed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// What the handler does, without a memory. Whether the write was let through.
    fn write(pages: &OpenPages, page: u32) -> bool {
        match pages.wanted(page) {
            Wanted::Nothing => pages.overflowed() || pages.is_open(page),
            Wanted::Pages(width) => {
                pages.note(page, width);
                true
            }
            Wanted::All => {
                pages.note_all();
                true
            }
        }
    }

    fn list(pages: &OpenPages) -> Vec<usize> {
        (0..pages.listed()).map(|index| pages.page(index)).collect()
    }

    #[test]
    fn writes_in_order_open_more_and_more() {
        let pages = OpenPages::new(300, 300);
        let faults = (0..300).filter(|page| {
            let faults = !pages.is_open(*page);
            assert!(write(&pages, *page));
            faults
        });
        assert!(faults.count() < 15);
        assert_eq!(list(&pages), Vec::from_iter(0..300));
        // Backwards, each is a fault of its own, and nothing else is opened.
        pages.start_over();
        for page in (0..300).rev().step_by(2) {
            assert_eq!(pages.wanted(page), Wanted::Pages(1));
            pages.note(page, 1);
        }
        assert_eq!(pages.listed(), 150);
    }

    #[test]
    fn more_pages_than_are_kept_open_all() {
        let pages = OpenPages::new(100, 2);
        assert!(write(&pages, 7) && write(&pages, 90));
        assert_eq!(pages.wanted(8), Wanted::All);
        pages.note_all();
        assert_eq!(pages.wanted(8), Wanted::Nothing);
        pages.start_over();
        assert_eq!(pages.wanted(7), Wanted::Pages(1));
        assert_eq!(OpenPages::new(100, 0).wanted(0), Wanted::All);
    }

    #[test]
    fn the_last_page_opens_nothing_behind_it() {
        let pages = OpenPages::new(66, 66);
        for page in 60..66 {
            assert!(write(&pages, page));
        }
        assert_eq!(list(&pages), Vec::from_iter(60..66));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Write(u32),
        LetGo(u32),
        Sort,
        StartOver,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            12 => (0..200_u32).prop_map(Step::Write),
            4 => (0..200_u32).prop_map(Step::LetGo),
            1 => Just(Step::Sort),
            1 => Just(Step::StartOver),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]
        /// The list and the bits say the same, nothing is listed twice, no more than
        /// may be, and no written page is missing.
        #[test]
        fn the_list_has_what_was_written(
            keep in 0_usize..150,
            steps in prop::collection::vec(step(), 0..if cfg!(miri) { 30 } else { 120 }),
        ) {
            let pages = OpenPages::new(200, keep);
            let mut written = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Write(page) => {
                        prop_assert!(write(&pages, page));
                        written.insert(page as usize);
                    }
                    // Not while all is open: nothing is let go one by one then.
                    Step::LetGo(gone) if !pages.overflowed() => {
                        pages.retain(|page| page != gone as usize);
                        written.remove(&(gone as usize));
                    }
                    Step::LetGo(_) => {}
                    Step::Sort => {
                        pages.sort();
                        prop_assert!(list(&pages).is_sorted());
                    }
                    Step::StartOver => {
                        pages.start_over();
                        written.clear();
                    }
                }
                let listed = list(&pages);
                let open: BTreeSet<usize> = listed.iter().copied().collect();
                prop_assert_eq!(open.len(), listed.len());
                prop_assert!(listed.len() <= pages.keeps());
                for page in 0..pages.count() {
                    prop_assert_eq!(pages.is_open(page), open.contains(&(page as usize)));
                }
                prop_assert!(pages.overflowed() || written.is_subset(&open));
            }
        }
    }
}
