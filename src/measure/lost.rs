//! Rounds that do not count, because the threads did not run side by side.

use super::Round;
use std::time::{Duration, Instant};

/// Allowed lost rounds per planned one.
const PER_ROUND: usize = 4;
/// Shortest time for which rounds may be lost: other programs often take a processor this long.
const BUSY: Duration = Duration::from_secs(3);

pub(super) struct Lost {
    rounds: usize,
    most: usize,
    began: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A sample, clean or with interference.
    Sample,
    /// Lost: the threads did not keep up with each other.
    Again,
    /// Lost: calls became much shorter than planned.
    PlanAgain,
}

impl Lost {
    /// A count of 0 for `planned` rounds.
    pub(super) fn new(planned: usize) -> Self {
        Self { rounds: 0, most: planned * PER_ROUND, began: Instant::now() }
    }

    /// Decides on a round, and counts it if it is lost. After too many lost rounds the machine is
    /// overloaded, and further ones are samples with interference.
    pub(super) fn judge(&mut self, round: &mut Round) -> Use {
        let again = if !round.others_kept_up() {
            Use::Again
        } else if round.is_short() {
            Use::PlanAgain
        } else {
            return Use::Sample;
        };
        self.rounds += 1;
        if self.rounds <= self.most || self.began.elapsed() < BUSY {
            return again;
        }
        round.clean = false;
        Use::Sample
    }
}
