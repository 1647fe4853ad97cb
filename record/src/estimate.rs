//! Estimates from samples: a median, an interval, and a mark where too few samples are clean.
//! The same samples give the same estimate on every machine; no random numbers are drawn.

use super::{Sample, Samples};

/// A median with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub median: f64,
    /// The interval; `None` when there are too few processes for one.
    pub interval: Option<(f64, f64)>,
    /// `true` if it has too few clean samples; printed with †.
    pub marked: bool,
    /// The two groups of its processes, if they lie far apart; printed with ‡.
    pub modes: Option<[Mode; 2]>,
}

/// Processes that agree with each other and not with the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    pub median: f64,
    pub processes: usize,
}

impl Estimate {
    /// A value without an interval and without a mark.
    #[must_use]
    pub const fn exact(median: f64) -> Self {
        Self { median, interval: None, marked: false, modes: None }
    }

    /// A number that was not measured, such as a number of threads: its interval is the number.
    #[must_use]
    pub const fn known(number: f64) -> Self {
        Self { interval: Some((number, number)), ..Self::exact(number) }
    }

    /// The ends of the interval, or the median where there is none.
    pub fn ends(&self) -> (f64, f64) {
        self.interval.unwrap_or((self.median, self.median))
    }

    /// The quotient of two estimates, marked where one of them is. The interval covers every
    /// quotient of values of the two intervals.
    pub fn over(self, below: Self) -> Self {
        let interval = self.interval.zip(below.interval).filter(|(_, below)| below.0 > 0.0);
        let modes = (self.modes.is_some() || below.modes.is_some()).then(|| {
            let all = |of: Self| of.modes.unwrap_or([Mode { median: of.median, processes: 0 }; 2]);
            let ([low, high], [least, most]) = (all(self), all(below));
            [(low, most), (high, least)].map(|(above, below)| Mode {
                median: above.median / below.median,
                processes: above.processes.max(below.processes),
            })
        });
        Self {
            median: self.median / below.median,
            interval: interval.map(|(above, below)| (above.0 / below.1, above.1 / below.0)),
            marked: self.marked || below.marked,
            modes,
        }
    }
}

/// Number of processes that must give enough clean samples, and the fewest for an interval.
pub const PROCESSES: usize = 3;
/// Number of clean samples that each of them must give.
pub const CLEAN_SAMPLES: usize = 3;
/// Planned number of samples of a process, from which further ones with interference are not kept.
pub const SAMPLES: usize = 6;
/// Neighbours among sorted medians of processes that differ by a larger factor are of two modes.
pub const MODES: f64 = 1.5;

/// 97.5 % quantiles of Student's t distribution for 1, 2, … degrees of freedom.
pub const STUDENT: [f64; 30] = [
    12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.06390, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
];

pub fn median_of(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let n = sorted.len();
    (n > 0).then(|| f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The estimate from one value of each process; `None` if there are none.
///
/// Its median is that of the values. The interval is Student's t interval of the mean of their
/// logarithms, and contains the median. It needs [`PROCESSES`] values above 0. A process is one
/// unit, because each has its own addresses of code and data: the interval covers what a further
/// process would show, and shrinks with the number of processes.
pub fn of_values(values: &[f64]) -> Option<Estimate> {
    let median = median_of(values)?;
    let sorted = sorted(values);
    let n = sorted.len();
    let has_interval = n >= PROCESSES && sorted[0] > 0.0;
    let interval = has_interval.then(|| {
        let (mean, deviation) = logarithms(&sorted);
        let reach = student(n - 1) * deviation / (n as f64).sqrt();
        ((mean - reach).exp().min(median), (mean + reach).exp().max(median))
    });
    Some(Estimate { median, interval, marked: false, modes: modes(&sorted) })
}

/// The estimate of one build with an interval that also covers the medians of other builds of the
/// same source, and Student's interval over all. Marked if one of them is.
pub fn over_builds(of_build: Estimate, others: &[Estimate]) -> Estimate {
    let all = || std::iter::once(&of_build).chain(others);
    let medians = sorted(&all().map(|build| build.median).collect::<Vec<f64>>());
    let over = of_values(&medians).and_then(|over| over.interval);
    let (Some(over), [least, .., most]) = (over, &*medians) else { return of_build };
    let (low, high) = of_build.ends();
    let interval = Some((low.min(over.0).min(*least), high.max(over.1).max(*most)));
    Estimate { interval, marked: all().any(|build| build.marked), ..of_build }
}

/// Mean and standard deviation of the logarithms of at least two values.
fn logarithms(values: &[f64]) -> (f64, f64) {
    let (n, all) = (values.len() as f64, values.iter().map(|value| value.ln()));
    let mean = all.clone().sum::<f64>() / n;
    let squares = all.map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// The number of processes whose interval reaches a share of the median on each side, if a further
/// process differs from others as those of `values` do: at least as many, and at most `most`.
pub fn processes_for(values: &[f64], share: f64, most: usize) -> usize {
    let fewest = values.len().max(2);
    if values.len() < 2 {
        return fewest;
    }
    let (_, deviation) = logarithms(values);
    let reaches = |n: &usize| student(n - 1) * deviation / (*n as f64).sqrt() <= share;
    (fewest..most).find(reaches).unwrap_or(most.max(fewest))
}

/// The two groups on both sides of the widest gap of ascending values, if it is that of [`MODES`].
fn modes(sorted: &[f64]) -> Option<[Mode; 2]> {
    let gaps = sorted.windows(2).map(|pair| pair[1] / pair[0]).zip(1..);
    let (gap, at) = gaps.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (low, high) = sorted.split_at(at);
    let mode = |of: &[f64]| Some(Mode { median: median_of(of)?, processes: of.len() });
    (sorted[0] > 0.0 && gap > MODES).then(|| Some([mode(low)?, mode(high)?]))?
}

/// The 97.5 % quantile of Student's t distribution, at least 1 degree of freedom. Beyond the table,
/// its expansion around the normal distribution, whose error is below 0.0001.
fn student(freedom: usize) -> f64 {
    let z = 1.959_964_f64;
    let beyond = || z + (z.powi(3) + z) / (4.0 * freedom as f64);
    STUDENT.get(freedom - 1).copied().unwrap_or_else(beyond)
}

/// The estimate of a metric that is sampled, from its samples in each process: [`of_values`] of
/// the processes' medians.
///
/// Samples with interference are left out, and so are processes without enough
/// clean ones (see [`used`]). If fewer than [`PROCESSES`] processes remain, the estimate is
/// marked. If none remains, all samples are used.
pub fn of_processes(processes: &[&Samples]) -> Option<Estimate> {
    let Used { groups, marked } = used(processes.iter().map(|samples| samples.with_clean()));
    let median =
        |group: &Vec<Sample>| median_of(&group.iter().map(Sample::per_call).collect::<Vec<f64>>());
    let medians: Vec<f64> = groups.iter().filter_map(median).collect();
    Some(Estimate { marked, ..of_values(&medians)? })
}

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

/// How many of a process's samples or rounds must be clean. A process without any does not count.
pub fn needed(samples: usize) -> usize {
    CLEAN_SAMPLES.min(samples.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64], clean: bool) -> Samples {
        let sample = |value: &f64| Sample { clean, ..Sample::single(*value) };
        Samples(values.iter().map(sample).collect())
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Logarithms 0, 1 and 2: mean 1, deviation 1, t 4.30265 with 2 degrees of freedom.
        let values = [1.0, 1_f64.exp(), 2_f64.exp()];
        let (low, high) = of_values(&values).unwrap().interval.unwrap();
        let reach = STUDENT[1] / 3_f64.sqrt();
        assert!(
            (low.ln() - (1.0 - reach)).abs() < 1e-9 && (high.ln() - (1.0 + reach)).abs() < 1e-9
        );
        for (freedom, quantile) in [(1, 12.706), (30, 2.042), (40, 2.021), (120, 1.980)] {
            assert!((student(freedom) - quantile).abs() < 2e-3, "{freedom}");
        }
    }

    #[test]
    fn few_values_have_no_interval_and_none_no_estimate() {
        assert_eq!(of_values(&[]), None);
        assert_eq!(of_values(&[f64::NAN]), None);
        assert_eq!(of_values(&[3.0, 1.0]).unwrap().interval, None);
        assert_eq!(of_values(&[0.0, 1.0, 1.0]).unwrap().interval, None);
        let (low, high) = of_values(&[7.0; 3]).unwrap().ends();
        assert!((low - 7.0).abs() < 1e-9 && (high - 7.0).abs() < 1e-9);
    }

    #[test]
    fn the_interval_covers_what_differs_between_processes_and_shrinks() {
        let process = |at: f64| {
            samples(&(0..10).map(|n| at + f64::from(n) / 100.0).collect::<Vec<_>>(), true)
        };
        let all: Vec<Samples> =
            [10.0, 10.2, 10.6].into_iter().cycle().take(12).map(process).collect();
        let of = |n: usize| of_processes(&all.iter().take(n).collect::<Vec<_>>()).unwrap();
        let width = |n| {
            let (low, high) = of(n).interval.unwrap();
            assert!(low < of(n).median && of(n).median < high);
            high - low
        };
        assert!((of(3).median - 10.245).abs() < 1e-9 && !of(3).marked && of(3).modes.is_none());
        assert!(width(3) > 2.0 * width(6) && width(6) > 1.4 * width(12));
    }

    #[test]
    fn more_processes_are_asked_for_where_they_differ_more() {
        let of = |spread: f64| {
            let values = [0.0, 0.0, -1.0, 1.0, -1.0, 1.0].map(|at: f64| (at * spread).exp());
            processes_for(&values, 0.05, 20)
        };
        assert_eq!([0.0, 0.02, 0.06, 0.5].map(of), [6, 6, 7, 20]);
        assert_eq!(processes_for(&[1.0], 0.05, 20), 2);
    }

    #[test]
    fn an_outlier_within_a_process_leaves_the_interval_narrow() {
        let process = samples(&[172.0, 173.0, 171.0, 172.0, 338.0, 172.0], true);
        let other = samples(&[176.0; 6], true);
        let (low, high) = of_processes(&[&process, &other, &other]).unwrap().interval.unwrap();
        assert!(low > 165.0 && high < 182.0, "{low} {high}");
    }

    #[test]
    fn processes_far_apart_are_two_modes() {
        let slow = of_values(&[78.0, 80.0, 3750.0, 79.0, 77.0]).unwrap();
        assert_eq!(slow.median, 79.0);
        let [low, high] = slow.modes.unwrap();
        assert_eq!((low.median, low.processes, high.median, high.processes), (78.5, 4, 3750.0, 1));
        assert_eq!(of_values(&[78.0, 100.0, 117.0]).unwrap().modes, None);
        let ratio = Estimate::exact(790.0).over(slow);
        let [low, high] = ratio.modes.unwrap();
        assert!(low.median < 1.0 && high.median > 10.0 && ratio.median == 10.0);
    }

    /// Draws that are the same on every machine.
    struct Draws(u64);

    impl Draws {
        /// From 0 to 1, without 0.
        fn even(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.even().ln()).sqrt() * (std::f64::consts::TAU * self.even()).cos()
        }
    }

    /// The distribution of simulated processes.
    #[derive(Debug, Clone, Copy)]
    struct Model {
        /// Standard deviation of the processes' times, as a share.
        between: f64,
        /// Probability of a sample that takes much longer.
        outliers: f64,
        /// Half of the processes take as many times as long.
        slow: f64,
    }

    impl Model {
        /// A process of six samples that differ by 3 %.
        fn process(self, draws: &mut Draws) -> Samples {
            let slow = if draws.even() < 0.5 { self.slow.ln() } else { 0.0 };
            let at = slow + self.between * draws.normal();
            let mut sample = |_| {
                let late = draws.even() < self.outliers;
                let late = if late { 0.6 * draws.normal().abs() } else { 0.0 };
                (at + 0.03 * draws.normal() + late).exp()
            };
            samples(&(0..6).map(&mut sample).collect::<Vec<f64>>(), true)
        }

        fn true_value(self) -> f64 {
            let mut draws = Draws(0);
            let logarithm = |of: &Samples| of_processes(&[of]).unwrap().median.ln();
            let sum = (0..20_000).map(|_| logarithm(&self.process(&mut draws))).sum::<f64>();
            (sum / 20_000.0).exp()
        }

        /// The share of the intervals that hold the true value, per cent, over as many processes as
        /// the spread between the first ones asks for.
        fn coverage(self, truth: f64, first: usize, most: usize) -> f64 {
            let mut draws = Draws(first as u64);
            let mut holds = |_: &u32| {
                let mut all: Vec<Samples> = (0..first).map(|_| self.process(&mut draws)).collect();
                let medians: Vec<f64> =
                    all.iter().map(|own| of_processes(&[own]).unwrap().median).collect();
                let wanted = processes_for(&medians, 0.05, most);
                all.resize_with(wanted, || self.process(&mut draws));
                let all: Vec<&Samples> = all.iter().collect();
                let (low, high) = of_processes(&all).unwrap().interval.unwrap();
                low <= truth && truth <= high
            };
            (0..2_000).filter(|n| holds(n)).count() as f64 / 20.0
        }
    }

    /// One look at the spread costs some of the coverage.
    #[test]
    fn intervals_after_a_look_at_the_spread_cover_the_true_value_nearly_as_often() {
        for between in [0.02, 0.05, 0.1] {
            for outliers in [0.0, 0.1] {
                let model = Model { between, outliers, slow: 1.0 };
                let coverage = model.coverage(model.true_value(), 6, 20);
                println!("{coverage} % with {between} between processes, {outliers} outliers");
                assert!((92.0..=97.0).contains(&coverage), "{coverage} %, {between} between them");
            }
        }
    }

    #[test]
    fn intervals_cover_the_true_value_as_often_as_they_say() {
        let check = |model: Model, numbers: &[usize]| {
            let truth = model.true_value();
            for processes in numbers.iter().copied() {
                let coverage = model.coverage(truth, processes, processes);
                let holds = (93.0..=97.0).contains(&coverage);
                assert!(holds, "{coverage} % with {processes} processes of {model:?}");
            }
        };
        for between in [0.02, 0.03, 0.05, 0.1] {
            for outliers in [0.0, 0.1] {
                check(Model { between, outliers, slow: 1.0 }, &[3, 4, 6, 10, 20]);
            }
            // Fewer than six processes often miss one of two modes.
            for slow in [1.2, 1.4] {
                check(Model { between, outliers: 0.0, slow }, &[6, 10, 20]);
            }
        }
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
    fn other_builds_widen_an_interval_and_leave_the_median() {
        let own = of_values(&[9.9, 10.0, 10.1]).unwrap();
        assert_eq!(over_builds(own, &[]), own);
        // Two builds have no interval.
        assert_eq!(over_builds(own, &[Estimate::exact(12.0)]), own);
        let over = |others: &[f64]| {
            over_builds(own, &others.iter().copied().map(Estimate::exact).collect::<Vec<_>>())
        };
        let wide = over(&[11.0, 9.0, 10.5]);
        let (low, high) = wide.ends();
        assert!(wide.median == 10.0 && low < 9.0 && high > 11.0, "{wide:?}");
        assert_eq!(over(&[10.0; 3]).ends(), own.ends());
        // Student's interval of many builds is narrower than their range.
        let (low, high) = over(&[[10.0; 9].as_slice(), &[9.0, 11.0]].concat()).ends();
        assert_eq!((low, high), (9.0, 11.0));
        let marked = Estimate { marked: true, ..own };
        assert!(over_builds(own, &[own, marked]).marked && !over_builds(own, &[own, own]).marked);
    }

    #[test]
    fn long_calls_have_few_samples_in_each_process() {
        let two = samples(&[10.0, 11.0], true);
        let estimate = of_processes(&[&two, &two, &two]).unwrap();
        assert!(!estimate.marked && estimate.median == 10.5);
        let three = samples(&[10.0; 3], true);
        assert!(!of_processes(&[&two, &three, &three]).unwrap().marked);
        let one = samples(&[10.0], true);
        assert!(of_processes(&[&one, &one, &one]).unwrap().interval.is_some());
    }
}
