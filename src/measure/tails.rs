//! Quantiles of single times.

use crate::record::Tail;
use hdrhistogram::Histogram;

/// Longest recorded time, ns (one minute); longer ones are recorded as this.
const LONGEST_NS: u64 = 60_000_000_000;

/// Times of single calls, in about 20,000 counters for any number of calls.
#[derive(Debug)]
pub struct Tails(Histogram<u64>);

impl Default for Tails {
    /// No times yet. Quantiles have three significant digits.
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the constant bounds are valid"))
    }
}

impl Tails {
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }

    pub fn tail(&self) -> Tail {
        Tail {
            calls: self.0.len(),
            p50_ns: self.0.value_at_quantile(0.5),
            p99_ns: self.0.value_at_quantile(0.99),
            p999_ns: self.0.value_at_quantile(0.999),
            max_ns: self.0.max(),
        }
    }
}
