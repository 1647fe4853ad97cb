//! Points of experiments: what was measured where.

use super::line::is_zero;
use super::{Estimate, Executor, PointUnit, Sample, Samples, Status, estimate};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// The values of an experiment's metrics at a place, as one process measured them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    #[serde(deserialize_with = "name")]
    pub experiment: String,
    /// The value of each dimension.
    #[serde(rename = "where")]
    pub place: Place,
    /// Number of the process within the run, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub process: u32,
    #[serde(default, deserialize_with = "values", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Samples>,
    /// The reason why there are no values, or only those up to a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<PointRefusal>,
}

const LONGEST_NAME: usize = 64;

/// Checks a name of an experiment, a dimension or a metric: they are part of tables and filters.
pub(super) fn checked(name: &str) -> Result<(), String> {
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
    if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_part) {
        return Ok(());
    }
    Err("a name of a dimension or metric has 1 to 64 letters a-z, digits, _ or .".to_owned())
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    checked(&name).map_err(D::Error::custom)?;
    Ok(name)
}

fn values<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Samples>, D::Error> {
    let values = BTreeMap::<String, Samples>::deserialize(from)?;
    values.keys().try_for_each(|name| checked(name)).map_err(D::Error::custom)?;
    Ok(values)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointRefusal {
    pub status: Status,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Coordinate {
    Number(u64),
    Text(String),
}

impl Coordinate {
    pub fn number(&self) -> Option<u64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

impl From<u64> for Coordinate {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Coordinate {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Dimensions of every place with an executor.
pub(super) const EXECUTOR: [&str; 2] = ["engine", "strategy"];

/// A value for each of some dimensions.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Coordinate>")]
pub struct Place(BTreeMap<String, Coordinate>);

impl TryFrom<BTreeMap<String, Coordinate>> for Place {
    type Error = String;

    fn try_from(values: BTreeMap<String, Coordinate>) -> Result<Self, String> {
        values.keys().try_for_each(|name| checked(name))?;
        let place = Self(values);
        match (place.executor(), place.text("strategy")) {
            (None, Some(strategy)) => Err(format!("'{strategy}' is no strategy of an engine")),
            _ => Ok(place),
        }
    }
}

impl Place {
    /// The place of an executor, without other dimensions.
    pub fn of(executor: &Executor) -> Self {
        Self::default().at(executor)
    }

    pub fn at(&self, executor: &Executor) -> Self {
        let place = self.clone().with("engine", executor.engine.as_str());
        place.with("strategy", executor.strategy.to_string().as_str())
    }

    pub fn with(mut self, dimension: &str, value: impl Into<Coordinate>) -> Self {
        self.0.insert(dimension.to_owned(), value.into());
        self
    }

    pub fn without(&self, dimensions: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let mut place = self.clone();
        dimensions.into_iter().for_each(|own| drop(place.0.remove(own.as_ref())));
        place
    }

    pub fn without_executor(&self) -> Self {
        self.without(EXECUTOR)
    }

    pub fn get(&self, dimension: &str) -> Option<&Coordinate> {
        self.0.get(dimension)
    }

    pub fn number(&self, dimension: &str) -> Option<u64> {
        self.get(dimension)?.number()
    }

    pub fn text(&self, dimension: &str) -> Option<&str> {
        match self.get(dimension)? {
            Coordinate::Text(text) => Some(text),
            Coordinate::Number(_) => None,
        }
    }

    pub fn executor(&self) -> Option<Executor> {
        let (engine, strategy) = (self.text("engine")?, self.text("strategy")?);
        Some(Executor { engine: engine.to_owned(), strategy: strategy.parse().ok()? })
    }

    /// `true` if this place has each value of another one.
    pub fn has(&self, other: &Self) -> bool {
        other.0.iter().all(|(dimension, value)| self.0.get(dimension) == Some(value))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Coordinate)> {
        self.0.iter().map(|(dimension, value)| (dimension.as_str(), value))
    }
}

/// The name for filters: executor and values, with `/` between them.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executor = self.executor().map(|executor| executor.to_string());
        let place = if executor.is_some() { &self.without_executor() } else { self };
        let value = |(dimension, value): (&str, &Coordinate)| match value {
            Coordinate::Number(number) => format!("{number}_{dimension}"),
            Coordinate::Text(text) => text.clone(),
        };
        let parts: Vec<String> = executor.into_iter().chain(place.iter().map(value)).collect();
        f.pad(&parts.join("/"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    pub calls: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// Memory and mappings of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    pub rss_kib: u64,
    /// Proportional memory, KiB: pages that other processes or mappings share count in part.
    pub pss_kib: u64,
    pub page_tables_kib: u64,
    /// Mappings (lines of `/proc/self/maps`).
    pub mappings: u64,
}

impl Point {
    pub fn new(experiment: &str, place: Place, process: u32) -> Self {
        let experiment = experiment.to_owned();
        Self { experiment, place, process, values: BTreeMap::new(), refused: None }
    }

    /// With the value of a metric that is observed once.
    pub fn value(self, metric: &str, value: f64) -> Self {
        self.samples(metric, Samples(vec![Sample::single(value)]))
    }

    /// With the values of metrics that are observed once.
    pub fn values<'a>(self, values: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        values.into_iter().fold(self, |point, (name, value)| point.value(name, value as f64))
    }

    pub fn samples(mut self, metric: &str, samples: Samples) -> Self {
        self.values.insert(metric.to_owned(), samples);
        self
    }

    /// With quantiles, each a metric: `<name>.p50_ns`, …
    pub fn tail(self, name: &str, tail: Tail) -> Self {
        let Tail { calls, p50_ns, p99_ns, p999_ns, max_ns } = tail;
        self.parts(name, PointUnit::Tail, &[calls, p50_ns, p99_ns, p999_ns, max_ns])
    }

    /// With memory and mappings of a process, each a metric: `<name>.pss_kib`, …
    pub fn footprint(self, name: &str, footprint: Footprint) -> Self {
        let Footprint { rss_kib, pss_kib, page_tables_kib, mappings } = footprint;
        self.parts(name, PointUnit::Footprint, &[rss_kib, pss_kib, page_tables_kib, mappings])
    }

    fn parts(self, name: &str, unit: PointUnit, values: &[u64]) -> Self {
        let with = |point: Self, (part, value): (&&str, &u64)| {
            point.value(&format!("{name}{part}"), *value as f64)
        };
        unit.parts().iter().zip(values).fold(self, with)
    }

    /// With the reason why it was not measured, or not to its end.
    pub fn refused(self, status: Status, reason: String) -> Self {
        Self { refused: Some(PointRefusal { status, reason }), ..self }
    }
}

/// The points of a place, process by process.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    pub place: Place,
    pub processes: Vec<Point>,
}

impl Points {
    /// The processes that measured it to the end.
    pub fn measured(&self) -> impl Iterator<Item = &Point> {
        self.processes.iter().filter(|point| point.refused.is_none())
    }

    pub fn samples<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (u32, &'a Samples)> {
        self.measured().filter_map(move |point| Some((point.process, point.values.get(metric)?)))
    }

    pub fn values(&self, metric: &str) -> Vec<f64> {
        self.samples(metric).flat_map(|(_, own)| own.0.iter().map(Sample::per_call)).collect()
    }

    /// The estimate of a metric that is sampled in each process.
    pub fn sampled(&self, metric: &str) -> Option<Estimate> {
        estimate::of_processes(&self.samples(metric).map(|(_, own)| own).collect::<Vec<_>>())
    }

    /// The median of all values of a metric, without an interval.
    pub fn median(&self, metric: &str) -> Option<Estimate> {
        estimate::of_values(&self.values(metric)).map(|own| Estimate { interval: None, ..own })
    }

    /// The reason why a process did not measure it.
    pub fn refusal(&self) -> Option<(&PointRefusal, &Point)> {
        self.processes.iter().find_map(|point| Some((point.refused.as_ref()?, point)))
    }
}

/// The points of an experiment, place by place, in the order of measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PointBook {
    all: Vec<Points>,
    places: BTreeMap<Place, usize>,
}

impl PointBook {
    /// Adds a point. It replaces one of the same place and process.
    pub(super) fn add(&mut self, point: Point) {
        let index = *self.places.entry(point.place.clone()).or_insert_with(|| {
            self.all.push(Points { place: point.place.clone(), processes: Vec::new() });
            self.all.len() - 1
        });
        let processes = &mut self.all[index].processes;
        processes.retain(|other| other.process != point.process);
        processes.push(point);
    }

    pub fn get(&self, place: &Place) -> Option<&Points> {
        self.all.get(*self.places.get(place)?)
    }

    /// All places that at least one process measured.
    pub fn measured(&self) -> impl Iterator<Item = &Points> {
        self.all.iter().filter(|points| points.measured().next().is_some())
    }

    /// All places that at least one process refused.
    pub fn refused(&self) -> impl Iterator<Item = (&Points, &PointRefusal, &Point)> {
        self.all.iter().filter_map(|points| {
            let (refusal, point) = points.refusal()?;
            Some((points, refusal, point))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Line;

    fn executor() -> Executor {
        "some_engine_instance_reuse_tracked".parse().unwrap()
    }

    #[test]
    fn a_point_is_one_line_and_is_read_back() {
        let place = Place::of(&executor()).with("pages", 16_u64).with("drift", "same");
        let tail = Tail { calls: 5, p50_ns: 1, p99_ns: 2, p999_ns: 3, max_ns: 4 };
        let point = Point::new("some", place, 1).value("made", 7.0).tail("calls", tail);
        let point = point.samples("call", Samples(vec![Sample::single(7.0); 2]));
        let line = Line::Point(Box::new(point.refused(Status::Failed, "no memory".to_owned())));
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"point","experiment":"some","where":{"drift":"same","engine":"some_engine","#
                .to_owned()
                + r#""pages":16,"strategy":"instance_reuse_tracked"},"process":1,"values":{"#
                + r#""call":{"total":[7,7]},"calls.calls":5,"calls.max_ns":4,"calls.p50_ns":1,"#
                + r#""calls.p999_ns":3,"calls.p99_ns":2,"made":7},"#
                + r#""refused":{"status":"failed","reason":"no memory"}}"#
        );
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
    }

    #[test]
    fn a_repeated_process_counts_once_and_estimates_are_over_processes() {
        let mut book = PointBook::default();
        let place = Place::of(&executor());
        for (process, from) in [(0, 900.0), (0, 100.0), (1, 110.0), (2, 120.0)] {
            let times = (0..7).map(|round| Sample::single(from + f64::from(round))).collect();
            book.add(Point::new("some", place.clone(), process).samples("call", Samples(times)));
        }
        let points = book.get(&place).unwrap();
        assert_eq!(points.processes.len(), 3);
        let call = points.sampled("call").unwrap();
        assert_eq!((call.median, call.marked), (113.0, false));
        let (low, high) = call.interval.unwrap();
        assert!(low <= 100.0 && high >= 126.0, "{low} {high}");
        assert_eq!(points.median("call").unwrap().interval, None);
        assert_eq!(points.sampled("other"), None);
        assert_eq!(book.get(&place.with("pages", 1_u64)), None);
    }

    #[test]
    fn a_refused_process_hides_only_its_own_values() {
        let mut book = PointBook::default();
        let place = Place::of(&executor());
        let point =
            |process, made: f64| Point::new("some", place.clone(), process).value("made", made);
        let refused = |process| point(process, 9.0).refused(Status::Failed, "ended".to_owned());
        book.add(refused(0));
        assert_eq!((book.measured().count(), book.refused().count()), (0, 1));
        book.add(point(1, 5.0));
        assert_eq!((book.measured().count(), book.refused().count()), (1, 1));
        assert_eq!(book.get(&place).unwrap().values("made"), [5.0]);
        book.add(point(0, 7.0));
        assert_eq!((book.measured().count(), book.refused().count()), (1, 0));
    }

    #[test]
    fn the_name_of_a_place_has_the_executor_first() {
        let place = Place::of(&executor()).with("pages", 16_u64).with("drift", "same");
        assert_eq!(place.to_string(), "some_engine_instance_reuse_tracked/same/16_pages");
        assert_eq!(place.executor(), Some(executor()));
        assert!(place.has(&place.without_executor()) && !place.without_executor().has(&place));
        assert_eq!(Place::default().with("verifier", "host").to_string(), "host");
    }
}
