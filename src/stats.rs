//! The little statistics that the records need. Nothing here draws random
//! numbers: the same samples give the same estimates on every machine.

/// A median with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval; `None` when there are too few samples for one.
    pub interval: Option<(f64, f64)>,
}

/// Chance that the true median lies outside the interval, on each side.
const TAIL: f64 = 0.025;

/// Median and interval of samples; `None` without any.
///
/// The interval is the distribution-free one: the true median lies between the
/// k-th smallest and the k-th largest sample unless fewer than k of n fair coin
/// tosses show heads. It makes no assumption about the noise, which on shared
/// machines is anything but normal. Six samples are the fewest it works with.
#[must_use]
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|value| value.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    let interval = match rank(n) {
        0 => None,
        k => Some((sorted[k - 1], sorted[n - k])),
    };
    Some(Estimate { median, interval })
}

/// Samples without those that were disturbed, by their places; all of them where fewer
/// than `enough` would be left.
#[must_use]
pub fn undisturbed<T: Clone>(samples: &[T], disturbed: &[usize], enough: usize) -> Vec<T> {
    if samples.len() < disturbed.len() + enough {
        return samples.to_vec();
    }
    let quiet =
        |(place, sample): (usize, &T)| (!disturbed.contains(&place)).then(|| sample.clone());
    samples.iter().enumerate().filter_map(quiet).collect()
}

/// The fewest samples with an interval.
pub const ENOUGH: usize = 6;

/// The largest k with P(fewer than k heads in n tosses) ≤ [`TAIL`].
fn rank(n: usize) -> usize {
    // ln of n choose 0 times 2^-n; logarithms, because 2^-n underflows.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    for k in 0..n {
        below += term.exp();
        if below > TAIL {
            return k;
        }
        term += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_disturbed_is_left_out_where_enough_is_left() {
        let samples = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(undisturbed(&samples, &[], ENOUGH), samples);
        assert_eq!(undisturbed(&samples, &[0, 7], ENOUGH), [1, 2, 3, 4, 5, 6]);
        assert_eq!(undisturbed(&samples, &[0, 3, 7], ENOUGH), samples);
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Published values of the order-statistic interval at 95 %.
        for (n, k) in [(5, 0), (6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (50, 18), (100, 40)] {
            assert_eq!(rank(n), k, "n = {n}");
        }
        assert!(rank(5000) > 2000);
    }

    #[test]
    fn few_samples_have_no_interval_and_none_no_estimate() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[f64::NAN]), None);
        assert_eq!(estimate(&[3.0, 1.0]), Some(Estimate { median: 2.0, interval: None }));
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(estimate(&ten), Some(Estimate { median: 5.5, interval: Some((2.0, 9.0)) }));
    }
}
