//! When a memory of kind [`Reset::Auto`](super::Reset::Auto) keeps its pages, and when it
//! drops them all.
//!
//! Keeping pays for pages that calls write again: to compare one takes a tenth of the time
//! of a fault or less. Where each call writes other pages, all of them fault anyway, and
//! the comparisons of those that stay are added. So pages are kept until most of what was
//! written in each of several calls was new. Then they are dropped for a while, and tried
//! again. Each trial that fails doubles the while.
//!
//! Only counts decide, never a clock: the same calls always lead to the same decisions.

/// Calls in a row whose pages are new for the most part, after which all are dropped.
pub(super) const STRANGE: u32 = 8;
/// Calls for which all pages are dropped, at first and at most.
pub(super) const PAUSE: (u32, u32) = (256, 8192);

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
