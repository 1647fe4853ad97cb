//! Rows of points: the values of a table's row or a chart's bars.

use crate::markdown::{code, markdown};
use crate::races::in_rounds;
use crate::units;
use indexmap::IndexMap;
use std::collections::BTreeMap;
use touchstone_record::compare::{MARGIN, Verdict};
use touchstone_record::estimate::of_values;
use touchstone_record::expression::evaluate;
use touchstone_record::{
    Coordinate, Estimate, Executor, Experiment, Place, PointColumn, Points, Sample, Shown,
};

/// Points that stand in one row.
#[derive(Debug, Clone)]
pub(crate) struct Row<'a> {
    experiment: &'a Experiment,
    /// The place without the dimensions that stand beside each other.
    pub place: Place,
    /// The points by the values of those dimensions; the prefix of metrics has `.` behind each.
    points: BTreeMap<Vec<Coordinate>, (String, &'a Points)>,
}

/// The rows of points, in the order of measurement.
///
/// Of points that differ in the dimension `largest` alone, only that with the largest number has a
/// row. Values of the dimensions `beside` stand beside each other in one row.
pub(crate) fn rows<'a>(
    experiment: &'a Experiment,
    points: impl IntoIterator<Item = &'a Points>,
    largest: Option<&str>,
    beside: &[String],
) -> Vec<Row<'a>> {
    let mut rows: IndexMap<Place, Row<'a>> = IndexMap::new();
    for points in points {
        let place = points.place.without(beside);
        let values = beside.iter().filter_map(|name| points.place.get(name));
        let values: Vec<Coordinate> = values.cloned().collect();
        let prefix = values.iter().map(|value| format!("{value}.")).collect::<String>();
        let new = |place: &Place| Row { experiment, place: place.clone(), points: BTreeMap::new() };
        let row = rows.entry(place).or_insert_with_key(new);
        row.points.insert(values, (prefix, points));
    }
    let Some(largest) = largest else { return rows.into_values().collect() };
    let mut most: IndexMap<Place, Row<'a>> = IndexMap::new();
    for row in rows.into_values() {
        let kept = most.entry(row.place.without([&largest.to_owned()])).or_insert(row.clone());
        if kept.place.number(largest) < row.place.number(largest) {
            *kept = row;
        }
    }
    most.into_values().collect()
}

/// Sorts rows: the largest of a value first.
pub(crate) fn sort(rows: &mut [Row<'_>], by: Option<&str>) {
    if let Some(by) = by {
        let value = |row: &Row<'_>| row.value(by).map_or(0.0, |value| value.median);
        rows.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
}

impl<'a> Row<'a> {
    /// The row of a place alone.
    pub(crate) fn of(experiment: &'a Experiment, points: &'a Points) -> Self {
        let place = points.place.clone();
        Self { experiment, place, points: BTreeMap::from([(Vec::new(), (String::new(), points))]) }
    }

    pub(crate) fn executor(&self) -> Option<Executor> {
        self.place.executor()
    }

    /// The points of a name, and the name of the metric.
    fn points<'b>(&self, name: &'b str) -> Option<(&'a Points, &'b str)> {
        let own = self.points.values().rev();
        own.filter_map(|(prefix, points)| Some((*points, name.strip_prefix(prefix.as_str())?)))
            .find(|(points, metric)| points.samples(metric).next().is_some())
            .or_else(|| self.end(name))
    }

    /// The points of the smallest or largest values beside each other: `first.…`, `last.…`.
    fn end<'b>(&self, name: &'b str) -> Option<(&'a Points, &'b str)> {
        let (end, name) = name.split_once('.')?;
        let (_, (_, points)) = match end {
            "first" => self.points.first_key_value()?,
            "last" => self.points.last_key_value()?,
            _ => return None,
        };
        Some((points, name))
    }

    pub(crate) fn value(&self, expression: &str) -> Option<Estimate> {
        evaluate(expression, &|name| {
            let found = self.points(name);
            let of_end = || found.and_then(|(points, name)| points.place.number(name));
            if let Some(number) = self.place.number(name).or_else(of_end) {
                return Some(Estimate::exact(number as f64));
            }
            let (points, metric) = found?;
            let declared = self.experiment.metric(metric);
            if declared.is_some_and(|own| own.sampled) {
                return points.sampled(metric);
            }
            let value = points.median(metric)?;
            let marked =
                declared.is_some_and(|own| own.spread) && is_spread(&points.values(metric));
            Some(Estimate { marked, ..value })
        })
    }

    /// The ratio of a metric to one of another row: over the rounds in which both were sampled, or
    /// over all pairs of samples of a process.
    pub(crate) fn over(&self, other: &Self, own: &str, theirs: &str) -> Option<Estimate> {
        let ((mine, metric), (others, beside)) = (self.points(own)?, other.points(theirs)?);
        if self.experiment.metric(metric).is_some_and(|own| own.sampled) {
            return Some(in_rounds((mine, metric), (others, beside))?.ratio);
        }
        let others: BTreeMap<u32, &[Sample]> =
            others.samples(beside).map(|(process, samples)| (process, &*samples.0)).collect();
        let pairs = mine
            .samples(metric)
            .filter_map(|(process, samples)| Some(samples.0.iter().zip(*others.get(&process)?)));
        let ratio = |(own, other): (&Sample, &Sample)| own.per_call() / other.per_call();
        let ratio = of_values(&pairs.flatten().map(ratio).collect::<Vec<_>>())?;
        let marked = [self.value(own), other.value(theirs)];
        Some(Estimate { marked: marked.into_iter().flatten().any(|own| own.marked), ..ratio })
    }

    /// The text of a column: Markdown. `all` are the rows among which the one stands that ratios
    /// are against.
    pub(crate) fn cell(
        &self,
        column: &PointColumn,
        against: &Place,
        all: &[Self],
    ) -> Option<String> {
        if let Some(over) = &column.over {
            let engine = self.place.get("engine");
            let is_meant = |other: &&Self| {
                let is_same = !column.same || other.executor() == self.executor();
                other.place.get("engine") == engine && other.place.has(against) && is_same
            };
            let other = match against.iter().next() {
                Some(_) => all.iter().find(is_meant).filter(|_| !self.place.has(against))?,
                None => self,
            };
            return Some(shown(column.shown, &self.over(other, &column.value, over)?));
        }
        self.text(&column.value, column.shown)
    }

    /// The text of a value: Markdown. Several values in braces are put in their places.
    pub(crate) fn text(&self, value: &str, as_shown: Shown) -> Option<String> {
        if value.contains('{') {
            return filled(value, &|name| self.text(name, as_shown));
        }
        match as_shown {
            Shown::Words | Shown::Code if value == "executor" => Some(code(self.executor()?)),
            Shown::Words => Some(markdown(&self.words(value)?)),
            Shown::Code => self.place.get(value).map(code),
            as_shown => Some(shown(as_shown, &self.value(value)?)),
        }
    }

    pub(crate) fn words(&self, dimension: &str) -> Option<String> {
        let value: &Coordinate = self.place.get(dimension)?;
        Some(match self.experiment.dimension(dimension) {
            Some(dimension) => dimension.words(value),
            None => value.to_string(),
        })
    }
}

/// `true` if the upper quartile is more than twice the lower one, because the machine stalled.
fn is_spread(values: &[f64]) -> bool {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values.get(values.len() * quarter / 4);
    at(1).zip(at(3)).is_some_and(|(low, high)| *high > 2.0 * low)
}

/// A text with what stands in braces replaced; `None` where one of them has no value.
pub(crate) fn filled(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (mut rest, mut result) = (text, String::new());
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        result += before;
        result += &value(name)?;
        rest = after;
    }
    Some(result + rest)
}

pub(crate) fn shown(as_shown: Shown, value: &Estimate) -> String {
    let number = value.median;
    let whole = |number: f64| number.max(0.0).round() as u64;
    let text = match as_shown {
        Shown::Interval => return units::time_with_interval(value),
        Shown::Ratio => return units::ratio_with_interval(value),
        Shown::Verdict => {
            let verdict = Verdict::of(value.interval, MARGIN);
            return format!("{}, {verdict}", units::ratio_with_interval(value));
        }
        Shown::Time => units::time(number),
        Shown::Short => units::time_short(number),
        Shown::Count | Shown::Words | Shown::Code => units::grouped(whole(number)),
        Shown::Digit => format!("{number:.1}"),
        Shown::Kib => format!("{number:.1} KiB"),
        Shown::Size => units::bytes(whole(number * 1024.0)),
        Shown::Bytes => units::bytes(whole(number)),
        Shown::Share if number >= 0.1 => format!("{:.1} %", number * 100.0),
        Shown::Share | Shown::Percent => units::percent(number),
        Shown::Factor => units::factor(number),
        Shown::Rate => format!("{} /s", units::grouped(whole(number))),
    };
    text + units::marks(value)
}
