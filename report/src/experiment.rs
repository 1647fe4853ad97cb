//! Sections and charts of experiments, as their declarations lay them out.

use crate::markdown::{Table, below, code, details, markdown};
use crate::races::in_rounds;
use crate::units::{self, count, grouped, page_size};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_record::compare::{MARGIN, Verdict};
use touchstone_record::estimate::of_values;
use touchstone_record::expression::evaluate;
use touchstone_record::{
    Book, Coordinate, Estimate, Executor, Experiment, Place, PointBook, PointColumn, PointTable,
    Points, Sample, Shown, preference,
};

pub(super) fn section(experiment: &Experiment, book: Option<&Book>) -> String {
    let Experiment { title, name, made_by, .. } = experiment;
    let own = book.and_then(|book| Some((book, book.points.get(name)?)));
    let Some((book, points)) = own.filter(|(_, own)| own.measured().next().is_some()) else {
        return format!("## {title}\n\nThere are no records of this; `{made_by}` makes them.\n\n");
    };
    let tables = experiment.tables.iter().map(|table| of_table(experiment, points, table));
    let text = text(experiment, book, points);
    let tables: String = tables.collect();
    format!("## {title}\n\n{text}\n\n{tables}{}", failed(experiment, points))
}

fn text(experiment: &Experiment, book: &Book, points: &PointBook) -> String {
    let all = || points.measured();
    let most = || all().map(|own| own.measured().count()).max().unwrap_or(0);
    let value = |name: &str| match name {
        "commit" => Some(code(&book.header.tools.commit)),
        "rounds" => Some(grouped(most() as u64)),
        "processes" if most() == 1 => Some("1 process".to_owned()),
        "processes" => Some(format!("{} processes", grouped(most() as u64))),
        name => {
            let own = all().find_map(|own| match own.place.get(name)? {
                Coordinate::Text(text) => Some(code(text)),
                Coordinate::Number(number) => Some(grouped(*number)),
            });
            let of_metric = || {
                let first = all().find_map(|own| own.values(name).first().copied())?;
                Some(grouped(first.max(0.0) as u64))
            };
            Some(own.or_else(of_metric).unwrap_or_default())
        }
    };
    filled(experiment.text.trim(), &value).unwrap_or_default()
}

/// A table, or one for each value of the folded dimensions.
fn of_table(experiment: &Experiment, points: &PointBook, table: &PointTable) -> String {
    let mut places: BTreeMap<Place, Vec<&Points>> = BTreeMap::new();
    for points in points.measured().filter(|points| points.place.has(&table.place)) {
        let own = table.folded.iter().filter_map(|name| Some((name, points.place.get(name)?)));
        let place =
            own.fold(Place::default(), |place, (name, value)| place.with(name, value.clone()));
        places.entry(place).or_default().push(points);
    }
    let mut places: Vec<(Place, Vec<&Points>)> = places.into_iter().collect();
    // By the folded dimensions, the first one first, as words are declared.
    places.sort_by_cached_key(|(place, _)| {
        let order = |name: &String| Some(experiment.dimension(name)?.order(place.get(name)?));
        table.folded.iter().map(order).collect::<Vec<_>>()
    });
    let mut text = String::new();
    for (index, (place, points)) in places.into_iter().enumerate() {
        let body = match &table.by_executor {
            Some(value) => by_executor(experiment, &points, table, value),
            None => plain(experiment, points, table),
        };
        let heading = capital(&markdown(&experiment.in_words(&place)));
        text += &match index {
            _ if table.folded.is_empty() => body,
            0 => format!("{heading}:\n\n{body}"),
            _ => details(&heading, &body),
        };
    }
    let title = match &*table.title {
        "" => String::new(),
        title => format!("### {title}\n\n"),
    };
    match table.text.trim() {
        _ if text.is_empty() => text,
        "" => title + &text,
        own => format!("{title}{own}\n\n{text}"),
    }
}

/// A row for each place.
fn plain(experiment: &Experiment, points: Vec<&Points>, table: &PointTable) -> String {
    let mut all = rows(experiment, points, table.largest.as_deref(), &table.beside);
    if table.by.is_none() && table.rows.is_none() {
        all.sort_by_cached_key(|row| {
            let executor = row.executor();
            let key = executor.map(|own| (own.engine, preference(own.strategy)));
            (key, experiment.order(&row.place))
        });
    }
    sort(&mut all, table.by.as_deref());
    let is_by_engine = table.rows.as_deref() == Some("engine");
    if is_by_engine {
        all.sort_by_cached_key(|row| row.place.get("engine").cloned());
    }
    let first = table.first.as_deref().unwrap_or("Executor");
    let mut own = Table::new(first, table.columns.iter().map(|column| &column.heading));
    for row in &all {
        let shown = if is_by_engine { Shown::Code } else { Shown::Words };
        let words = table.rows.as_deref().and_then(|name| row.text(name, shown));
        let label = words.filter(|words| !words.is_empty()).or_else(|| row.executor().map(code));
        let cell = |column: &PointColumn| row.cell(column, &table.against, &all);
        own.row(label.unwrap_or_default(), table.columns.iter().map(cell));
    }
    own.finish()
}

/// A row for each number of a dimension, a column for each executor.
fn by_executor(
    experiment: &Experiment,
    points: &[&Points],
    table: &PointTable,
    value: &PointColumn,
) -> String {
    let dimension = table.rows.as_deref().and_then(|name| experiment.dimension(name));
    let Some(dimension) = dimension else { return String::new() };
    let mut columns: BTreeSet<Executor> = BTreeSet::new();
    let mut lines: BTreeMap<u64, BTreeMap<Executor, Option<String>>> = BTreeMap::new();
    for points in points {
        let number = points.place.number(&dimension.name);
        let (Some(executor), Some(number)) = (points.place.executor(), number) else { continue };
        let text = Row::of(experiment, points).text(&value.value, value.shown);
        columns.insert(executor.clone());
        lines.entry(number).or_default().insert(executor, text);
    }
    let first = table.first.as_deref().unwrap_or("Executor");
    let mut own = Table::new(first, columns.iter().map(code));
    for (number, mut cells) in lines {
        let label = match dimension.pages {
            true => format!("{} ({})", page_size(number as f64), count(number, "page")),
            false => grouped(number),
        };
        own.row(label, columns.iter().map(|column| cells.remove(column).flatten()));
    }
    own.finish()
}

/// The points that failed, with the reasons. Empty where none did.
fn failed(experiment: &Experiment, points: &PointBook) -> String {
    let Some(table) = &experiment.failed else { return String::new() };
    let headings = table.columns.iter().map(|column| column.heading.as_str());
    let mut own = Table::of_words("Executor", headings.chain(["reason"]));
    let failed = points.refused().filter(|(_, refusal, _)| refusal.status.is_failure());
    for (Points { place, .. }, refusal, point) in failed {
        let number = |column: &PointColumn| {
            let value = point.values.get(&column.value).and_then(|own| own.0.first());
            let number = place.number(&column.value).or(value.map(|own| own.total as u64))?;
            Some(grouped(number))
        };
        let cells = table.columns.iter().map(number).chain([Some(markdown(&refusal.reason))]);
        own.row(place.executor().map(code).unwrap_or_default(), cells);
    }
    below(&format!("### {}\n\n{}", table.title, table.text.trim()), &own.finish())
}

/// The same text with a capital letter at its start.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

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
        Shown::Count | Shown::Words | Shown::Code => grouped(whole(number)),
        Shown::Digit => format!("{number:.1}"),
        Shown::Kib => format!("{number:.1} KiB"),
        Shown::Size => units::bytes(whole(number * 1024.0)),
        Shown::Bytes => units::bytes(whole(number)),
        Shown::Share if number >= 0.1 => format!("{:.1} %", number * 100.0),
        Shown::Share | Shown::Percent => units::percent(number),
        Shown::Factor => units::factor(number),
        Shown::Rate => format!("{} /s", grouped(whole(number))),
    };
    text + units::marks(value)
}
