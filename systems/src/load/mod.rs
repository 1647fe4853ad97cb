//! A load generator: a closed loop to find a host's capacity, and an open loop, whose requests have
//! planned times.
//!
//! In an open loop the time of a request counts from its planned time, so a stall of the host shows
//! in the times of the requests behind it.

mod client;

pub use client::{Client, Made, Plan, Request};

use std::time::Duration;

/// The gap to the next of independent arrivals, in units of the mean gap, from a random number of
/// at least 0 and below 1: exponential.
pub fn gap(uniform: f64) -> f64 {
    -(1.0 - uniform).ln()
}

/// Times of a Poisson process with `rate` requests per second, from the start until `time`. The
/// same seed gives the same times.
pub fn arrivals(seed: u64, rate: f64, time: Duration) -> Vec<Duration> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut at = 0.0;
    let mut all = Vec::new();
    if !(rate > 0.0 && rate.is_finite()) {
        return all;
    }
    loop {
        at += gap(random.f64()) / rate;
        if at >= time.as_secs_f64() {
            return all;
        }
        all.push(Duration::from_secs_f64(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_their_rate_and_their_seed() {
        let time = Duration::from_secs(10);
        let some = arrivals(7, 1000.0, time);
        assert!((9_700..10_300).contains(&some.len()), "{}", some.len());
        assert!(some.is_sorted() && some.last().is_some_and(|last| *last < time));
        assert_eq!(some, arrivals(7, 1000.0, time));
        assert_ne!(some, arrivals(8, 1000.0, time));
        // As many gaps are below the mean as in the exponential distribution: 1 - 1/e.
        let short = some.windows(2).filter(|pair| (pair[1] - pair[0]).as_micros() < 1000).count();
        assert!((0.60..0.66).contains(&(short as f64 / some.len() as f64)), "{short}");
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(arrivals(7, rate, time).is_empty());
        }
    }
}
