//! The rounds of a cell: which count as samples, and when there are enough.

use super::Round;
use super::judge::{Judge, Use};
use crate::plan::Budget;
use crate::record::estimate::SAMPLES;
use crate::record::{Sample, Samples};
use std::time::Duration;

/// Collects samples, clean ones first of all.
pub(super) struct Collector {
    planned: usize,
    limit: Duration,
    judge: Judge,
    spent: Duration,
    clean: Vec<Sample>,
    noisy: Vec<Sample>,
}

impl Collector {
    /// A collector with the sample of the checked call, if that counts.
    pub(super) fn new(budget: &Budget, checked: Option<Sample>) -> Self {
        Self {
            planned: budget.samples,
            limit: budget.cell,
            judge: Judge::new(budget.samples, budget.retry),
            spent: Duration::ZERO,
            clean: checked.into_iter().collect(),
            noisy: Vec::new(),
        }
    }

    fn samples(&self) -> usize {
        self.clean.len() + self.noisy.len()
    }

    /// `true` if no further round is needed: there are all samples, or two and no time is left.
    pub(super) fn is_complete(&self) -> bool {
        self.samples() >= self.planned || (self.spent > self.limit && self.samples() > 1)
    }

    /// The crew that makes the next round. Each makes its share of the rounds in a row.
    pub(super) fn turn(&self, crews: usize) -> usize {
        self.samples() * crews / self.planned
    }

    /// Adds a round that took this time. Returns `false` if rounds must be planned again, because
    /// calls became much shorter; earlier samples are dropped then.
    pub(super) fn add(&mut self, mut round: Round, took: Duration) -> bool {
        self.spent += took;
        match self.judge.judge(&mut round, took) {
            Use::Sample if round.clean => self.clean.push(round.sample()),
            Use::Sample => self.noisy.push(round.sample()),
            Use::Again => {}
            Use::PlanAgain => {
                self.clean.clear();
                self.noisy.clear();
                return false;
            }
        }
        true
    }

    /// The samples. A few with interference beside enough clean ones would only widen the record.
    pub(super) fn finish(mut self) -> Samples {
        if self.clean.len() < SAMPLES {
            self.clean.extend(self.noisy);
        }
        Samples(self.clean)
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::Probes;
    use super::*;

    const ROUND: Duration = Duration::from_millis(1);

    fn collector(retry: Duration, limit: Duration) -> Collector {
        Collector::new(&Budget { samples: 6, retry, cell: limit, ..Budget::full(1) }, None)
    }

    fn round(clean: bool) -> Round {
        Round { threads: vec![(10, 100_000)], clean, probes: Probes::NONE }
    }

    fn clean(samples: &Samples) -> Vec<bool> {
        samples.0.iter().map(|sample| sample.clean).collect()
    }

    #[test]
    fn clean_rounds_are_samples_until_there_are_all() {
        let mut collector = collector(Duration::ZERO, Duration::MAX);
        for made in 0..6 {
            assert!(!collector.is_complete());
            assert_eq!((collector.turn(1), collector.turn(2)), (0, made / 3));
            assert!(collector.add(round(true), ROUND));
        }
        assert!(collector.is_complete());
        assert_eq!(clean(&collector.finish()), [true; 6]);
    }

    #[test]
    fn the_checked_call_may_be_the_first_sample() {
        let budget = Budget { samples: 2, ..Budget::full(1) };
        let mut collector = Collector::new(&budget, Some(Sample::single(1.0)));
        assert!(!collector.is_complete());
        collector.add(round(true), ROUND);
        assert!(collector.is_complete());
    }

    #[test]
    fn interference_is_repeated_within_the_retry_budget_and_at_least_once() {
        for (retry, repeated) in [(0, 0), (1, 1), (1500, 2)] {
            let mut collector = collector(Duration::from_micros(retry), Duration::MAX);
            let mut made = 0;
            while !collector.is_complete() {
                assert!(collector.add(round(false), ROUND));
                made += 1;
            }
            assert_eq!(made, 6 + repeated, "{retry} µs");
            assert_eq!(clean(&collector.finish()), [false; 6]);
        }
    }

    #[test]
    fn enough_clean_samples_drop_those_with_interference() {
        let mut one = collector(Duration::ZERO, Duration::MAX);
        one.add(round(false), ROUND);
        for _ in 1..SAMPLES {
            one.add(round(true), ROUND);
        }
        let samples = clean(&one.finish());
        assert_eq!((samples.len(), samples.last()), (SAMPLES, Some(&false)));
        let mut other = collector(Duration::ZERO, Duration::MAX);
        other.add(round(false), ROUND);
        for _ in 0..SAMPLES {
            other.add(round(true), ROUND);
        }
        assert_eq!(clean(&other.finish()), [true; SAMPLES]);
    }

    #[test]
    fn the_time_of_a_cell_ends_it_after_two_samples() {
        let mut collector = collector(Duration::ZERO, ROUND / 2);
        collector.add(round(true), ROUND);
        assert!(!collector.is_complete());
        collector.add(round(true), ROUND);
        assert!(collector.is_complete());
    }

    #[test]
    fn lost_rounds_do_not_count_and_short_ones_drop_all() {
        let mut collector = collector(Duration::ZERO, Duration::MAX);
        collector.add(round(true), ROUND);
        let apart = Round { threads: vec![(10, 100_000), (1, 100_000)], ..round(true) };
        assert!(collector.add(apart, ROUND));
        assert_eq!(collector.samples(), 1);
        let short = Round { threads: vec![(10, 10)], ..round(true) };
        assert!(!collector.add(short, ROUND));
        assert_eq!(collector.samples(), 0);
    }
}
