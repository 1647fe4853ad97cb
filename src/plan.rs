//! How long to sample, made from a budget and the number of cells.

use crate::record::Sampling;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time for one cell, shared out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// `full`, `quick` or `custom`.
    pub name: String,
    /// Warm-up before the first sample.
    pub warm_up: Duration,
    /// All samples of the latency together.
    pub measurement: Duration,
    /// All rounds of the throughput together.
    pub throughput: Duration,
    /// Samples, where calls are short enough for so many.
    pub samples: usize,
    /// Rounds of a pair.
    pub pair_rounds: usize,
}

/// Fewest samples that criterion takes, and that an interval needs some of.
const FEWEST_SAMPLES: usize = 10;

impl Plan {
    /// The default: `budget` shared among `cells`, within reason. A single cell
    /// gets 3 s at most, the thousandth still 0.15 s.
    #[must_use]
    pub fn full(budget: Duration, cells: usize) -> Self {
        Self::shared("full", budget, cells, 150..=3000, 50)
    }

    /// Short sampling, for a first look.
    #[must_use]
    pub fn quick(budget: Duration, cells: usize) -> Self {
        Self::shared("quick", budget, cells, 40..=300, 20)
    }

    fn shared(
        name: &str,
        budget: Duration,
        cells: usize,
        millis: std::ops::RangeInclusive<u64>,
        samples: usize,
    ) -> Self {
        let share = budget.as_millis() as u64 / cells.max(1) as u64;
        let share = share.clamp(*millis.start(), *millis.end());
        Self {
            name: name.to_owned(),
            warm_up: Duration::from_millis(share * 15 / 100),
            measurement: Duration::from_millis(share * 60 / 100),
            throughput: Duration::from_millis(share * 25 / 100),
            samples,
            pair_rounds: if name == "quick" { 25 } else { 101 },
        }
    }

    /// Samples to take of a call that lasts about so long.
    #[must_use]
    pub fn samples_for(&self, call_ns: u64) -> usize {
        let fit = self.measurement.as_nanos() as u64 / call_ns.max(1);
        usize::try_from(fit)
            .unwrap_or(usize::MAX)
            .clamp(FEWEST_SAMPLES, self.samples.max(FEWEST_SAMPLES))
    }

    /// As it stands in a record.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        Sampling {
            name: self.name.clone(),
            warm_up_ms: self.warm_up.as_millis() as u64,
            measurement_ms: self.measurement.as_millis() as u64,
            throughput_ms: self.throughput.as_millis() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_kept_within_reason() {
        let of = |cells| {
            let plan = Plan::full(Duration::from_secs(900), cells);
            plan.warm_up + plan.measurement + plan.throughput
        };
        assert_eq!(of(1), Duration::from_secs(3));
        assert_eq!(of(900), Duration::from_secs(1));
        assert!(of(100_000) <= Duration::from_millis(150));
        assert!(Plan::quick(Duration::from_secs(60), 400).measurement >= Duration::from_millis(24));
    }

    #[test]
    fn long_calls_get_fewer_samples() {
        let plan = Plan::full(Duration::from_secs(900), 900);
        assert_eq!(plan.samples_for(1000), 50);
        assert_eq!(plan.samples_for(62_000_000), 10);
        assert_eq!(plan.samples_for(0), 50);
    }
}
