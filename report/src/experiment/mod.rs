//! Sections and charts of experiments, as their declarations lay them out.

mod rows;

pub(crate) use rows::{Row, filled, rows, shown, sort};

use super::markdown::{Table, below, code, details, markdown};
use super::units::{count, grouped, page_size};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_record::{
    Book, Coordinate, Executor, Experiment, Place, PointBook, PointColumn, PointTable, Points,
    Shown, preference,
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
