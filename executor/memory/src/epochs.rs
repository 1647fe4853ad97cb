//! Which pages stay resident of a memory whose clean pages nobody looks at.
//!
//! A page that is known to be clean costs no comparison, so it is not let go for the time
//! that it takes ([`ages`](super::ages)) but for the memory alone: at the latest after two
//! epochs in which nobody has written it.

use std::ops::Range;

/// Resets of an epoch at most.
pub(super) const LENGTH: u32 = 128;
/// Pages of a word.
const WORD: usize = u64::BITS as usize;

/// A set of pages.
#[derive(Debug, Default)]
struct Pages {
    /// A bit for each page, as far as the highest that ever was in the set.
    words: Vec<u64>,
    count: usize,
}

impl Pages {
    /// Whether the page was not in the set.
    fn insert(&mut self, page: usize) -> bool {
        let (word, bit) = (page / WORD, 1 << (page % WORD));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += usize::from(is_new);
        is_new
    }

    fn remove(&mut self, page: usize) {
        let bit = 1 << (page % WORD);
        if let Some(word) = self.words.get_mut(page / WORD).filter(|word| **word & bit != 0) {
            *word &= !bit;
            self.count -= 1;
        }
    }

    fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index * WORD + bit as usize)
            })
        })
    }
}

/// The resident pages of a memory by the epoch in which they were written last.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    /// Written in this epoch.
    young: Pages,
    /// Written in the last one, and not since.
    old: Pages,
    /// Resets of this epoch.
    resets: u32,
}

impl Epochs {
    /// A call has written a page, or made it resident.
    #[inline]
    pub(super) fn written(&mut self, page: usize) {
        if self.young.insert(page) {
            self.old.remove(page);
        }
    }

    /// The pages of a range were dropped.
    pub(super) fn dropped(&mut self, pages: Range<usize>) {
        let highest = self.young.words.len().max(self.old.words.len()) * WORD;
        for page in pages.start..pages.end.min(highest) {
            self.young.remove(page);
            self.old.remove(page);
        }
    }

    /// All pages were dropped.
    pub(super) fn start_over(&mut self) {
        self.young.clear();
        self.old.clear();
        self.resets = 0;
    }

    /// A reset ends. Adds the pages that are to be dropped to `leaving`, in ascending
    /// order, so that at most `limit` pages stay.
    #[inline]
    pub(super) fn end_reset(&mut self, limit: usize, leaving: &mut Vec<usize>) {
        self.resets += 1;
        let is_over = self.resets >= LENGTH || self.young.count > limit / 2;
        if is_over || self.young.count + self.old.count > limit {
            self.begin_epoch(limit, leaving);
        }
    }

    #[cold]
    fn begin_epoch(&mut self, limit: usize, leaving: &mut Vec<usize>) {
        leaving.extend(self.old.iter());
        self.old.clear();
        self.resets = 0;
        std::mem::swap(&mut self.young, &mut self.old);
        // What was written since the epoch began is more than may stay.
        if self.old.count > limit {
            leaving.extend(self.old.iter());
            leaving.sort_unstable();
            self.old.clear();
        }
    }

    /// Pages that are resident at most.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.young.count + self.old.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn call(
        epochs: &mut Epochs,
        pages: impl IntoIterator<Item = usize>,
        limit: usize,
    ) -> Vec<usize> {
        pages.into_iter().for_each(|page| epochs.written(page));
        let mut leaving = Vec::new();
        epochs.end_reset(limit, &mut leaving);
        leaving
    }

    #[test]
    fn a_page_that_nobody_writes_stays_for_two_epochs_at_most() {
        let mut epochs = Epochs::default();
        assert!(call(&mut epochs, [3, 70, 1000], 100).is_empty());
        let gone: Vec<_> = (0..3 * LENGTH).map(|_| call(&mut epochs, [70], 100)).collect();
        let when = gone.iter().position(|pages| !pages.is_empty()).unwrap();
        assert_eq!(when as u32, 2 * LENGTH - 2);
        assert_eq!(gone[when], [3, 1000]);
        assert!(gone[when + 1..].iter().all(Vec::is_empty));
        assert_eq!(epochs.kept(), 1);
    }

    #[test]
    fn the_same_pages_stay_up_to_the_limit() {
        for pages in [1, 40, 51, 100] {
            let mut epochs = Epochs::default();
            for _ in 0..1000 {
                assert!(call(&mut epochs, 0..pages, 100).is_empty(), "{pages}");
            }
            assert_eq!(epochs.kept(), pages);
        }
    }

    #[test]
    fn of_other_pages_in_each_call_the_last_ones_stay() {
        let mut epochs = Epochs::default();
        for index in 0..1000 {
            call(&mut epochs, index * 10..index * 10 + 10, 100);
            assert!(epochs.kept() <= 100);
        }
        assert!(epochs.old.iter().chain(epochs.young.iter()).all(|page| page >= 9_880));
    }

    #[test]
    fn an_epoch_ends_where_half_of_the_limit_is_written_or_all_of_it_stays() {
        let mut epochs = Epochs::default();
        let ends = |epochs: &mut Epochs, pages: Range<usize>| {
            call(epochs, pages, 100);
            epochs.resets == 0
        };
        assert!(!ends(&mut epochs, 0..50));
        assert!(ends(&mut epochs, 0..51));
        assert_eq!([epochs.old.count, epochs.young.count], [51, 0]);
        assert!(!ends(&mut epochs, 200..249), "100 stay");
        epochs.old.insert(300);
        assert!(ends(&mut epochs, 0..0), "101 would stay");
        assert_eq!(epochs.kept(), 49);
    }

    #[test]
    fn pages_that_were_dropped_are_not_dropped_again() {
        let mut epochs = Epochs::default();
        call(&mut epochs, (0..4).map(|word| word * WORD + 1), 100);
        epochs.dropped(0..2 * WORD);
        assert_eq!(epochs.kept(), 2);
        epochs.dropped(3 * WORD..usize::MAX);
        assert_eq!(epochs.kept(), 1);
        epochs.start_over();
        assert_eq!((epochs.kept(), epochs.resets), (0, 0));
    }

    proptest! {
        /// Against a list of when each page was written last.
        #[test]
        fn what_stays_is_bounded_and_what_goes_was_there(
            calls in prop::collection::vec((0_usize..300, 0_usize..120, any::<bool>()), 1..400),
            limit in 1_usize..150,
        ) {
            let (mut epochs, mut model) = (Epochs::default(), BTreeMap::new());
            for (now, (first, count, drops)) in calls.into_iter().enumerate() {
                let pages = first..first + count.min(limit);
                if drops {
                    epochs.dropped(pages.clone());
                    model.retain(|page, _| !pages.contains(page));
                }
                let gone = call(&mut epochs, pages.clone(), limit);
                model.extend(pages.map(|page| (page, now)));
                prop_assert!(gone.is_sorted());
                for page in gone {
                    prop_assert!(model.remove(&page).is_some(), "page {page} left twice");
                }
                let kept: BTreeSet<_> = epochs.young.iter().chain(epochs.old.iter()).collect();
                prop_assert_eq!(kept.len(), epochs.kept());
                prop_assert!(kept.iter().eq(model.keys()));
                prop_assert!(kept.len() <= limit);
                let last = |page: &usize| now - model[page];
                prop_assert!(kept.iter().map(last).max().unwrap_or(0) < 2 * LENGTH as usize);
            }
        }
    }
}
