//! When a memory keeps its pages, and when it drops them all.
//!
//! Keeping pays for pages that calls write again: to compare one takes a tenth of the time of a
//! fault or less. Where each call writes other pages, all of them fault anyway. So pages are kept
//! until most of what was written in each of several calls was new. Then they are dropped for a
//! while, and tried again; each trial that fails doubles the while.
//!
//! While the first write to each page is a signal, nothing has to be asked. Where new pages keep
//! coming, signals cost more than page faults, and watching ends until calls write no new pages.
//!
//! Only counts decide, never a clock: the same calls always lead to the same decisions.

/// Calls in a row whose pages are new for the most part, after which all are dropped.
pub(super) const STRANGE: u32 = 8;
/// Calls for which all pages are dropped, at first and at most.
pub(super) const PAUSE: (u32, u32) = (256, 8192);
/// Of such calls, one with few faults counts for so many: there is hardly anything to drop.
const FEW_FAULTS: u32 = 32;

/// Calls with new pages, less a [`FORGIVEN`]th of those without, after which watching ends.
const SIGNALLED: u32 = 8;
/// Calls without new pages that make up for one with some.
const FORGIVEN: u32 = 16;
/// Light resets, less [`FORGIVEN`] for each of others, after which a memory is watched again, at
/// first and at most.
const CALM: (u32, u32) = (4, 1024);
/// Resets after which watching has paid, so that the next trial comes as early as the first one.
const PAID: u32 = 256;

/// Findings of a reset that kept the pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Pages that the call has written, as far as that shows: changed or new.
    pub(super) dirty: usize,
    /// Those that were not resident before.
    pub(super) new: usize,
}

/// The treatment of pages in the next reset.
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

    /// `true` if the reset that begins drops all pages.
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

    /// A reset has dropped all pages. `few`: the call had hardly a fault.
    #[inline]
    pub(super) fn dropped(&mut self, few: bool) {
        if let State::Dropping { left } = &mut self.state {
            *left = left.saturating_sub(if few { FEW_FAULTS } else { 1 });
            if *left == 0 {
                self.state = State::Keeping { strange: 0, resets: 0 };
            }
        }
    }
}

/// Decides whether it pays to watch a memory's writes. Times are numbers of resets, which wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watch {
    /// Calls with new pages, in units of a [`FORGIVEN`]th, up to `last`.
    signalled: u32,
    /// When there were new pages last.
    last: u32,
    /// When watching began.
    since: u32,
    is_over: bool,
    /// Light resets since it ended, less those for others.
    calm: u32,
    /// How many of these it takes next.
    needed: u32,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { signalled: 0, last: 0, since: 0, is_over: false, calm: 0, needed: CALM.0 }
    }

    /// Watching begins.
    pub(super) fn begin(&mut self, now: u32) {
        *self = Self { last: now, since: now, needed: self.needed, ..Self::new() };
    }

    /// A reset of a watched memory has found pages that the last one did not have. Returns `true`
    /// if watching is to end.
    pub(super) fn signalled(&mut self, now: u32) -> bool {
        let without = now.wrapping_sub(self.last).saturating_sub(1);
        self.signalled = self.signalled.saturating_sub(without) + FORGIVEN;
        self.last = now;
        self.signalled >= SIGNALLED * FORGIVEN
    }

    /// A reset of a memory that is not watched is done. `is_light`: the call wrote few pages, none
    /// of them new. `is_large`: watching ended because the call wrote too many pages, which takes
    /// few signals for each. Returns `true` if the memory is to be watched again.
    #[inline]
    pub(super) fn not_watched(&mut self, is_light: bool, is_large: bool, now: u32) -> bool {
        if !self.is_over {
            self.is_over = true;
            if is_large || now.wrapping_sub(self.since) > PAID {
                self.needed = CALM.0;
            }
        }
        self.calm = if is_light { self.calm + 1 } else { self.calm.saturating_sub(FORGIVEN) };
        if self.calm < self.needed {
            return false;
        }
        self.needed = (self.needed * 2).min(CALM.1);
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
            rule.dropped(false);
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

    #[test]
    fn watching_ends_with_the_eighth_call_that_has_new_pages() {
        let mut watch = Watch::new();
        (1..8).for_each(|now| assert!(!watch.signalled(now)));
        assert!(watch.signalled(8));
        // Rare ones are forgiven, and the number of resets may wrap.
        let mut watch = Watch::new();
        watch.begin(u32::MAX - 100);
        (0..1000)
            .for_each(|call| assert!(!watch.signalled((u32::MAX - 90).wrapping_add(17 * call))));
    }

    /// Light resets until a memory is watched again, from a reset on.
    fn until_watched(watch: &mut Watch, now: u32) -> u32 {
        (1..).find(|_| watch.not_watched(true, false, now)).unwrap()
    }

    #[test]
    fn each_trial_to_watch_again_that_fails_takes_twice_as_long_to_come() {
        let mut watch = Watch::new();
        let mut needed = CALM.0;
        for _ in 0..20 {
            assert_eq!(until_watched(&mut watch, 0), needed);
            watch.begin(0);
            needed = (needed * 2).min(CALM.1);
        }
        // It went well for long.
        assert_eq!(until_watched(&mut watch, PAID + 1), CALM.0);
        watch.begin(1000);
        assert_eq!(until_watched(&mut watch, 1000 + PAID), 2 * CALM.0);
        // A call with new pages restarts the count.
        watch.begin(0);
        for _ in 0..5 {
            (1..4 * CALM.0).for_each(|_| assert!(!watch.not_watched(true, false, 0)));
            assert!(!watch.not_watched(false, false, 0));
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
                        rule.dropped(false);
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
