//! Criterion as the one who takes the samples.

use crate::arguments::Mode;
use criterion::{BenchmarkGroup, BenchmarkId, measurement::WallTime};
use std::time::Duration;
use touchstone::record::CellKey;
use touchstone::run::Sampler;

/// Samples within one of criterion's groups.
pub(crate) struct Criterion<'a, 'c> {
    pub(crate) group: &'a mut BenchmarkGroup<'c, WallTime>,
    pub(crate) mode: Mode,
}

impl Sampler for Criterion<'_, '_> {
    fn sample(
        &mut self,
        key: &CellKey,
        samples: usize,
        sample: &mut dyn FnMut(u64) -> Duration,
    ) -> Vec<(u64, u64)> {
        let mut taken = Vec::new();
        self.group.sample_size(samples);
        self.group.bench_function(BenchmarkId::from_parameter(key.function()), |bencher| {
            bencher.iter_custom(|calls| {
                let took = sample(calls);
                taken.push((calls, took.as_nanos() as u64));
                took
            });
        });
        // Criterion runs the function for the warm-up first and then once per
        // sample: the last ones are the measurement. Where it did something
        // else (tried, profiled), there are none.
        match (self.mode, taken.len().checked_sub(samples)) {
            (Mode::Measure, Some(warm_up)) if warm_up > 0 => taken.split_off(warm_up),
            _ => Vec::new(),
        }
    }
}
