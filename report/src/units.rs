//! Numbers as people read them: a unit that fits and few digits.

use touchstone_executor::guest::text::plural;
use touchstone_record::{Estimate, PAGE};

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

/// A time given in ns, four significant digits: `4.212 µs`.
#[must_use]
pub fn time(ns: f64) -> String {
    let (unit, scale) = unit_of(ns, 4);
    format!("{} {unit}", significant(ns / scale, 4))
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
    marked(time_short(time_ns.median), time_ns.marked)
}

/// Stands behind a value that too few clean samples support.
pub const MARK: &str = "†";

/// A text, with [`MARK`] behind it where its value is marked.
#[must_use]
pub fn marked(text: String, is_marked: bool) -> String {
    if is_marked { text + MARK } else { text }
}

/// A time with its interval, in ns, in the median's unit: `4.212 µs [4.190 – 4.251]`. An
/// interval that is missing is said to be missing.
#[must_use]
pub fn time_with_interval(time: &Estimate) -> String {
    let (unit, scale) = unit_of(time.median, 4);
    with_interval(time, scale, unit, significant(time.median / scale, 4))
}

/// A time in ns with how far its interval reaches from the median, as a share:
/// `4.212 µs ±0.6 %`.
#[must_use]
pub fn time_with_reach(time_ns: &Estimate) -> String {
    let reach = time_ns.interval.map_or_else(String::new, |(low, high)| {
        let reach = (time_ns.median - low).max(high - time_ns.median) / time_ns.median;
        format!(" ±{} %", significant(reach.max(0.001) * 100.0, 1 + i32::from(reach >= 0.1)))
    });
    marked(format!("{}{reach}", time(time_ns.median)), time_ns.marked)
}

/// `shown` is the median, whose digits the ends of the interval take after.
fn with_interval(of: &Estimate, scale: f64, unit: &str, shown: String) -> String {
    let places = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
    let interval = of.interval.map_or("no interval".to_owned(), |(low, high)| {
        format!("{:.places$} – {:.places$}", low / scale, high / scale)
    });
    marked(format!("{shown} {unit} [{interval}]"), of.marked)
}

/// The median of a time in ns, marked where it is: `4.212 µs`.
#[must_use]
pub fn median(time_ns: &Estimate) -> String {
    marked(time(time_ns.median), time_ns.marked)
}

/// A ratio with its interval: `1.024 × [1.010 – 1.031]`.
#[must_use]
pub fn ratio_with_interval(ratio: &Estimate) -> String {
    let shown = significant(ratio.median, if ratio.median < 1.0 { 3 } else { 4 });
    with_interval(ratio, 1.0, "×", shown)
}

/// The median of a ratio, marked where it is: `350 ×`, `11.2 ×`, `1.02 ×`.
#[must_use]
pub fn times(ratio: &Estimate) -> String {
    marked(format!("{} ×", factor(ratio.median)), ratio.marked)
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
#[must_use]
pub fn rate(rate: &Estimate) -> String {
    let (value, unit) = match rate.median {
        v if v >= 1e6 => (v / 1e6, "M/s"),
        v if v >= 1e3 => (v / 1e3, "k/s"),
        v => (v, "/s"),
    };
    marked(format!("{} {unit}", significant(value, 4)), rate.marked)
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
    let first = (digits.len() - 1) % 3 + 1;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        text.push(',');
        text.extend(group.iter().map(|digit| char::from(*digit)));
    }
    text
}

/// A count with its noun: `1 thread`, `2 threads`.
pub(super) fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {}", grouped(number), plural(noun, number))
}

/// Texts with something between them.
pub(super) fn joined<S: AsRef<str>>(texts: impl IntoIterator<Item = S>, between: &str) -> String {
    let mut texts = texts.into_iter();
    let mut all = texts.next().map_or_else(String::new, |first| first.as_ref().to_owned());
    texts.for_each(|text| all.extend([between, text.as_ref()]));
    all
}

/// Texts as a list: `a`, `a and b`, `a, b and c`.
pub(super) fn prose_list(texts: &[String]) -> String {
    match texts {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => texts.concat(),
    }
}

/// A number of pages as a size in KiB or MiB, with two digits or all before the point.
#[must_use]
pub fn page_size(pages: f64) -> String {
    let kib = pages * PAGE as f64 / 1024.0;
    let short = |value: f64| match value {
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    };
    let whole = |text: String| text.strip_suffix(".0").map(str::to_owned).unwrap_or(text);
    if kib < 1000.0 {
        format!("{} KiB", whole(short(kib)))
    } else {
        format!("{} MiB", whole(short(kib / 1024.0)))
    }
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
        Estimate { median, interval, marked }
    }

    #[test]
    fn estimates_have_an_interval_and_a_mark() {
        let time = |interval, marked| time_with_interval(&estimate(4212.0, interval, marked));
        assert_eq!(time(Some((4190.0, 4251.0)), false), "4.212 µs [4.190 – 4.251]");
        assert_eq!(time(None, true), "4.212 µs [no interval]†");
        assert_eq!(median(&estimate(4212.0, None, true)), "4.212 µs†");
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
