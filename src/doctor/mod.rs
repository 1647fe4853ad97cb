//! Fitness of the machine for measurements, with remedies.

mod limits;
mod machine;

use crate::measure::probe::{Look, state};
use crate::record::State;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub value: String,
    pub verdict: Verdict,
    /// The remedy; `None` if none is needed.
    pub advice: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    Good,
    /// Measurements take longer, have wider intervals, or may run out of something.
    Warning,
    /// Impossible or unknown.
    Missing,
}

impl Finding {
    /// Judges what was found: `judge` gives its value, and advice unless it is good. `missing` is
    /// the value and the advice where nothing was found.
    fn new<T, V: Into<String>>(
        name: &'static str,
        found: Option<T>,
        missing: (&str, &'static str),
        judge: impl FnOnce(T) -> (V, Option<&'static str>),
    ) -> Self {
        let (value, verdict, advice) = match found.map(judge) {
            None => (missing.0.to_owned(), Verdict::Missing, Some(missing.1)),
            Some((value, None)) => (value.into(), Verdict::Good, None),
            Some((value, advice)) => (value.into(), Verdict::Warning, advice),
        };
        Self { name, value, verdict, advice }
    }
}

/// Processor times since the machine started, from `/proc/stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// The current times; zero if the kernel does not report them.
    pub fn now() -> Self {
        Self::of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn of(text: &str) -> Self {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
        let fields: Vec<u64> =
            line.unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
        // user nice system idle iowait irq softirq steal; those of guests are in the first two.
        let all = fields.iter().take(8).sum();
        Self { all, stolen: fields.get(7).copied().unwrap_or(0) }
    }
}

/// Examines the machine. `looks` are the probes of each processor, made after `before` was taken;
/// `load` is the load average from before them.
pub fn examine(looks: &[(usize, Vec<Look>)], before: Ticks, load: Option<f64>) -> Vec<Finding> {
    let mut findings = machine::findings(load);
    findings.push(steal(before, Ticks::now()));
    findings.push(neighbours(looks));
    findings.extend(limits::findings());
    findings
}

pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The share of the time between two readings that the hypervisor gave to other machines, %;
/// `None` if the kernel does not report it.
pub fn stolen(before: Ticks, after: Ticks) -> Option<f64> {
    let all = after.all.saturating_sub(before.all);
    let stolen = after.stolen.saturating_sub(before.stolen);
    (all > 0).then(|| stolen as f64 * 100.0 / all as f64)
}

fn steal(before: Ticks, after: Ticks) -> Finding {
    let share = stolen(before, after);
    let advice = "the hypervisor runs other machines on these processors: use a dedicated machine";
    Finding::new("steal", share, ("unknown", "mount /proc"), |share| {
        (format!("{share:.1} % of the time"), (share >= 1.0).then_some(advice))
    })
}

fn neighbours(looks: &[(usize, Vec<Look>)]) -> Finding {
    let State { clean, prevailing, slowdown, .. } = state(looks, None, None);
    let steady = "something else always uses the same cores: ratios in turns hold, times are of this \
                  state; for others use a machine with whole cores";
    let changing = "something else uses the same cores now and then: end other programs, or use a \
                    machine with whole cores; runs take longer, because samples are repeated";
    Finding::new("noisy neighbours", Some(()), ("", ""), |()| {
        let value = format!("{clean:.0} % of the probes are clean");
        let is_steady = prevailing >= 90.0;
        match clean >= 90.0 {
            true => (value, None),
            false => (
                format!("{value}; {prevailing:.0} % are in one state, {slowdown:.2} times as long"),
                Some(if is_steady { steady } else { changing }),
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn steal_is_the_share_between_two_readings() {
        let before = Ticks::of("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 1");
        let after = Ticks::of("cpu  20 0 10 160 0 0 0 10 5 5\n");
        assert_eq!((before, after.all), (Ticks { all: 100, stolen: 0 }, 200));
        let found = steal(before, after);
        assert_eq!((found.value.as_str(), found.verdict), ("10.0 % of the time", Verdict::Warning));
        assert_eq!(steal(before, before).verdict, Verdict::Missing);
    }

    #[test]
    fn neighbours_are_seen_by_the_probes() {
        let look = |clean| Look { at: Duration::ZERO, ns: if clean { 10 } else { 20 }, clean };
        let of = |looks: &[bool]| neighbours(&[(0, looks.iter().copied().map(look).collect())]);
        assert_eq!(of(&[true, true]).verdict, Verdict::Good);
        assert_eq!(of(&[true, false]).verdict, Verdict::Warning);
        assert_eq!(of(&[]).verdict, Verdict::Warning);
    }

    #[test]
    fn every_finding_that_is_not_good_says_what_to_do() {
        for found in examine(&[], Ticks::now(), load()) {
            assert_eq!(found.advice.is_none(), found.verdict == Verdict::Good, "{found:?}");
            assert!(!found.value.is_empty(), "{found:?}");
        }
    }
}
