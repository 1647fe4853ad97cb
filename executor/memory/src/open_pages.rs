//! Which pages of a tracked memory are open, and how many a fault opens: the bookkeeping alone.

#[cfg(loom)]
mod loom_tests;

use super::mappings;
use super::sync::{AtomicBool, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::ops::Range;

/// Pages that one fault opens at most.
const WIDEST: u32 = 64;

/// The list of open pages of one memory.
///
/// Handlers write it, on each thread whose write faulted: several at once where several
/// threads write the memory. The owner looks at it when all of them are done, and what
/// has them wait for each other orders these accesses too; so all are relaxed.
pub(super) struct OpenPages {
    pages: u32,
    /// The pages that are open, in the order in which they were first written.
    /// As many places as pages may stay open.
    list: Box<[AtomicU32]>,
    /// Places that were given out, also those beyond the end of the list.
    taken: AtomicUsize,
    /// A bit for each page: set when it is in the list, or was too many for it.
    bits: Box<[AtomicU64]>,
    /// Set when the list was full or the runs too many: then the whole memory is open.
    overflowed: AtomicBool,
    /// The page behind those that were opened last, and how many they were.
    next: AtomicU32,
    width: AtomicU32,
    /// Runs of neighbours among the open pages, as far as [`mappings`] counts them: at
    /// least as many as there are.
    runs: AtomicIsize,
}

/// The answer to a write that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The page is noted already. Another thread has opened it since, or is about to:
    /// to be opened, once more maybe.
    Again,
    /// So many pages are to be opened, from this one on.
    Pages(u32),
    /// There are too many: all are to be opened.
    All,
}

/// The system calls of a handler.
pub(super) trait Protection {
    /// Makes so many pages writable, from one on. Whether the kernel did it.
    fn open(&self, page: u32, count: u32) -> bool;

    /// Brings open pages in, all at once instead of a fault each. Only a help.
    fn populate(&self, page: u32, count: u32);
}

impl OpenPages {
    /// None of `pages` pages is open, and at most `keep` will be listed.
    pub(super) fn new(pages: u32, keep: usize) -> Self {
        Self {
            pages,
            list: (0..keep.min(pages as usize)).map(|_| AtomicU32::new(0)).collect(),
            taken: AtomicUsize::new(0),
            bits: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            overflowed: AtomicBool::new(false),
            next: AtomicU32::new(u32::MAX),
            width: AtomicU32::new(1),
            runs: AtomicIsize::new(0),
        }
    }

    /// How many pages are open, if the list was long enough for them.
    #[inline]
    pub(super) fn listed(&self) -> usize {
        self.taken.load(Ordering::Relaxed).min(self.list.len())
    }

    /// How many pages may be open.
    pub(super) fn keeps(&self) -> usize {
        self.list.len()
    }

    /// The open pages, if the list was long enough for them, in the order in which they were
    /// opened.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.list[..self.listed()].iter().map(|page| page.load(Ordering::Relaxed) as usize)
    }

    /// `true` if the whole memory was opened, because too many pages were written.
    #[inline]
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// `true` if a page is in the list, or was too many for it. No page that the memory
    /// does not have.
    pub(super) fn is_open(&self, page: u32) -> bool {
        let bits = self.bits.get(page as usize / 64).map_or(0, |bits| bits.load(Ordering::Relaxed));
        bits & (1 << (page % 64)) != 0
    }

    /// Runs of neighbours among the open pages.
    pub(super) fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed).max(0) as usize
    }

    /// How many runs there would be without some pages, given as runs in ascending
    /// order, with nothing open that is to be taken off at their ends.
    pub(super) fn runs_without<'a>(&self, gone: impl Iterator<Item = &'a [usize]>) -> usize {
        let is_open = |page: usize| self.is_open(u32::try_from(page).unwrap_or(u32::MAX));
        let mut runs = self.runs() as isize;
        for run in gone {
            let Some((first, last)) = run.first().zip(run.last()) else { continue };
            let before = *first > 0 && is_open(first - 1);
            runs += isize::from(before) + isize::from(is_open(last + 1)) - 1;
        }
        runs.max(0) as usize
    }

    fn add_runs(&self, more: isize) {
        self.runs.fetch_add(more, Ordering::Relaxed);
        mappings::add(more);
    }

    /// Puts the list in the order of addresses: a reset then walks through memory
    /// as the processor expects it.
    pub(super) fn sort(&self) {
        let mut pages: Vec<usize> = self.iter().collect();
        if pages.is_sorted() {
            return;
        }
        pages.sort_unstable();
        for (place, page) in self.list.iter().zip(pages) {
            place.store(page as u32, Ordering::Relaxed);
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
                self.bits[page as usize / 64].fetch_and(!(1 << (page % 64)), Ordering::Relaxed);
            }
        }
        self.taken.store(kept, Ordering::Relaxed);
        self.count_runs();
    }

    /// Counts the runs again: each begins where a bit is set and the one before is not.
    fn count_runs(&self) {
        let (mut runs, mut before) = (0, 0);
        for bits in &self.bits {
            let bits = bits.load(Ordering::Relaxed);
            runs += (bits & !(bits << 1 | before)).count_ones() as isize;
            before = bits >> 63;
        }
        self.add_runs(runs - self.runs.load(Ordering::Relaxed));
    }

    /// The later half of what the last fault opened, if that was more than the page that it
    /// was about: maybe nobody wrote there. The earlier half counts as all that it opened
    /// from now on, so that the end of what is written is found by halves.
    #[inline]
    pub(super) fn halve(&self) -> Option<Range<usize>> {
        let width = self.width.load(Ordering::Relaxed);
        if width < 2 {
            return None;
        }
        let (end, half) = (self.next.load(Ordering::Relaxed), width / 2);
        let first = end.checked_sub(half)?;
        self.next.store(first, Ordering::Relaxed);
        self.width.store(width - half, Ordering::Relaxed);
        Some(first as usize..end as usize)
    }

    /// Forgets all that was noted: no page is open.
    pub(super) fn start_over(&self) {
        // Also the bits of those that were too many for the list.
        for bits in &self.bits {
            bits.store(0, Ordering::Relaxed);
        }
        self.taken.store(0, Ordering::Relaxed);
        self.overflowed.store(false, Ordering::Relaxed);
        self.next.store(u32::MAX, Ordering::Relaxed);
        self.width.store(1, Ordering::Relaxed);
        self.add_runs(-self.runs.load(Ordering::Relaxed));
    }

    /// Opens a page to which a write was refused, and others with it where
    /// [`wanted`](Self::wanted) says so. Whether the kernel did it.
    ///
    /// This, and what it calls, is for the handler: it does not panic, whatever other
    /// threads do meanwhile.
    pub(super) fn open(&self, page: u32, memory: &impl Protection) -> bool {
        let width = match self.wanted(page) {
            Wanted::Again => return memory.open(page, 1),
            Wanted::Pages(width) if memory.open(page, width) => width,
            // Or the kernel has no more mappings for single pages: as a whole it
            // takes fewer of them.
            Wanted::Pages(_) | Wanted::All => return self.open_all(memory),
        };
        if width > 1 {
            memory.populate(page, width);
        }
        self.note(page, width) || self.open_all(memory)
    }

    /// Opens the memory as a whole, which takes one mapping, and notes that.
    pub(super) fn open_all(&self, memory: &impl Protection) -> bool {
        let opened = memory.open(0, self.pages);
        if opened {
            self.note_all();
        }
        opened
    }

    /// The answer to a write that was refused. The pages behind it come along when the last faults
    /// were in order: a guest that fills a buffer then faults a few times and not for every page.
    pub(super) fn wanted(&self, page: u32) -> Wanted {
        if self.overflowed() || self.is_open(page) {
            return Wanted::Again;
        }
        let in_order = self.next.load(Ordering::Relaxed) == page;
        let last = self.width.load(Ordering::Relaxed);
        let wanted = if in_order { last.saturating_mul(2).min(WIDEST) } else { 1 };
        let room = (self.list.len() - self.listed()) as u32;
        let most = wanted.min(room).min(self.pages.saturating_sub(page));
        let mut width = 0;
        while width < most && !self.is_open(page + width) {
            width += 1;
        }
        let is_new = !page.checked_sub(1).is_some_and(|before| self.is_open(before))
            && !self.is_open(page + width);
        let runs = self.runs();
        let are_enough =
            || runs >= mappings::RUNS || runs >= mappings::FEW_RUNS && mappings::are_too_many();
        if width == 0 || is_new && are_enough() { Wanted::All } else { Wanted::Pages(width) }
    }

    /// So many pages, as [`wanted`](Self::wanted) said, are open from now on, those
    /// excepted that another thread has noted meanwhile. Whether the list was long
    /// enough; otherwise all are to be opened.
    #[must_use]
    pub(super) fn note(&self, page: u32, width: u32) -> bool {
        let mut fits = true;
        for page in page..page + width {
            let Some(bits) = self.bits.get(page as usize / 64) else { continue };
            // Before the bit is set: of two threads that note neighbours at once none may
            // count on the other's run.
            let neighbours = isize::from(page > 0 && self.is_open(page - 1))
                + isize::from(self.is_open(page + 1));
            let bit = 1 << (page % 64);
            if bits.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
                continue;
            }
            self.add_runs(1 - neighbours);
            match self.list.get(self.taken.fetch_add(1, Ordering::Relaxed)) {
                Some(place) => place.store(page, Ordering::Relaxed),
                None => fits = false,
            }
        }
        self.next.store(page + width, Ordering::Relaxed);
        self.width.store(width, Ordering::Relaxed);
        fits
    }

    /// All pages are open from now on.
    pub(super) fn note_all(&self) {
        self.overflowed.store(true, Ordering::Relaxed);
        mappings::add(-self.runs.swap(0, Ordering::Relaxed));
    }
}

impl Drop for OpenPages {
    fn drop(&mut self) {
        mappings::add(-self.runs.load(Ordering::Relaxed));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// No memory: whatever is asked for is done.
    impl Protection for () {
        fn open(&self, _: u32, _: u32) -> bool {
            true
        }

        fn populate(&self, _: u32, _: u32) {}
    }

    /// As the handler does. `true` if the write was let through.
    fn write(pages: &OpenPages, page: u32) -> bool {
        pages.open(page, &())
    }

    fn list(pages: &OpenPages) -> Vec<usize> {
        pages.iter().collect()
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
            assert!(pages.note(page, 1));
        }
        assert_eq!((pages.listed(), pages.runs()), (150, 150));
    }

    #[test]
    fn more_pages_than_are_kept_open_all() {
        let pages = OpenPages::new(100, 2);
        assert!(write(&pages, 7) && write(&pages, 90));
        assert_eq!(pages.wanted(8), Wanted::All);
        pages.note_all();
        assert_eq!(pages.wanted(8), Wanted::Again);
        pages.start_over();
        assert_eq!(pages.wanted(7), Wanted::Pages(1));
        assert_eq!(OpenPages::new(100, 0).wanted(0), Wanted::All);
    }

    #[test]
    fn what_was_opened_ahead_is_halved_down_to_the_page_that_faulted() {
        let pages = OpenPages::new(300, 300);
        assert_eq!(pages.halve(), None);
        for page in [10, 11, 13, 17] {
            assert!(write(&pages, page));
        }
        let halves: Vec<_> = std::iter::from_fn(|| pages.halve()).collect();
        assert_eq!(halves, [21..25, 19..21, 18..19]);
        // The next write in order goes on from there.
        pages.retain(|page| page < 18);
        assert_eq!(pages.wanted(18), Wanted::Pages(2));
        pages.start_over();
        assert_eq!(pages.halve(), None);
    }

    #[test]
    fn the_last_page_opens_nothing_behind_it() {
        let pages = OpenPages::new(66, 66);
        for page in 60..66 {
            assert!(write(&pages, page));
        }
        assert_eq!(list(&pages), Vec::from_iter(60..66));
    }

    /// Two threads that asked at the same time note what they opened.
    #[test]
    fn what_two_threads_note_is_listed_once_or_overflows() {
        let pages = OpenPages::new(200, 5);
        assert!(pages.note(7, 1) && pages.note(7, 1) && pages.note(6, 3));
        assert_eq!((list(&pages), pages.runs()), (vec![7, 6, 8], 1));
        assert!(pages.note(100, 2));
        assert!(!pages.note(150, 2));
        assert!(!pages.is_open(u32::MAX));
        assert_eq!(pages.listed(), 5);
        pages.note_all();
        pages.start_over();
        // What was too many for the list is not taken for open.
        assert_eq!(pages.wanted(151), Wanted::Pages(1));
        assert_eq!((pages.listed(), pages.runs()), (0, 0));
    }

    #[test]
    fn runs_have_a_bound() {
        let pages = OpenPages::new(4096, 4096);
        let runs = mappings::RUNS as u32;
        assert!((0..runs).all(|run| write(&pages, 3 * run)));
        // Pages that make no run more, and one that would.
        assert_eq!(pages.wanted(1), Wanted::Pages(1));
        assert_eq!(pages.wanted(2), Wanted::Pages(1));
        assert_eq!(pages.wanted(3 * runs), Wanted::All);
        assert_eq!(pages.runs_without([&[3][..], &[6], &[9]].into_iter()), pages.runs() - 3);
        pages.retain(|page| page % 2 == 0);
        assert_eq!(pages.runs(), runs as usize / 2);
        assert_eq!(pages.wanted(3 * runs), Wanted::Pages(1));
        pages.note_all();
        assert_eq!(pages.runs(), 0);
    }

    #[test]
    fn runs_end_where_pages_are_taken_out_of_them() {
        let pages = OpenPages::new(100, 100);
        assert!((0..10).all(|page| pages.note(page, 1)));
        let without = |gone: &[usize]| pages.runs_without(std::iter::once(gone));
        assert_eq!([without(&[]), without(&[4, 5]), without(&[0, 1])], [1, 2, 1]);
        assert_eq!([without(&[8, 9]), without(&[9]), without(&[0])], [1, 1, 1]);
        assert_eq!(without(&Vec::from_iter(0..10)), 0);
    }

    #[test]
    fn pages_that_are_opened_together_are_brought_in_together() {
        struct Asked(std::cell::RefCell<Vec<(u32, u32)>>);
        impl Protection for Asked {
            fn open(&self, _: u32, _: u32) -> bool {
                true
            }

            fn populate(&self, page: u32, count: u32) {
                self.0.borrow_mut().push((page, count));
            }
        }
        let (pages, memory) = (OpenPages::new(100, 100), Asked(Vec::new().into()));
        for page in [50, 51, 53, 10] {
            assert!(pages.open(page, &memory));
        }
        assert_eq!(*memory.0.borrow(), [(51, 2), (53, 4)]);
    }

    /// In a process of its own: all memories are counted together.
    #[test]
    #[cfg_attr(miri, ignore = "needs processes")]
    fn mappings_are_counted_and_few_are_taken_where_they_are_scarce() {
        use crate::tests::test_support::passes;
        if passes(
            "open_pages::tests::\
             mappings_are_counted_and_few_are_taken_where_they_are_scarce",
        ) {
            return;
        }
        let few = mappings::FEW_RUNS as u32;
        let taken = mappings::tests::Others::taken;
        let pages = OpenPages::new(4096, 4096);
        assert!((0..few).all(|run| write(&pages, 3 * run)));
        assert_eq!(taken(), 2 * few as isize);
        assert!(!mappings::are_many() && !mappings::are_too_many());
        assert_eq!(pages.wanted(3 * few), Wanted::Pages(1));
        let others = mappings::tests::Others::new(2);
        assert!(mappings::are_many() && mappings::are_too_many());
        assert_eq!(pages.wanted(3 * few), Wanted::All);
        pages.retain(|page| page > 0);
        assert_eq!(pages.wanted(3 * few), Wanted::Pages(1));
        drop(others);
        pages.note_all();
        assert_eq!(taken(), 0);
        let pages = OpenPages::new(100, 100);
        assert!(write(&pages, 7));
        assert_eq!(taken(), 2);
        drop(pages);
        assert_eq!(taken(), 0);
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
                for page in 0..pages.pages {
                    prop_assert_eq!(pages.is_open(page), open.contains(&(page as usize)));
                }
                prop_assert!(pages.overflowed() || written.is_subset(&open));
                let starts = listed.iter().filter(|page| !open.contains(&(**page).wrapping_sub(1)));
                prop_assert!(pages.overflowed() || pages.runs() == starts.count());
            }
        }
    }
}
