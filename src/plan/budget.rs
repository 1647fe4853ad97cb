use crate::record::{Sampling, estimate};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Shortest time of the calls of a sample, µs. In shorter ones, reading the clock would show.
pub const FEWEST_CALLS_US: u64 = 20;

/// Amount of sampling of a cell and a comparison in each process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// `full`, `quick` or `custom`.
    pub name: String,
    /// Number of fresh processes in which every cell is measured.
    pub processes: u32,
    /// Most further processes, for cells with too few clean samples.
    pub extra: u32,
    /// Most processes of a cell of the main page; 0 if it has as many as others.
    pub most: u32,
    /// Samples of a cell in each process. Long calls have fewer.
    pub samples: usize,
    pub sample: Duration,
    /// Longest time of a cell's samples in a process.
    pub cell: Duration,
    /// Retry budget: time that a cell may spend in each process on samples with interference.
    pub retry: Duration,
    /// Rounds of a comparison in each process.
    pub rounds: usize,
    pub seed: u64,
}

/// Fresh processes for results that are published.
const FULL: u32 = estimate::PROCESSES as u32 + 1;

impl Budget {
    /// Number of processes that compile, so that the time to compile has an interval. The next ones
    /// restore what the last one of them compiled, or artifacts of more than 4 MiB of the first.
    pub fn compiling(&self) -> u32 {
        if self.processes < FULL { 1 } else { FULL }
    }

    pub fn full(seed: u64) -> Self {
        Self {
            name: "full".to_owned(),
            processes: FULL,
            extra: 5,
            most: 20,
            samples: 6,
            sample: Duration::from_micros(600),
            cell: Duration::from_millis(50),
            retry: Duration::from_millis(60),
            rounds: 6,
            seed,
        }
    }

    /// For a first look: fewer samples, wider intervals.
    pub fn quick(seed: u64) -> Self {
        Self {
            name: "quick".to_owned(),
            processes: estimate::PROCESSES as u32,
            extra: 1,
            most: 0,
            samples: 5,
            sample: Duration::from_micros(400),
            cell: Duration::from_millis(40),
            retry: Duration::from_millis(30),
            ..Self::full(seed)
        }
    }

    /// The same, with about `time` for the samples of `cells` cells together.
    pub fn within(mut self, time: Duration, cells: usize) -> Self {
        let shares = cells.max(1) as u32 * self.processes.max(1);
        let share = (time / shares).clamp(Duration::from_millis(4), Duration::from_secs(2));
        "custom".clone_into(&mut self.name);
        self.most = 0;
        self.cell = share;
        self.retry = share;
        let fit = share.as_micros() / self.sample.as_micros().max(1);
        self.samples = usize::try_from(fit).unwrap_or(usize::MAX).clamp(5, 50);
        self.rounds = (self.samples / 2).clamp(6, 25);
        self
    }

    /// The budget in the header of a run.
    pub fn sampling(&self, in_process: bool) -> Sampling {
        Sampling {
            name: self.name.clone(),
            seed: self.seed,
            processes: self.processes,
            samples: self.samples,
            sample_us: self.sample.as_micros() as u64,
            in_process,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shared_out_within_reason() {
        let budget = |cells| Budget::full(1).within(Duration::from_secs(120), cells);
        assert_eq!(budget(1).cell, Duration::from_secs(2));
        assert_eq!(budget(1).samples, 50);
        assert_eq!(budget(1000).cell, Duration::from_millis(30));
        assert_eq!(budget(1000).samples, 50);
        assert_eq!(budget(1_000_000).cell, Duration::from_millis(4));
        assert_eq!(budget(1_000_000).samples, 6);
    }
}
