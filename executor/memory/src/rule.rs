//! When a memory of kind [`ResetMethod::Auto`](super::ResetMethod::Auto) keeps its pages, and when it
//! drops them all.
//!
//! Keeping pays for pages that calls write again: to compare one takes a tenth of the time
//! of a fault or less. Where each call writes other pages, all of them fault anyway, and
//! the comparisons of those that stay are added. So pages are kept until most of what was
//! written in each of several calls was new. Then they are dropped for a while, and tried
//! again. Each trial that fails doubles the while.
//!
//! While calls write few pages and always the same, even asking whether there was a fault
//! is a large share of a reset. Such memories are watched: the first write to a page is a
//! signal, and nothing has to be asked. Where new pages keep coming, signals cost more than
//! asking, and watching ends.
//!
//! Only counts decide, never a clock: the same calls always lead to the same decisions.

/// Calls in a row whose pages are new for the most part, after which all are dropped.
pub(super) const STRANGE: u32 = 8;
/// Calls for which all pages are dropped, at first and at most.
pub(super) const PAUSE: (u32, u32) = (256, 8192);

/// Pages that may be written in a watched memory. To compare more takes so long that asking
/// the kernel hardly counts.
pub(super) const WATCHED: usize = 128;
/// Calls with new pages, less a [`FORGIVEN`]th of those without, after which watching ends.
const SIGNALLED: u32 = 8;
/// Calls without new pages that make up for one with some.
const FORGIVEN: u32 = 16;
/// Resets in a row without a fault, of at most half of [`WATCHED`] pages, after which a memory
/// is watched again, at first and at most.
const CALM: (u32, u32) = (256, 8192);

/// What a reset found that kept its pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Pages that the call has written, as far as that shows: changed or new.
    pub(super) dirty: usize,
    /// Those that were not resident before.
    pub(super) new: usize,
}

/// What is to be done in the next reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Written pages are restored in place.
    Keeping {
        /// Calls in a row with mostly new pages; such that wrote nothing do not count.
        strange: u32,
        /// Resets since pages are kept, up to [`PAUSE`]'s first.
        resets: u32,
    },
    /// All pages are dropped, in so many resets more.
    Dropping { left: u32 },
}

/// The state of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    state: State,
    /// Resets for which pages will be dropped next.
    pause: u32,
}

impl Rule {
    pub(super) fn new() -> Self {
        Self { state: State::Keeping { strange: 0, resets: 0 }, pause: PAUSE.0 }
    }

    /// Whether the reset that begins drops all pages.
    #[inline]
    pub(super) fn drops(&self) -> bool {
        matches!(self.state, State::Dropping { .. })
    }

    /// A reset has kept the pages. Whether they are to be dropped now, and in the resets
    /// that follow.
    #[inline]
    pub(super) fn kept(&mut self, seen: Seen) -> bool {
        let State::Keeping { strange, resets } = &mut self.state else { return true };
        if seen.new * 2 > seen.dirty {
            *strange += 1;
        } else if seen.dirty > 0 {
            *strange = 0;
        }
        if *resets < PAUSE.0 {
            *resets += 1;
            if *resets == PAUSE.0 {
                self.pause = PAUSE.0;
            }
        }
        if *strange < STRANGE {
            return false;
        }
        self.state = State::Dropping { left: self.pause };
        self.pause = (self.pause * 2).min(PAUSE.1);
        true
    }

    /// A reset has dropped all pages.
    #[inline]
    pub(super) fn dropped(&mut self) {
        if let State::Dropping { left } = &mut self.state {
            *left -= 1;
            if *left == 0 {
                self.state = State::Keeping { strange: 0, resets: 0 };
            }
        }
    }
}

/// Whether it pays to watch a memory's writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watch {
    /// Calls with new pages, in units of a [`FORGIVEN`]th.
    signalled: u32,
    /// Resets since watching began, up to [`CALM`]'s first.
    resets: u32,
    /// Resets in a row without a fault since it ended.
    calm: u32,
    /// How many of these it takes next.
    needed: u32,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { signalled: 0, resets: 0, calm: 0, needed: CALM.0 }
    }

    /// A reset of a watched memory has found so many pages that the last one did not have.
    /// Whether watching is to end.
    #[inline]
    pub(super) fn watched(&mut self, new: usize) -> bool {
        if self.resets < CALM.0 {
            self.resets += 1;
            if self.resets == CALM.0 {
                self.needed = CALM.0;
            }
        }
        if new == 0 {
            self.signalled = self.signalled.saturating_sub(1);
            return false;
        }
        self.signalled += FORGIVEN;
        self.signalled >= SIGNALLED * FORGIVEN
    }

    /// A reset of a memory that is not watched has kept so many pages. `quiet`: there was no
    /// fault. Whether to watch it again.
    #[inline]
    pub(super) fn not_watched(&mut self, pages: usize, quiet: bool) -> bool {
        self.calm = if quiet && pages * 2 <= WATCHED { self.calm + 1 } else { 0 };
        if self.calm < self.needed {
            return false;
        }
        *self = Self { needed: (self.needed * 2).min(CALM.1), ..Self::new() };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAME: Seen = Seen { dirty: 10, new: 0 };
    const HALF: Seen = Seen { dirty: 10, new: 5 };
    const MOST: Seen = Seen { dirty: 10, new: 6 };
    const NOTHING: Seen = Seen { dirty: 0, new: 0 };

    /// Resets that keep pages until they are dropped.
    fn until_dropped(rule: &mut Rule, seen: Seen) -> u32 {
        (1..).find(|_| rule.kept(seen)).unwrap()
    }

    /// Resets that drop all pages until they are kept.
    fn until_kept(rule: &mut Rule) -> u32 {
        let mut resets = 0;
        while rule.drops() {
            rule.dropped();
            resets += 1;
        }
        resets
    }

    #[test]
    fn a_memory_is_watched_again_after_calm_resets_of_few_pages() {
        let half = WATCHED / 2;
        let resets = |pages, quiet| {
            let mut watch = Watch::new();
            (1..=2 * CALM.0).find(|_| watch.not_watched(pages, quiet))
        };
        assert_eq!([resets(half, true), resets(0, true)], [Some(CALM.0); 2]);
        assert_eq!([resets(half + 1, true), resets(half, false)], [None; 2]);
    }

    #[test]
    fn pages_are_kept_while_half_of_them_are_known() {
        let mut rule = Rule::new();
        assert!(!rule.drops());
        for _ in 0..100_000 {
            assert!(!rule.kept(SAME) && !rule.kept(HALF) && !rule.kept(NOTHING));
        }
    }

    #[test]
    fn eight_calls_in_a_row_with_mostly_new_pages_end_it() {
        let mut rule = Rule::new();
        for _ in 0..1000 {
            for _ in 0..7 {
                assert!(!rule.kept(MOST));
            }
            assert!(!rule.kept(SAME));
        }
        assert_eq!(until_dropped(&mut rule, MOST), 8);
        assert!(rule.drops());
    }

    #[test]
    fn calls_that_write_nothing_do_not_count() {
        let mut rule = Rule::new();
        for _ in 0..7 {
            assert!(!rule.kept(MOST) && !rule.kept(NOTHING));
        }
        assert!(rule.kept(MOST));
    }

    #[test]
    fn each_trial_that_fails_doubles_the_pause() {
        let mut rule = Rule::new();
        for pause in [256, 512, 1024, 2048, 4096, 8192, 8192, 8192] {
            assert_eq!(until_dropped(&mut rule, MOST), 8);
            assert_eq!(until_kept(&mut rule), pause);
        }
    }

    #[test]
    fn a_trial_that_succeeds_makes_the_pause_short_again() {
        let mut rule = Rule::new();
        for _ in 0..4 {
            until_dropped(&mut rule, MOST);
            until_kept(&mut rule);
        }
        // Not yet: it was tried for 255 calls.
        (0..247).for_each(|_| assert!(!rule.kept(SAME)));
        until_dropped(&mut rule, MOST);
        assert_eq!(until_kept(&mut rule), 4096);
        (0..248).for_each(|_| assert!(!rule.kept(SAME)));
        until_dropped(&mut rule, MOST);
        assert_eq!(until_kept(&mut rule), 256);
        until_dropped(&mut rule, MOST);
        assert_eq!(until_kept(&mut rule), 512);
    }

    #[test]
    fn watching_ends_with_the_eighth_call_that_has_new_pages() {
        let mut watch = Watch::new();
        (0..7).for_each(|_| assert!(!watch.watched(3)));
        assert!(watch.watched(1));
        // Rare ones are forgiven.
        let mut watch = Watch::new();
        for _ in 0..1000 {
            assert!(!watch.watched(50));
            (0..16).for_each(|_| assert!(!watch.watched(0)));
        }
    }

    #[test]
    fn watching_begins_again_after_resets_without_a_fault() {
        let mut watch = Watch::new();
        let until_watched =
            |watch: &mut Watch| (1..).find(|_| watch.not_watched(WATCHED / 2, true)).unwrap();
        for needed in [256, 512, 1024, 2048, 4096, 8192, 8192] {
            assert_eq!(until_watched(&mut watch), needed);
            (0..7).for_each(|_| assert!(!watch.watched(1)));
            assert!(watch.watched(1));
        }
        // It went well for long.
        until_watched(&mut watch);
        (0..256).for_each(|_| assert!(!watch.watched(0)));
        assert_eq!(until_watched(&mut watch), 256);
        // A fault, or too many pages, begin the count anew.
        for _ in 0..3 {
            (0..200).for_each(|_| assert!(!watch.not_watched(1, true)));
            assert!(!watch.not_watched(1, false) && !watch.not_watched(WATCHED, true));
        }
    }

    proptest! {
        /// Against the rule in words, over the whole history.
        #[test]
        fn any_calls_lead_to_what_the_rule_says(
            calls in prop::collection::vec((0_usize..20, 0_usize..20, 1_usize..40), 1..200),
        ) {
            let mut rule = Rule::new();
            let (mut strange, mut kept, mut left, mut pause) = (0, 0, 0, 256);
            for (dirty, new, times) in calls {
                let seen = Seen { dirty, new: new.min(dirty) };
                for _ in 0..times {
                    prop_assert_eq!(rule.drops(), left > 0);
                    if left > 0 {
                        rule.dropped();
                        left -= 1;
                        continue;
                    }
                    kept += 1;
                    if kept == 256 {
                        pause = 256;
                    }
                    strange = match seen {
                        Seen { dirty: 0, .. } => strange,
                        Seen { dirty, new } if new > dirty - new => strange + 1,
                        _ => 0,
                    };
                    let drops = strange == 8;
                    prop_assert_eq!(rule.kept(seen), drops);
                    if drops {
                        (strange, kept, left) = (0, 0, pause);
                        pause = (pause * 2).min(8192);
                    }
                }
            }
        }
    }
}
