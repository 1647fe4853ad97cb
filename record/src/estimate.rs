//! Estimates from samples: a median, an interval, and a mark where too few samples are clean.
//! The same samples give the same estimate on every machine; no random numbers are drawn.

use super::{Sample, Samples};

/// A median with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub median: f64,
    /// The interval; `None` when there are too few samples for one.
    pub interval: Option<(f64, f64)>,
    /// `true` if it has too few clean samples; printed with †.
    pub marked: bool,
}

impl Estimate {
    /// A value without an interval and without a mark.
    #[must_use]
    pub const fn exact(median: f64) -> Self {
        Self { median, interval: None, marked: false }
    }

    /// The ends of the interval, or the median where there is none.
    pub fn ends(&self) -> (f64, f64) {
        self.interval.unwrap_or((self.median, self.median))
    }

    /// The quotient of two estimates, marked where one of them is. The interval covers every
    /// quotient of values of the two intervals.
    pub fn over(self, below: Self) -> Self {
        let interval = self.interval.zip(below.interval).filter(|(_, below)| below.0 > 0.0);
        Self {
            median: self.median / below.median,
            interval: interval.map(|(above, below)| (above.0 / below.1, above.1 / below.0)),
            marked: self.marked || below.marked,
        }
    }
}

/// Number of processes that must give enough clean samples.
pub const PROCESSES: usize = 3;
/// Number of clean samples that each of them must give.
pub const CLEAN_SAMPLES: usize = 3;
/// Fewest samples for an interval.
pub const INTERVAL_SAMPLES: usize = 6;

/// Probability that the true median lies outside the interval, on each side.
const TAIL: f64 = 0.025;

pub fn median_of(values: &[f64]) -> Option<f64> {
    Some(of_values(values)?.median)
}

/// Median and interval of some values; `None` if there are none.
///
/// The interval is distribution-free: the true median lies between the k-th smallest and the
/// k-th largest value unless fewer than k of n fair coin tosses show heads. It assumes nothing
/// about the noise and needs at least six values.
pub fn of_values(values: &[f64]) -> Option<Estimate> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let interval = match rank(n) {
        0 => None,
        k => Some((sorted[k - 1], sorted[n - k])),
    };
    Some(Estimate { median, interval, marked: false })
}

/// The estimate of a metric that is sampled, from its samples in each process.
///
/// Each process has its own layout of the address space. The median is the median of the
/// processes' medians. The interval reaches from the lowest to the highest end of the
/// processes' intervals and medians, so that it covers the differences between processes.
/// Samples with interference are left out, and so are processes without enough
/// clean ones (see [`used`]). If fewer than [`PROCESSES`] processes remain, the estimate is
/// marked. If none remains, all samples are used.
pub fn of_processes(processes: &[&Samples]) -> Option<Estimate> {
    let Used { groups, marked } = used(processes.iter().map(|samples| samples.with_clean()));
    let per_call = |group: &Vec<Sample>| group.iter().map(Sample::per_call).collect();
    let groups: Vec<Vec<f64>> = groups.iter().map(per_call).collect();
    let mut estimates: Vec<Estimate> = groups.iter().filter_map(|group| of_values(group)).collect();
    let median = of_medians(&estimates)?.median;
    // Groups too small for intervals of their own have one together.
    let all = groups.concat();
    estimates.extend(of_values(&all).filter(|pooled| pooled.interval.is_some()));
    let interval = hull(&estimates).filter(|_| all.len() >= INTERVAL_SAMPLES);
    Some(Estimate { median, interval, marked })
}

pub fn of_medians(estimates: &[Estimate]) -> Option<Estimate> {
    of_values(&estimates.iter().map(|estimate| estimate.median).collect::<Vec<_>>())
}

/// From the lowest to the highest end of some estimates; `None` if there are none.
pub fn hull(estimates: &[Estimate]) -> Option<(f64, f64)> {
    let ends = estimates.iter().map(Estimate::ends);
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The values behind an estimate.
#[derive(Debug)]
pub struct Used<T> {
    /// The samples, or rounds of a comparison, of each process that counts.
    pub groups: Vec<Vec<T>>,
    /// `true` if fewer than [`PROCESSES`] processes have enough clean ones.
    pub marked: bool,
}

/// Selects what an estimate is made of from what each process has: those without interference
/// of the processes that have enough of them ([`CLEAN_SAMPLES`], or all where calls are so long
/// that the process has fewer), or everything if there is no such process.
pub fn used<T: Copy>(processes: impl IntoIterator<Item = Vec<(T, bool)>>) -> Used<T> {
    let processes: Vec<Vec<(T, bool)>> = processes.into_iter().collect();
    let of = |all: &Vec<(T, bool)>, only_clean: bool| -> Vec<T> {
        let counted = all.iter().filter(|(_, is_clean)| *is_clean || !only_clean);
        counted.map(|(one, _)| *one).collect()
    };
    let clean = processes.iter().map(|all| (of(all, true), needed(all.len())));
    let enough = clean.filter(|(clean, needed)| clean.len() >= *needed);
    let mut groups: Vec<Vec<T>> = enough.map(|(clean, _)| clean).collect();
    let marked = groups.len() < PROCESSES;
    if groups.is_empty() {
        groups = processes.iter().map(|all| of(all, false)).collect();
    }
    Used { groups, marked }
}

/// `true` if enough samples of a process are clean.
pub fn has_enough(samples: &Samples) -> bool {
    let clean = samples.0.iter().filter(|sample| sample.clean).count();
    clean >= needed(samples.0.len())
}

/// How many of a process's samples, or rounds of a comparison, must be clean. A process that
/// has none does not count.
pub fn needed(samples: usize) -> usize {
    CLEAN_SAMPLES.min(samples.max(1))
}

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

    fn samples(values: &[f64], clean: bool) -> Samples {
        let sample = |value: &f64| Sample { clean, ..Sample::single(*value) };
        Samples(values.iter().map(sample).collect())
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
    fn few_values_have_no_interval_and_none_no_estimate() {
        assert_eq!(of_values(&[]), None);
        assert_eq!(of_values(&[f64::NAN]), None);
        assert_eq!(of_values(&[3.0, 1.0]).unwrap().interval, None);
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let estimate = of_values(&ten).unwrap();
        assert_eq!((estimate.median, estimate.interval), (5.5, Some((2.0, 9.0))));
    }

    #[test]
    fn the_interval_covers_what_differs_between_processes() {
        let [a, b, c] = [10.0, 12.0, 30.0].map(|at| {
            samples(&(0..10).map(|n| at + f64::from(n) / 100.0).collect::<Vec<_>>(), true)
        });
        let estimate = of_processes(&[&a, &b, &c]).unwrap();
        let (low, high) = estimate.interval.unwrap();
        assert!((estimate.median - 12.045).abs() < 1e-9 && !estimate.marked);
        assert!(low < 10.05 && high > 30.04, "{low} {high}");
    }

    #[test]
    fn interference_leaves_a_mark_where_too_few_processes_are_clean() {
        let clean = samples(&[10.0; 10], true);
        let noisy = samples(&[20.0; 10], false);
        let three = of_processes(&[&clean, &noisy, &clean, &clean]).unwrap();
        assert!(!three.marked && three.median == 10.0);
        let two = of_processes(&[&clean, &noisy, &clean]).unwrap();
        assert!(two.marked && two.median == 10.0);
        let none = of_processes(&[&noisy, &noisy, &noisy]).unwrap();
        assert!(none.marked && none.median == 20.0);
        let one_process = of_processes(&[&clean]).unwrap();
        assert!(one_process.marked);
    }

    #[test]
    fn long_calls_have_few_samples_in_each_process() {
        let two = samples(&[10.0, 11.0], true);
        let estimate = of_processes(&[&two, &two, &two]).unwrap();
        assert!(!estimate.marked);
        assert_eq!(estimate.interval, Some((10.0, 11.0)));
        let three = samples(&[10.0; 3], true);
        assert!(!of_processes(&[&two, &three, &three]).unwrap().marked);
        let one = samples(&[10.0], true);
        assert_eq!(of_processes(&[&one, &one, &one]).unwrap().interval, None);
    }
}
