//! Samples, and their compact form in record files.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Calls that were timed or counted together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Number of calls of all threads.
    pub calls: u64,
    /// Total in the unit of the metric, summed over the threads.
    pub total: f64,
    /// Calls of the slowest thread; the same as `calls` on one thread.
    pub slowest: u64,
    /// `true` if the interference probe was clean before and after, on every thread's processor.
    pub clean: bool,
}

impl Sample {
    /// One observation of a single thing, such as the size of an artifact.
    pub fn single(total: f64) -> Self {
        Self { calls: 1, total, slowest: 1, clean: true }
    }

    pub fn per_call(&self) -> f64 {
        self.total / self.calls.max(1) as f64
    }
}

/// The samples of one metric in one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Packed", into = "Packed")]
pub struct Samples(pub Vec<Sample>);

impl Samples {
    pub(super) fn with_clean(&self) -> Vec<(Sample, bool)> {
        self.0.iter().map(|sample| (*sample, sample.clean)).collect()
    }
}

/// The form in record files: one observation as a number, samples column by column.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or samples: whole numbers of calls and of ns")]
enum Packed {
    One(#[serde(serialize_with = "one")] f64),
    Columns(Columns),
}

/// A column of equal numbers is one number.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    #[serde(default = "Column::one", skip_serializing_if = "Column::is_one")]
    calls: Column,
    #[serde(serialize_with = "short")]
    total: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slowest: Option<Column>,
    /// Indices of the samples with interference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    noisy: Vec<usize>,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a whole number, or one for each sample")]
enum Column {
    Same(u64),
    Each(Vec<u64>),
}

impl Column {
    fn one() -> Self {
        Self::Same(1)
    }

    fn is_one(&self) -> bool {
        *self == Self::Same(1)
    }

    fn of(values: Vec<u64>) -> Self {
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => Self::Same(*first),
            _ => Self::Each(values),
        }
    }

    fn get(&self, place: usize) -> u64 {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values.get(place).copied().unwrap_or(0),
        }
    }
}

/// The shortest form of a number: whole ones are written without ".0".
fn shortest(number: &f64) -> Value {
    // Exact: a double below 2^53 without a fraction is that whole number.
    let is_whole = number.fract() == 0.0 && (0.0..9e15).contains(number);
    if is_whole { Value::from(*number as u64) } else { Value::from(*number) }
}

fn one<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    shortest(number).serialize(to)
}

fn short<S: Serializer>(numbers: &[f64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(numbers.iter().map(shortest))
}

impl From<Samples> for Packed {
    fn from(samples: Samples) -> Self {
        let samples = samples.0;
        if let [only] = samples[..]
            && only == Sample::single(only.total)
        {
            return Self::One(only.total);
        }
        let slowest = samples.iter().any(|sample| sample.slowest != sample.calls);
        let noisy = |(place, sample): (usize, &Sample)| (!sample.clean).then_some(place);
        Self::Columns(Columns {
            calls: Column::of(samples.iter().map(|sample| sample.calls).collect()),
            total: samples.iter().map(|sample| sample.total).collect(),
            slowest: slowest
                .then(|| Column::of(samples.iter().map(|sample| sample.slowest).collect())),
            noisy: samples.iter().enumerate().filter_map(noisy).collect(),
        })
    }
}

impl TryFrom<Packed> for Samples {
    type Error = String;

    fn try_from(packed: Packed) -> Result<Self, String> {
        let Columns { calls, total, slowest, noisy } = match packed {
            Packed::One(total) => return Ok(Self(vec![Sample::single(total)])),
            Packed::Columns(columns) => columns,
        };
        let all = total.len();
        for (name, column) in [("calls", Some(&calls)), ("slowest", slowest.as_ref())] {
            if let Some(Column::Each(values)) = column
                && values.len() != all
            {
                return Err(format!("'{name}' has {} numbers for {all} samples", values.len()));
            }
        }
        check_noisy(all, &noisy)?;
        let sample = |(place, (total, clean)): (usize, (f64, bool))| Sample {
            calls: calls.get(place),
            total,
            slowest: slowest.as_ref().unwrap_or(&calls).get(place),
            clean,
        };
        let clean = clean(all, &noisy);
        Ok(Self(total.into_iter().zip(clean).enumerate().map(sample).collect()))
    }
}

/// For each of `all` samples or rounds, `true` unless its index is in the list of the noisy ones.
pub(super) fn clean<'a>(all: usize, noisy: impl IntoIterator<Item = &'a usize>) -> Vec<bool> {
    let mut clean = vec![true; all];
    for place in noisy {
        if let Some(clean) = clean.get_mut(*place) {
            *clean = false;
        }
    }
    clean
}

/// Checks that a list names samples or rounds, each once and in their order.
pub(super) fn check_noisy(all: usize, noisy: &[usize]) -> Result<(), String> {
    let is_below = noisy.last().is_none_or(|last| *last < all);
    if is_below && noisy.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    Err(format!("'noisy' is not an ascending list of numbers below {all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_samples_are_made_in_one_pass() {
        let steps = std::cell::Cell::new(0);
        let noisy: Vec<usize> = (0..300_000).step_by(3).collect();
        let counted = noisy.iter().inspect(|_| steps.set(steps.get() + 1));
        let flags = clean(300_000, counted);
        assert_eq!(steps.get(), noisy.len());
        assert!(flags.iter().enumerate().all(|(place, clean)| *clean == (place % 3 != 0)));
    }

    #[test]
    fn samples_are_written_short_and_read_back() {
        let sample = |calls, total, slowest, clean| Sample { calls, total, slowest, clean };
        for (samples, text) in [
            (vec![Sample::single(66_202.0)], "66202"),
            (vec![Sample::single(0.25)], "0.25"),
            (
                vec![sample(500, 1000.0, 500, true), sample(500, 1010.0, 500, false)],
                r#"{"calls":500,"total":[1000,1010],"noisy":[1]}"#,
            ),
            (
                vec![sample(9, 90.0, 4, true), sample(8, 80.0, 4, true)],
                r#"{"calls":[9,8],"total":[90,80],"slowest":4}"#,
            ),
        ] {
            let samples = Samples(samples);
            assert_eq!(serde_json::to_string(&samples).unwrap(), text);
            assert_eq!(serde_json::from_str::<Samples>(text).unwrap(), samples);
        }
    }
}
