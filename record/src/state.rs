//! The state of a machine: what else used its cores.

use serde::{Deserialize, Serialize};

/// Times below this multiple of a shorter one are of the same state, in hundredths.
const SAME: u64 = 135;
/// The same for a machine that is in one state with so narrow a spread for a [good part](OFTEN) of
/// the time, such as beside a neighbour that comes and goes.
const NARROW: u64 = 112;
const OFTEN: f64 = 0.4;
/// Times of a state may be this much below its shortest one, in hundredths of the time.
const BELOW: u64 = 110;

/// The state in which the interference probe found a machine most of the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Prevailing {
    /// Its shortest probe, ns; 0 without a probe.
    pub low: u64,
    /// Its probes are below this multiple of the shortest, in hundredths.
    width: u64,
    pub share: f64,
}

impl Prevailing {
    /// The state with the most probes. Of states with equally many it is the one with the shortest.
    pub fn of(times: impl IntoIterator<Item = u64>) -> Self {
        let mut times: Vec<u64> = times.into_iter().collect();
        times.sort_unstable();
        let narrow = Self::within(&times, NARROW);
        if narrow.share >= OFTEN { narrow } else { Self::within(&times, SAME) }
    }

    fn within(times: &[u64], width: u64) -> Self {
        let (mut found, mut end) = ((0, 0), 0);
        for (begin, low) in times.iter().enumerate() {
            while times.get(end).is_some_and(|time| is_below(*time, *low, width)) {
                end += 1;
            }
            let count = end.saturating_sub(begin);
            if count > found.0 {
                found = (count, *low);
            }
        }
        Self { low: found.1, width, share: found.0 as f64 / times.len().max(1) as f64 }
    }

    /// `true` if a probe is of this state.
    pub fn includes(self, took: u64) -> bool {
        is_below(took, self.low, self.width)
            && took.saturating_mul(BELOW) >= self.low.saturating_mul(100)
    }

    /// `true` if two probes, the longer one first, are of one state.
    pub fn is_alike(long: u64, short: u64) -> bool {
        is_below(long, short, SAME)
    }
}

fn is_below(long: u64, short: u64, width: u64) -> bool {
    long.saturating_mul(100) < short.saturating_mul(width)
}

/// The load from which on other programs run.
const BUSY: f64 = 1.0;

/// The state of a machine before a run, from probes of all its processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Share of the probes during which nothing else used the core, %.
    pub clean: f64,
    /// Share of the probes in the prevailing state, %.
    pub prevailing: f64,
    /// Shortest probe of the prevailing state over the shortest of all.
    pub slowdown: f64,
    /// Share of the time that the hypervisor gave to other machines, %; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Programs that ran or waited for a processor, mean of the minute before; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
}

impl State {
    /// `true` if the machine is in one state most of the time, so that its times are comparable.
    pub fn is_steady(&self) -> bool {
        self.prevailing >= 60.0
    }

    /// The state in words, to stand beside results.
    pub fn words(&self) -> String {
        let Self { clean, prevailing, slowdown, steal, load } = self;
        let load = load.filter(|load| *load >= BUSY);
        let state = match (self.is_steady(), *slowdown > 1.1 || *clean < 60.0, load) {
            (false, ..) => "no steady state".to_owned(),
            (true, true, _) => {
                format!("beside a busy neighbour, probes {slowdown:.2} times as long")
            }
            (true, false, Some(_)) => "beside other programs".to_owned(),
            (true, false, None) => "undisturbed".to_owned(),
        };
        let steal = steal.map_or_else(String::new, |steal| format!(", {steal:.1} % steal"));
        let load = load.map_or_else(String::new, |load| format!(", load {load:.1}"));
        format!(
            "{state} ({clean:.0} % of the probes clean, {prevailing:.0} % in one state{steal}{load})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probes of a machine whose neighbour is there in this share of the time, in which they take
    /// 1.6 times as long. Deterministic: a spread of 8 % around both states.
    fn probes(busy: f64) -> Vec<u64> {
        let at = |n: u64| {
            let is_busy = ((n * 7919) % 1000) as f64 / 1000.0 < busy;
            let spread = (n * 104_729) % 400;
            if is_busy { 8000 + 2 * spread } else { 5000 + spread }
        };
        (0..2000).map(at).collect()
    }

    #[test]
    fn the_state_of_most_of_the_time_prevails() {
        for (busy, low, share) in
            [(0.0, 5000, 1.0), (0.1, 5000, 0.9), (0.86, 8000, 0.86), (1.0, 8000, 1.0)]
        {
            let found = Prevailing::of(probes(busy));
            assert_eq!(found.low, low, "{busy}");
            assert!((found.share - share).abs() < 0.01, "{busy}: {}", found.share);
            let clean = probes(busy).into_iter().filter(|ns| found.includes(*ns)).count();
            assert!((clean as f64 / 2000.0 - share).abs() < 0.01);
        }
        assert_eq!(Prevailing::of([]), Prevailing { width: SAME, ..Prevailing::default() });
        assert_eq!(Prevailing::of([7, 100, 100]).low, 100);
    }

    #[test]
    fn a_shorter_or_longer_probe_is_of_another_state() {
        let is = |took| Prevailing::of([1000]).includes(took);
        assert_eq!([900, 910, 1000, 1119, 1120].map(is), [false, true, true, true, false]);
        let is = |took| Prevailing::of([1000, 1300, 1600]).includes(took);
        assert_eq!([900, 910, 1000, 1349, 1350].map(is), [false, true, true, true, false]);
    }

    #[test]
    fn samples_are_of_a_narrow_state_where_the_machine_is_often_in_one() {
        // The neighbour makes the probe 1.12 to 1.6 times as long, for this share of the time.
        let probes = |busy: u64| {
            (0..1000).map(move |n| if n % 100 < busy { 1120 + n % 480 } else { 1000 + n % 50 })
        };
        for busy in [0, 20, 55] {
            let found = Prevailing::of(probes(busy));
            assert!(found.width == NARROW && found.low < 1050, "{busy}: {found:?}");
            assert!(found.includes(1000) && found.includes(1049) && !found.includes(1180));
        }
        assert_eq!(Prevailing::of(probes(80)).width, SAME);
    }

    #[test]
    fn words_name_the_state_once() {
        let state = |clean, prevailing, slowdown| State {
            clean,
            prevailing,
            slowdown,
            steal: Some(2.0),
            load: Some(0.2),
        };
        let words = |own: State| own.words();
        assert!(words(state(99.0, 99.0, 1.0)).starts_with("undisturbed (99 %"));
        assert!(words(state(14.0, 80.0, 1.3)).starts_with("beside a busy neighbour, probes 1.30"));
        assert!(words(state(40.0, 45.0, 1.0)).starts_with("no steady state (40 %"));
        assert!(words(state(40.0, 45.0, 1.0)).ends_with("2.0 % steal)"));
        let busy = State { load: Some(16.0), ..state(99.0, 99.0, 1.0) };
        assert!(
            words(busy).starts_with("beside other programs") && words(busy).contains("load 16")
        );
    }
}
