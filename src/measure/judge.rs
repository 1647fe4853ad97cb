//! The use of a round: a sample, or one to repeat.

use super::Round;
use super::probe::Probes;
use std::time::{Duration, Instant};

/// Allowed lost rounds per planned one.
const PER_ROUND: usize = 4;
/// Shortest time for which rounds may be lost: other programs often take a processor this long.
const BUSY: Duration = Duration::from_secs(3);

/// Time for repeating what had interference. Unless it is zero, it allows a repetition.
pub(super) struct Retry(pub(super) Duration);

impl Retry {
    /// `true` if the measurement that took this time is to be repeated.
    pub(super) fn allows(&mut self, took: Duration) -> bool {
        let is_left = !self.0.is_zero();
        self.0 = self.0.saturating_sub(took);
        is_left
    }
}

pub(super) struct Judge {
    retry: Retry,
    /// Rounds in which the threads did not run side by side, so far and at most.
    lost: (usize, usize),
    began: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A sample, clean or with interference.
    Sample,
    /// Lost: the threads did not keep up with each other. Or interference, within the retry budget.
    Again,
    /// Lost: calls became much shorter than planned.
    PlanAgain,
}

impl Judge {
    pub(super) fn new(planned: usize, retry: Duration) -> Self {
        Self { retry: Retry(retry), lost: (0, planned * PER_ROUND), began: Instant::now() }
    }

    /// Decides on a round that took this time. After too many lost rounds the machine is
    /// overloaded, and further ones are samples with interference.
    pub(super) fn judge(&mut self, round: &mut Round, took: Duration) -> Use {
        let kept_up = round.others_kept_up();
        if !kept_up || round.is_short() {
            self.lost.0 += 1;
            if self.lost.0 <= self.lost.1 || self.began.elapsed() < BUSY {
                return if kept_up { Use::PlanAgain } else { Use::Again };
            }
            (round.clean, round.probes) = (false, Probes::APART);
        }
        if round.clean || !self.retry.allows(took) { Use::Sample } else { Use::Again }
    }
}
