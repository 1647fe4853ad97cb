//! Rounds that do not count because the threads did not run side by side.

use anyhow::{Result, ensure};
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

impl Lost {
    /// No round is lost yet, of `planned` ones.
    pub(super) fn new(planned: usize) -> Self {
        Self { rounds: 0, most: planned * PER_ROUND, began: Instant::now() }
    }

    /// Counts a lost round.
    ///
    /// # Errors
    ///
    /// When too many were lost.
    pub(super) fn another(&mut self) -> Result<()> {
        self.rounds += 1;
        ensure!(
            self.rounds <= self.most || self.began.elapsed() < BUSY,
            "the threads did not keep up with each other, or calls kept changing their time, in \
             {} rounds: the machine has more to do",
            self.rounds
        );
        Ok(())
    }
}
