//! Comparisons of a subject with a baseline: the ratio of their times, its interval, and a
//! verdict. Times come from rounds in turns or from records.
//!
//! Every ratio is *times slower than the baseline*: 1.00 is the baseline, lower is better. One unit
//! is a process: all of its rounds have the same address layout, and only differences between
//! processes show the effect of the layout.

use crate::estimate::{self, Used};
use crate::{Book, CellKey, Comparison, Estimate, Metric};

/// The smallest difference that counts, as a share: ratios within it are equivalent.
pub const MARGIN: f64 = 0.02;

/// The result of a comparison over all processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Time of the subject over that of the baseline: times slower than the baseline.
    pub ratio: Estimate,
    pub verdict: Verdict,
    /// Times of both sides, ns.
    pub subject: Estimate,
    pub baseline: Estimate,
}

impl Judged {
    fn of(ratio: Estimate, subject: Estimate, baseline: Estimate, margin: f64) -> Self {
        Self { ratio, verdict: Verdict::of(ratio.interval, margin), subject, baseline }
    }
}

/// The conclusion from the interval of a ratio and the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// The subject takes less time, by more than the margin.
    Faster,
    /// The subject takes more time, by more than the margin.
    Slower,
    /// The difference is within the margin.
    Equivalent,
    /// The interval crosses an end of the margin, or there is none.
    #[strum(to_string = "not enough data")]
    NotEnoughData,
}

impl Verdict {
    pub fn of(interval: Option<(f64, f64)>, margin: f64) -> Self {
        let Some((low, high)) = interval else { return Self::NotEnoughData };
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        if low >= least && high <= most {
            Self::Equivalent
        } else if low > most {
            Self::Slower
        } else if high < least {
            Self::Faster
        } else {
            Self::NotEnoughData
        }
    }
}

/// The ratio, its interval and the verdict, from all processes of one comparison.
/// `None` where no process has a round.
///
/// The ratio and its interval are those of [`estimate::of_values`] over the processes' median
/// ratios. [`estimate::used`] says which rounds count, and when the result is marked.
pub fn judge<'a>(
    processes: impl IntoIterator<Item = &'a Comparison>,
    margin: f64,
) -> Option<Judged> {
    judge_rounds(processes.into_iter().map(Comparison::timed), margin)
}

/// The same from the rounds of each process: times of both sides, ns, and `true` for clean ones.
pub fn judge_rounds(
    processes: impl IntoIterator<Item = Vec<((f64, f64), bool)>>,
    margin: f64,
) -> Option<Judged> {
    let Used { groups, marked } = estimate::used(processes);
    let over = |of: fn(&(f64, f64)) -> f64| {
        let medians = groups
            .iter()
            .filter_map(|rounds| estimate::median_of(&rounds.iter().map(of).collect::<Vec<f64>>()));
        Some(Estimate { marked, ..estimate::of_values(&medians.collect::<Vec<f64>>())? })
    };
    let ratio = over(|(subject, baseline)| subject / baseline)?;
    let (subject, baseline) = (over(|(subject, _)| *subject)?, over(|(_, baseline)| *baseline)?);
    Some(Judged::of(ratio, subject, baseline, margin))
}

/// Compares the call times of all cells that two runs have in common. The interval of the
/// ratio is the widest that both intervals allow. The runs were not made in turns, so a
/// difference may come from the machine.
pub fn of_records(subject: &Book, baseline: &Book, margin: f64) -> Vec<(CellKey, Judged)> {
    let common = |cell: &CellKey| {
        let ours = subject.estimate(cell, Metric::Call)?;
        let theirs = baseline.estimate(cell, Metric::Call)?;
        Some((cell.clone(), Judged::of(ours.over(theirs), ours, theirs, margin)))
    };
    subject.cells.keys().filter_map(common).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contender, Executor, Match, Purpose};
    use touchstone_executor::Strategy;

    /// A process in which the subject takes `ratio` times as long, with a spread of 0.1 %.
    fn process(process: u32, ratio: f64, rounds: usize, noisy: Vec<usize>) -> Comparison {
        let contender = |engine: &str| {
            let (engine, strategy) = (engine.to_owned(), Strategy::INTERPRETED);
            Contender::new(Executor { engine, strategy }, 1)
        };
        let of = Match {
            purpose: Purpose::Against,
            case: "case".to_owned(),
            guest: "guest".to_owned(),
            subject: contender("a"),
            baseline: contender("b"),
        };
        let round = |n: usize| (100.0 * ratio * (1.0 + n as f64 / rounds as f64 / 1e3), 100.0);
        Comparison { of, process, rounds: (0..rounds).map(round).collect(), noisy }
    }

    fn judged(processes: &[Comparison]) -> Judged {
        judge(processes, MARGIN).unwrap()
    }

    fn clean(ratios: &[f64]) -> Judged {
        let processes: Vec<Comparison> =
            (0..).zip(ratios).map(|(n, ratio)| process(n, *ratio, 10, Vec::new())).collect();
        judged(&processes)
    }

    #[test]
    fn the_verdict_follows_from_interval_and_margin() {
        for (ratios, verdict) in [
            ([1.2, 1.21, 1.22], Verdict::Slower),
            ([0.8, 0.81, 0.82], Verdict::Faster),
            ([0.997, 1.0, 1.003], Verdict::Equivalent),
            // The processes disagree: one layout is slower, another is not.
            ([1.0, 1.1, 1.2], Verdict::NotEnoughData),
        ] {
            assert_eq!(clean(&ratios).verdict, verdict, "{ratios:?}");
        }
        assert_eq!(Verdict::of(None, MARGIN), Verdict::NotEnoughData);
        assert_eq!(Verdict::of(Some((1.0, 1.15)), 0.2), Verdict::Equivalent);
    }

    #[test]
    fn a_process_is_one_unit() {
        let three = clean(&[1.0, 1.1, 1.2]);
        let (low, high) = three.ratio.interval.unwrap();
        assert!((three.ratio.median - 1.1005).abs() < 1e-3 && !three.ratio.marked);
        assert!(low < 1.0 && high > 1.2);
        assert!((three.subject.median / three.baseline.median - three.ratio.median).abs() < 1e-3);
        // More processes that differ as much give a narrower interval.
        let nine = clean(&[1.0, 1.1, 1.2].repeat(3));
        let (lower, higher) = nine.ratio.interval.unwrap();
        assert!(higher - lower < 0.4 * (high - low), "{lower} {higher}");
    }

    #[test]
    fn interference_is_left_out_or_marks_the_result() {
        let noisy = |n, ratio| process(n, ratio, 10, (0..10).collect());
        let good = |n| process(n, 1.5, 10, vec![0]);
        let left_out = judged(&[good(0), noisy(1, 9.0), good(2), good(3)]);
        assert!(!left_out.ratio.marked && left_out.ratio.median < 1.6);
        let marked = judged(&[good(0), noisy(1, 9.0), good(2)]);
        assert!(marked.ratio.marked && marked.ratio.median < 1.6);
        let all = judged(&[noisy(0, 9.0), noisy(1, 9.0), noisy(2, 9.0)]);
        assert!(all.ratio.marked && all.ratio.median >= 9.0);
    }

    #[test]
    fn without_rounds_there_is_nothing_and_with_two_processes_no_interval() {
        assert_eq!(judge(&[], MARGIN), None);
        assert_eq!(judge(&[process(0, 1.0, 0, Vec::new())], MARGIN), None);
        let few = judged(&[process(0, 2.0, 1, Vec::new()), process(1, 2.0, 1, Vec::new())]);
        assert_eq!((few.ratio.interval, few.verdict), (None, Verdict::NotEnoughData));
    }
}
