//! How long each page that is kept has not been needed, and when to let it go.
//!
//! A page that stays mapped costs a comparison on every reset (tens of nanoseconds); one that was
//! let go costs a fault when it is written again (a microsecond, two with a signal). So a page is
//! kept for some resets after its last change: for [`KEPT_FOR`], or for [`OFTEN`] if it is changed
//! that often. No history makes these numbers larger: the light calls after a heavy one compare the
//! pages of the heavy one at most `OFTEN` times, however often heavy calls come.
//!
//! A page that every call writes, but always with its clean content, looks like one that nobody
//! writes. It is let go, comes back at once without a change, and is kept twice as long each time,
//! until this is cheap.

use crate::padded::Padded;

/// Resets without a change after which a page is let go, at first.
pub(super) const KEPT_FOR: u16 = 5;
/// The same for a page that was changed again within so many resets.
pub(super) const OFTEN: u16 = 9;
/// The largest number, for pages that are written without a change.
pub(super) const LONGEST: u16 = 1280;
/// Resets without a change after which a page is let go, by its trust.
const RESETS: [u16; 9] = [KEPT_FOR, OFTEN, 20, 40, 80, 160, 320, 640, LONGEST];
/// A page that is written in every call comes back within so many resets.
const SOON: u16 = 2;

/// An entry: a bit for a page that was let go, its trust, and its age or, once it was let go,
/// the number of the reset.
const LEFT: u16 = 1 << 15;
const TRUST: u32 = 11;
const AGE: u16 = (1 << TRUST) - 1;

/// Pages whose ages lie in one block.
const BLOCK: usize = 256;

/// The history of a memory's pages.
#[derive(Debug, Default)]
pub(super) struct Ages {
    /// For each page of the memory its trust and its age: 0 when it is not kept, 1 when the last
    /// call changed it, else one more than the number of resets since. Written in every reset,
    /// hence padded. A block is made when one of its pages is kept: most memories are large and
    /// keep few.
    pages: Vec<Option<Box<Padded<[u16; BLOCK]>>>>,
    /// Resets so far; the number wraps.
    pub(super) now: u32,
    /// Pages that this reset found and the last one had not kept.
    pub(super) new_pages: usize,
}

/// The fate of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    LetGo,
}

impl Ages {
    /// A reset begins, in a memory of so many pages.
    #[inline]
    pub(super) fn next(&mut self, pages: usize) {
        self.now = self.now.wrapping_add(1);
        self.new_pages = 0;
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
        let now = self.number();
        let Some(block) = self.pages.get_mut(page / BLOCK) else { return Verdict::LetGo };
        let entry = &mut block.get_or_insert_with(none_kept)[page % BLOCK];
        if *entry & AGE == 0 || *entry >= LEFT {
            self.new_pages += 1;
            *entry = returned(*entry, now, changed) << TRUST;
        }
        let (trust, age) = (*entry >> TRUST, *entry & AGE);
        if changed {
            *entry = trust.min(1).max(trust.saturating_sub(1)) << TRUST | 1;
            return Verdict::Keep;
        }
        let age = (age.max(1) + 1).min(AGE);
        *entry = trust << TRUST | age;
        if age <= RESETS[usize::from(trust)] { Verdict::Keep } else { Verdict::LetGo }
    }

    /// `true` if the last call that was reset had changed a page.
    pub(super) fn is_changed(&self, page: usize) -> bool {
        let ages = self.pages.get(page / BLOCK).and_then(Option::as_ref);
        ages.is_some_and(|ages| ages[page % BLOCK] & (LEFT | AGE) == 1)
    }

    /// The number of this reset, in an entry.
    #[inline]
    fn number(&self) -> u16 {
        (self.now % (1 << TRUST)) as u16
    }

    fn entry(&mut self, page: usize) -> Option<&mut u16> {
        self.pages.get_mut(page / BLOCK)?.as_mut().map(|ages| &mut ages[page % BLOCK])
    }

    /// A page is let go because it was not changed for long.
    pub(super) fn leave(&mut self, page: usize) {
        let now = self.number();
        if let Some(entry) = self.entry(page) {
            *entry = LEFT | (*entry & !AGE) | now;
        }
    }

    /// A page is no longer kept, for another reason.
    pub(super) fn forget(&mut self, page: usize) {
        if let Some(entry) = self.entry(page) {
            *entry &= !(LEFT | AGE);
        }
    }

    /// No page is kept any more.
    pub(super) fn forget_all(&mut self) {
        for block in &mut self.pages {
            let entries = block.iter_mut().flat_map(|ages| ages.0.iter_mut());
            entries.for_each(|entry| *entry &= !(LEFT | AGE));
            *block = block.take().filter(|ages| ages.iter().any(|entry| *entry > 0));
        }
    }
}

/// The trust in a page that is seen again in a reset.
#[cold]
fn returned(entry: u16, now: u16, changed: bool) -> u16 {
    let (trust, away) = (entry >> TRUST & 15, now.wrapping_sub(entry) & AGE);
    match changed {
        _ if entry < LEFT => trust,
        true => u16::from(RESETS[usize::from(trust)] + away <= OFTEN),
        false if away <= SOON => (trust + 1).min(RESETS.len() as u16 - 1),
        false => 0,
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
            let entries = self.pages.iter().flatten().flat_map(|ages| ages.0);
            entries.filter(|entry| *entry < LEFT && entry & AGE > 0).count()
        }
    }

    /// Plays calls, each of which writes a page with a change (`Some(true)`), without one, or not
    /// at all. Returns after which resets it was let go.
    fn play(ages: &mut Ages, calls: impl IntoIterator<Item = Option<bool>>) -> Vec<usize> {
        let (mut kept, mut gone) = (false, Vec::new());
        for (index, call) in calls.into_iter().enumerate() {
            ages.next(1);
            kept |= call.is_some();
            if kept && ages.seen(0, call == Some(true)) == Verdict::LetGo {
                ages.leave(0);
                kept = false;
                gone.push(index);
            }
        }
        gone
    }

    /// Calls of which each of so many changes the page.
    fn every(period: usize, calls: usize) -> impl Iterator<Item = Option<bool>> {
        (0..calls).map(move |call| (call % period == 0).then_some(true))
    }

    #[test]
    fn one_use_is_forgotten_before_the_tenth_call() {
        let gone = play(&mut Ages::default(), every(100, 20));
        assert_eq!(gone, [usize::from(KEPT_FOR)]);
    }

    #[test]
    fn what_is_changed_often_is_kept() {
        for period in 1..=usize::from(OFTEN) {
            let gone = play(&mut Ages::default(), every(period, 10_000));
            assert_eq!(gone.len(), usize::from(period > 5), "every {period} calls");
        }
    }

    /// A heavy call now and then must not tax the light ones in between, whatever came before.
    #[test]
    fn what_comes_back_late_is_let_go_by_the_tenth_call() {
        for before in [1, 3, 7, 9, 12, 15, 20, 40, 200] {
            for silent in [false, true] {
                for pause in [16, 26, 100] {
                    let mut ages = Ages::default();
                    let calls = every(before, 2000);
                    play(&mut ages, calls.map(|call| call.map(|changed| changed && !silent)));
                    ages.forget(0);
                    let gone = play(&mut ages, every(pause, 20 * pause));
                    let late = gone.iter().filter(|gone| *gone % pause > usize::from(OFTEN));
                    assert!(gone.len() >= 14, "every {pause} calls: {gone:?}");
                    assert!(late.count() <= 2, "every {pause} calls: {gone:?}");
                    assert_eq!(gone[gone.len() - 1] % pause, usize::from(KEPT_FOR));
                }
            }
        }
    }

    #[test]
    fn what_is_written_without_a_change_is_kept_longer_each_time() {
        let mut ages = Ages::default();
        let gone = play(&mut ages, [Some(false); 10_000]);
        let kept: Vec<_> = gone.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(kept[..8], [9, 20, 40, 80, 160, 320, 640, 1280]);
        assert!(kept[8..].iter().all(|kept| *kept == usize::from(LONGEST)), "{kept:?}");
        // When nobody writes it any more, it is let go for good.
        assert!(play(&mut ages, [None; 2000]).len() <= 1);
        // Changes take the trust away again.
        play(&mut ages, [Some(false); 10_000]);
        let gone = play(&mut ages, every(26, 26 * 20));
        assert_eq!(gone[gone.len() - 1] % 26, usize::from(KEPT_FOR));
    }

    /// Each call changes a page that none has changed before.
    #[test]
    fn new_pages_are_no_reason_to_keep_the_old_ones() {
        let (mut ages, pages) = (Ages::default(), 5000);
        let mut kept = Vec::new();
        for page in 0..pages {
            ages.next(pages);
            kept.push(page);
            let left: Vec<_> = kept
                .extract_if(.., |one| ages.seen(*one, *one == page) == Verdict::LetGo)
                .collect();
            assert_eq!(ages.new_pages, 1);
            left.iter().for_each(|page| ages.leave(*page));
            assert!(kept.len() <= usize::from(KEPT_FOR));
            assert_eq!(ages.kept(), kept.len());
        }
    }

    #[test]
    fn a_page_that_is_forgotten_is_new_when_it_is_seen_again() {
        let pages = [3, BLOCK - 1, BLOCK, 2 * BLOCK + 7];
        let mut ages = Ages::default();
        let see = |ages: &mut Ages| {
            ages.next(3 * BLOCK);
            pages.iter().for_each(|page| assert_eq!(ages.seen(*page, true), Verdict::Keep));
            ages.new_pages
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
        let mut ages = Ages { now: u32::MAX - 3, ..Ages::default() };
        let gone = play(&mut ages, every(100, 20));
        assert_eq!(gone, [usize::from(KEPT_FOR)]);
    }
}
