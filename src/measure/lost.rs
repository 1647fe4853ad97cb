//! Rounds that do not count because the threads did not run side by side.

use super::Round;
use std::time::{Duration, Instant};

/// Lost rounds that are allowed for each planned one.
const PER_ROUND: usize = 4;
/// Shortest time for which rounds may be lost: other programs often need a processor this long.
const BUSY: Duration = Duration::from_secs(3);

/// Counts lost rounds.
pub(super) struct Lost {
    rounds: usize,
    most: usize,
    began: Instant,
}

/// The use of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is a sample, clean or not as it says.
    Sample,
    /// The threads did not keep up with each other: it is made again.
    Again,
    /// Calls have become much shorter since the plan was made: all is planned again.
    PlanAgain,
}

impl Lost {
    /// No round is lost yet, of `planned` ones.
    pub(super) fn new(planned: usize) -> Self {
        Self { rounds: 0, most: planned * PER_ROUND, began: Instant::now() }
    }

    /// Decides on a round, and counts it if it is lost. Once too many were lost, the machine has
    /// more to do: from then on such a round is a sample with interference.
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
