//! How long each page that is kept has not been needed, and when to let it go.
//!
//! A page that stays mapped costs a comparison on every reset (tens of nanoseconds); one that was
//! let go costs a fault when it is written again (a microsecond, two with a signal). So a page is
//! kept for some resets after its last change. If most pages that were let go come back soon, that
//! number is doubled; if few do, it is halved again. Other new pages say nothing about it.
//!
//! A page that every call writes, but always with its clean content, looks like one that nobody
//! writes. It is let go and comes back until it is kept for so long that this is cheap.

use crate::padded::Padded;

/// Resets without a change after which a page is let go, at first.
pub(super) const KEPT_FOR: u16 = 5;
/// The largest number that this grows to.
const LONGEST: u16 = 2560;
/// Pages that come back within so many resets came back soon: for so long it would
/// not have cost more to keep them than to fault on them again.
const SOON: u16 = 8;
/// Set in the entry of a page that was let go; the other bits are those of the reset's
/// number. Ages are smaller.
const LEFT: u16 = 1 << 15;

/// Pages whose ages lie in one block.
const BLOCK: usize = 256;

/// The history of a memory's pages.
#[derive(Debug)]
pub(super) struct Ages {
    /// For each page of the memory: 0 when it is not kept, 1 when the last call changed it, else
    /// one more than the number of resets since; with [`LEFT`] when it was let go. Written in every
    /// reset, hence padded. A block is made when one of its pages is kept: most memories are large
    /// and keep few.
    pages: Vec<Option<Box<Padded<[u16; BLOCK]>>>>,
    kept_for: u16,
    /// Resets so far.
    now: u32,
    /// How many pages were let go last.
    let_go: u32,
    /// How many pages have come back since, soon after they were let go.
    came_back: u32,
    /// Pages that this reset found and the last one had not kept.
    new: usize,
}

/// The fate of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    LetGo,
}

impl Ages {
    pub(super) fn new() -> Self {
        Self { pages: Vec::new(), kept_for: KEPT_FOR, now: 0, let_go: 0, came_back: 0, new: 0 }
    }

    /// A reset begins, in a memory of so many pages.
    #[inline]
    pub(super) fn next(&mut self, pages: usize) {
        self.now = self.now.wrapping_add(1);
        self.new = 0;
        self.grow(pages);
    }

    /// The memory has at least so many pages.
    #[inline]
    pub(super) fn grow(&mut self, pages: usize) {
        let blocks = pages.div_ceil(BLOCK);
        if self.pages.len() < blocks {
            self.pages.resize_with(blocks, || None);
        }
    }

    /// A kept page was compared. `changed`: the call had changed it.
    #[inline]
    pub(super) fn seen(&mut self, page: usize, changed: bool) -> Verdict {
        let left = self.left();
        let Some(block) = self.pages.get_mut(page / BLOCK) else { return Verdict::LetGo };
        let age = &mut block.get_or_insert_with(none_kept)[page % BLOCK];
        if *age == 0 || *age >= LEFT {
            self.new += 1;
            let is_soon = *age >= LEFT && left.wrapping_sub(*age) % LEFT <= SOON;
            self.came_back += u32::from(is_soon);
            *age = 0;
        }
        if changed {
            *age = 1;
            return Verdict::Keep;
        }
        *age = ((*age).max(1) + 1).min(LEFT - 1);
        if *age <= self.kept_for { Verdict::Keep } else { Verdict::LetGo }
    }

    /// `true` if the last call that was reset had changed a page.
    pub(super) fn is_changed(&self, page: usize) -> bool {
        matches!(self.pages.get(page / BLOCK), Some(Some(ages)) if ages[page % BLOCK] == 1)
    }

    /// The entry of a page that is let go in this reset.
    #[inline]
    fn left(&self) -> u16 {
        LEFT | (self.now % u32::from(LEFT)) as u16
    }

    /// A page is let go because it was not changed for long.
    pub(super) fn leave(&mut self, page: usize) {
        let left = self.left();
        if let Some(Some(ages)) = self.pages.get_mut(page / BLOCK) {
            ages[page % BLOCK] = left;
        }
    }

    /// A page is no longer kept, for another reason.
    pub(super) fn forget(&mut self, page: usize) {
        if let Some(Some(ages)) = self.pages.get_mut(page / BLOCK) {
            ages[page % BLOCK] = 0;
        }
    }

    /// No page is kept any more.
    pub(super) fn forget_all(&mut self) {
        self.pages.fill_with(|| None);
    }

    /// So many pages were let go in this reset, of which each [left](Self::leave): time to
    /// judge what came of the last ones.
    pub(super) fn let_go(&mut self, pages: usize) {
        self.kept_for = if self.came_back * 2 > self.let_go && self.let_go > 0 {
            (self.kept_for * 2).min(LONGEST)
        } else {
            (self.kept_for / 2).max(KEPT_FOR)
        };
        self.let_go = u32::try_from(pages).unwrap_or(u32::MAX);
        self.came_back = 0;
    }

    /// Pages that the reset that is on its way has found and the last one had not kept.
    pub(super) fn new_pages(&self) -> usize {
        self.new
    }

    /// Resets so far; the number wraps.
    pub(super) fn now(&self) -> u32 {
        self.now
    }

    /// Resets without a change that a page is kept for now.
    pub(super) fn kept_for(&self) -> u16 {
        self.kept_for
    }
}

/// A block of which no page is kept.
#[cold]
fn none_kept() -> Box<Padded<[u16; BLOCK]>> {
    Box::new(Padded([0; BLOCK]))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Ages {
        /// Pages that are kept.
        pub(in super::super) fn kept(&self) -> usize {
            let ages = self.pages.iter().flatten().flat_map(|ages| ages.0);
            ages.filter(|age| (1..LEFT).contains(age)).count()
        }
    }

    /// Plays calls: each entry says whether the call changes the page. Returns
    /// after which resets it was let go.
    fn play(ages: &mut Ages, calls: impl IntoIterator<Item = bool>) -> Vec<usize> {
        let (mut kept, mut gone) = (false, Vec::new());
        for (index, changed) in calls.into_iter().enumerate() {
            ages.next(1);
            kept |= changed;
            if kept && ages.seen(0, changed) == Verdict::LetGo {
                ages.leave(0);
                ages.let_go(1);
                kept = false;
                gone.push(index);
            }
        }
        gone
    }

    #[test]
    fn one_use_is_forgotten_before_the_tenth_call() {
        let mut ages = Ages::new();
        let gone = play(&mut ages, [true].into_iter().chain([false; 20]));
        assert_eq!(gone, [usize::from(KEPT_FOR)]);
    }

    #[test]
    fn what_comes_back_soon_is_kept_for_longer() {
        let mut ages = Ages::new();
        let gone = play(&mut ages, (0..80).map(|index| index % 8 == 0));
        // The second time, pages are kept for longer than the pause.
        assert!(gone.len() <= 2, "{gone:?}");
        assert!(ages.kept_for() > 8);
    }

    /// A heavy call now and then must not tax the light ones in between.
    #[test]
    fn what_comes_back_late_is_let_go_each_time() {
        for pause in [16, 26, 100] {
            let mut ages = Ages::new();
            let gone = play(&mut ages, (0..10 * pause).map(|index| index % pause == 0));
            assert_eq!(gone.len(), 10, "every {pause} calls");
            assert_eq!(ages.kept_for(), KEPT_FOR);
        }
    }

    /// Each call changes a page that none has changed before.
    #[test]
    fn new_pages_are_no_reason_to_keep_the_old_ones() {
        let (mut ages, pages) = (Ages::new(), 5000);
        let mut kept = Vec::new();
        for page in 0..pages {
            ages.next(pages);
            kept.push(page);
            let left: Vec<_> = kept
                .extract_if(.., |one| ages.seen(*one, *one == page) == Verdict::LetGo)
                .collect();
            assert_eq!(ages.new_pages(), 1);
            left.iter().for_each(|page| ages.leave(*page));
            if !left.is_empty() {
                ages.let_go(left.len());
            }
            assert!(kept.len() <= usize::from(KEPT_FOR));
            assert_eq!(ages.kept(), kept.len());
        }
        assert_eq!(ages.kept_for(), KEPT_FOR);
    }

    #[test]
    fn kept_for_shrinks_when_nothing_comes_back() {
        let mut ages = Ages::new();
        play(&mut ages, (0..80).map(|index| index % 8 == 0));
        let long = ages.kept_for();
        for _ in 0..6 {
            play(&mut ages, (0..1000).map(|index| index == 0));
        }
        assert!(ages.kept_for() < long);
        assert_eq!(ages.kept_for(), KEPT_FOR);
    }

    #[test]
    fn kept_for_is_doubled_where_more_than_half_come_back_and_is_halved_again() {
        let mut ages = Ages::new();
        // Of four pages that were let go, so many come back, and all are let go again.
        let mut reset = |come_back| {
            ages.next(4);
            (0..come_back).for_each(|page| assert_eq!(ages.seen(page, true), Verdict::Keep));
            (0..4).for_each(|page| ages.leave(page));
            ages.let_go(4);
            ages.kept_for()
        };
        assert_eq!([4, 2, 3, 3, 3].map(&mut reset), [5, 5, 10, 20, 40]);
        assert_eq!([2, 0, 0, 0].map(&mut reset), [20, 10, 5, 5]);
        assert_eq!([4; 11].map(&mut reset)[8..], [LONGEST; 3]);
        assert_eq!(KEPT_FOR, 5);
    }

    /// Pages that come back were let go longer ago, which says nothing about the last ones.
    #[test]
    fn kept_for_stays_where_nothing_was_let_go() {
        let mut ages = Ages::new();
        for _ in 0..3 {
            ages.next(1);
            ages.seen(0, true);
            ages.leave(0);
            ages.let_go(0);
        }
        assert_eq!(ages.kept_for(), KEPT_FOR);
    }

    #[test]
    fn a_page_that_is_forgotten_is_new_when_it_is_seen_again() {
        let pages = [3, BLOCK - 1, BLOCK, 2 * BLOCK + 7];
        let mut ages = Ages::new();
        let see = |ages: &mut Ages| {
            ages.next(3 * BLOCK);
            pages.iter().for_each(|page| assert_eq!(ages.seen(*page, true), Verdict::Keep));
            ages.new_pages()
        };
        assert_eq!([see(&mut ages), see(&mut ages)], [4, 0]);
        assert!(pages.iter().all(|page| ages.is_changed(*page)));
        assert!(!ages.is_changed(4) && !ages.is_changed(BLOCK + 3) && !ages.is_changed(9 * BLOCK));
        for forgotten in pages {
            ages.forget(forgotten);
            assert!(!ages.is_changed(forgotten));
            assert_eq!([ages.kept(), see(&mut ages)], [3, 1]);
        }
        ages.seen(3, false);
        assert!(!ages.is_changed(3));
        ages.forget_all();
        assert_eq!([ages.kept(), see(&mut ages)], [0, 4]);
    }

    #[test]
    fn the_counter_of_resets_may_wrap() {
        let mut ages = Ages::new();
        ages.now = u32::MAX - 3;
        let gone = play(&mut ages, [true].into_iter().chain([false; 20]));
        assert_eq!(gone, [usize::from(KEPT_FOR)]);
    }
}
