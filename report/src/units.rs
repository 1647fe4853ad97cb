//! Numbers as people read them: a unit that fits and few digits.

use touchstone_executor::guest::text::plural;
use touchstone_record::{Estimate, Mode, PAGE};

/// Units of time with their length in ns, shortest first.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// `value` with `digits` significant digits; rounding up to the next power of ten does not
/// leave a digit too many (9.9996 is 10.00, not 10.000).
fn significant(value: f64, digits: i32) -> String {
    let print = |of: f64| {
        let places = if of > 0.0 { digits - 1 - of.log10().floor() as i32 } else { 0 };
        format!("{value:.*}", usize::try_from(places.min(9)).unwrap_or(0))
    };
    print(print(value).parse().unwrap_or(value))
}

/// The unit for a time of `ns`: the largest in which the rounded value is at
/// least one.
fn unit_of(ns: f64, digits: i32) -> (&'static str, f64) {
    let fits = |scale: f64| significant(ns / scale, digits).parse().is_ok_and(|v: f64| v >= 1.0);
    TIMES.into_iter().rev().find(|&(_, scale)| fits(scale)).unwrap_or(TIMES[0])
}

/// A time given in ns, in the unit that fits.
fn in_unit(ns: f64, digits: i32) -> String {
    let (unit, scale) = unit_of(ns, digits);
    format!("{} {unit}", significant(ns / scale, digits))
}

/// A time given in ns, four significant digits: `4.212 µs`.
pub fn time(ns: f64) -> String {
    in_unit(ns, 4)
}

/// A time given in ns, as short as a chart wants it: `4.2 µs`, `62 ms`, `271 µs`.
pub(super) fn time_short(ns: f64) -> String {
    let (unit, scale) = unit_of(ns, 3);
    let value = ns / scale;
    let digits = if value >= 99.5 { 3 } else { 2 };
    format!("{} {unit}", significant(value, digits))
}

/// A time as [`time_short`], marked where it is.
pub(super) fn short(time_ns: &Estimate) -> String {
    time_short(time_ns.median) + marks(time_ns)
}

/// Stands behind a value that too few clean samples support.
pub const MARK: &str = "†";

/// Stands behind a value whose processes fall into two modes.
pub const TWO_MODES: &str = "‡";

pub(super) fn marks(of: &Estimate) -> &'static str {
    match (of.marked, of.modes.is_some()) {
        (false, false) => "",
        (true, false) => MARK,
        (false, true) => TWO_MODES,
        (true, true) => "†‡",
    }
}

/// A text, with [`MARK`] behind it where its value is marked.
pub fn marked(text: String, is_marked: bool) -> String {
    if is_marked { text + MARK } else { text }
}

/// A time with its interval, in ns, in the median's unit: `4.212 µs [4.190 – 4.251]`. An
/// interval that is missing is said to be missing.
pub fn time_with_interval(time: &Estimate) -> String {
    in_unit_with_interval(time, 4)
}

fn in_unit_with_interval(time: &Estimate, digits: i32) -> String {
    let (unit, scale) = unit_of(time.median, digits);
    with_interval(time, scale, unit, significant(time.median / scale, digits))
}

/// A time in ns with its interval and three significant digits: `4.21 µs [4.19 – 4.25]`; of two
/// modes with the number of their processes: `84.3 ns (5), 3.75 µs (1)‡`.
pub fn brief(time: &Estimate) -> String {
    match (time.modes, time.interval) {
        (Some(modes), _) => both(modes, |ns| in_unit(ns, 3)) + marks(time),
        (None, Some(_)) => in_unit_with_interval(time, 3),
        (None, None) => in_unit(time.median, 3) + marks(time),
    }
}

/// Two modes, each with the number of its processes where that is known.
fn both(modes: [Mode; 2], text: impl Fn(f64) -> String) -> String {
    let mode = |of: Mode| match of.processes {
        0 => text(of.median),
        processes => format!("{} ({processes})", text(of.median)),
    };
    modes.map(mode).join(", ")
}

/// `shown` is the median, whose digits the ends of the interval take after.
fn with_interval(of: &Estimate, scale: f64, unit: &str, shown: String) -> String {
    if let Some(modes) = of.modes {
        let text = |value: f64| match unit {
            "×" => format!("{} ×", factor(value)),
            _ => time(value),
        };
        return both(modes, text) + marks(of);
    }
    let places = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
    let interval = of.interval.map_or("no interval".to_owned(), |(low, high)| {
        format!("{:.places$} – {:.places$}", low / scale, high / scale)
    });
    format!("{shown} {unit} [{interval}]") + marks(of)
}

/// The median of a time in ns, marked where it is: `4.212 µs`.
pub fn median(time_ns: &Estimate) -> String {
    time(time_ns.median) + marks(time_ns)
}

/// A ratio with its interval: `1.024 × [1.010 – 1.031]`.
pub fn ratio_with_interval(ratio: &Estimate) -> String {
    let shown = significant(ratio.median, if ratio.median < 1.0 { 3 } else { 4 });
    with_interval(ratio, 1.0, "×", shown)
}

/// The median of a ratio, marked where it is: `350 ×`, `11.2 ×`, `1.02 ×`.
pub fn times(ratio: &Estimate) -> String {
    format!("{} ×", factor(ratio.median)) + marks(ratio)
}

/// How many times with the interval: `48.8 [45.1 – 52.0]`.
pub(super) fn factor_with_interval(ratio: &Estimate) -> String {
    let text = match (ratio.modes, ratio.interval) {
        (Some(modes), _) => both(modes, factor),
        (None, Some((low, high))) => {
            format!("{} [{} – {}]", factor(ratio.median), factor(low), factor(high))
        }
        (None, None) => factor(ratio.median),
    };
    text + marks(ratio)
}

/// How many times: `350`, `11.2`, `1.02`.
pub(super) fn factor(ratio: f64) -> String {
    // Digits after the third of a large factor would only pretend.
    let step = if ratio >= 1e3 { 10_f64.powf(ratio.log10().floor() - 2.0) } else { 0.0 };
    let ratio = if step > 0.0 { (ratio / step).round() * step } else { ratio };
    significant(ratio, 3)
}

/// A share as a percentage: `1.7 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 2))
}

/// The median of a rate a second, marked where it is: `16.13 /s`, `235.4 k/s`,
/// `7.692 M/s`.
pub fn rate(rate: &Estimate) -> String {
    let (value, unit) = match rate.median {
        v if v >= 1e6 => (v / 1e6, "M/s"),
        v if v >= 1e3 => (v / 1e3, "k/s"),
        v => (v, "/s"),
    };
    format!("{} {unit}", significant(value, 4)) + marks(rate)
}

/// A size given in bytes: `96 B`, `57.4 KiB`, `1.25 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    // A double holds sizes up to 9 PB exactly.
    match bytes as f64 {
        v if v >= 1_048_576.0 => format!("{} MiB", significant(v / 1_048_576.0, 3)),
        v if v >= 1024.0 => format!("{} KiB", significant(v / 1024.0, 3)),
        _ => format!("{bytes} B"),
    }
}

/// A large count with its thousands apart: `1,553,012`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    joined(digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy), ",")
}

/// A count with its noun: `1 thread`, `2 threads`.
pub(super) fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {}", grouped(number), plural(noun, number))
}

/// Texts with something between them.
pub(super) fn joined<S: AsRef<str>>(texts: impl IntoIterator<Item = S>, between: &str) -> String {
    texts.into_iter().map(|text| text.as_ref().to_owned()).collect::<Vec<_>>().join(between)
}

/// The least and the largest of the positive values.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let positive = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
    positive.fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

/// Texts as a list: `a`, `a and b`, `a, b and c`.
pub(super) fn prose_list(texts: &[String]) -> String {
    match texts {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => texts.concat(),
    }
}

/// A number of pages as a size in KiB or MiB, with two digits or all before the point.
pub fn page_size(pages: f64) -> String {
    let kib = pages * PAGE as f64 / 1024.0;
    let (size, unit) = if kib < 1000.0 { (kib, "KiB") } else { (kib / 1024.0, "MiB") };
    let text = if size < 9.95 { format!("{size:.1}") } else { format!("{size:.0}") };
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_digits_and_the_unit_that_fits() {
        let texts = [0.25, 130.25, 999.96, 4212.4, 62_130_000.0, 1.5e9].map(time);
        assert_eq!(texts, ["0.2500 ns", "130.2 ns", "1.000 µs", "4.212 µs", "62.13 ms", "1.500 s"]);
    }

    fn estimate(median: f64, interval: Option<(f64, f64)>, marked: bool) -> Estimate {
        Estimate { interval, marked, ..Estimate::exact(median) }
    }

    #[test]
    fn estimates_have_an_interval_and_a_mark() {
        let time = |interval, marked| time_with_interval(&estimate(4212.0, interval, marked));
        assert_eq!(time(Some((4190.0, 4251.0)), false), "4.212 µs [4.190 – 4.251]");
        assert_eq!(time(None, true), "4.212 µs [no interval]†");
        assert_eq!(median(&estimate(4212.0, None, true)), "4.212 µs†");
        let own = estimate(4212.0, Some((4190.0, 4251.0)), false);
        assert_eq!(brief(&own), "4.21 µs [4.19 – 4.25]");
        assert_eq!(brief(&estimate(999.6, None, true)), "1.00 µs†");
        assert_eq!(factor_with_interval(&own.over(own)), "1.00 [0.986 – 1.01]");
        let modes = [(84.3, 5), (3750.0, 1)];
        let modes = Some(modes.map(|(median, processes)| Mode { median, processes }));
        let own = Estimate { modes, ..estimate(84.5, Some((20.0, 800.0)), false) };
        assert_eq!(brief(&own), "84.3 ns (5), 3.75 µs (1)‡");
        assert_eq!(time_with_interval(&own), "84.30 ns (5), 3.750 µs (1)‡");
        assert_eq!(factor_with_interval(&own.over(Estimate::exact(1.0))), "84.3 (5), 3750 (1)‡");
        let ratio = |ratio: f64, marked| {
            ratio_with_interval(&estimate(ratio, Some((ratio * 0.9, ratio * 1.1)), marked))
        };
        assert_eq!(ratio(1.0, false), "1.000 × [0.900 – 1.100]");
        assert_eq!(ratio(0.0123, true), "0.0123 × [0.0111 – 0.0135]†");
        assert_eq!(ratio(250.04, false), "250.0 × [225.0 – 275.0]");
    }

    #[test]
    fn short_forms() {
        assert_eq!([129.6, 4212.0, 62_130_000.0].map(time_short), ["130 ns", "4.2 µs", "62 ms"]);
        assert_eq!(
            [14_540.0, 350.2, 11.23, 1.0].map(|ratio| times(&estimate(ratio, None, false))),
            ["14500 ×", "350 ×", "11.2 ×", "1.00 ×"]
        );
        assert_eq!(
            [12.0, 235_412.0, 9_999_999.0].map(|value| rate(&estimate(value, None, true))),
            ["12.00 /s†", "235.4 k/s†", "10.00 M/s†"]
        );
        assert_eq!(
            [0, 999, 1000, 12_345, 1_553_012].map(grouped),
            ["0", "999", "1,000", "12,345", "1,553,012"]
        );
        assert_eq!([96, 58_778, 1_310_720].map(bytes), ["96 B", "57.4 KiB", "1.25 MiB"]);
    }

    #[test]
    fn sizes_have_two_digits() {
        let texts = [1.0, 16.0, 128.4, 250.0, 256.0, 1331.2, 2560.0, 16_384.0].map(page_size);
        assert_eq!(
            texts,
            ["4 KiB", "64 KiB", "514 KiB", "1 MiB", "1 MiB", "5.2 MiB", "10 MiB", "64 MiB"]
        );
    }
}
