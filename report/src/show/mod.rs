//! A run in words: its entries in tables for a terminal, and as JSON.

use crate::experiment::Row;
use crate::units::{marked, median, rate, ratio_with_interval, time, time_with_interval};
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use touchstone_record::compare::{Judged, MARGIN, judge};
use touchstone_record::terminal::{Style, Table};
use touchstone_record::{
    Book, CellKey, Coordinate, Count, Estimate, Experiment, Match, Metric, PointRefusal, Points,
    Refusal, Shown, Unit, experiments_folder,
};

/// A named entry of a run.
pub enum Entry<'a> {
    /// A cell with its metrics.
    Cell(&'a CellKey),
    /// A comparison and its verdict.
    Comparison(&'a Match, Judged),
    /// The counts of a case.
    Count(&'a Count),
    /// Points of an experiment.
    Points(Shape<'a>),
    /// The reason why something was not measured.
    Refusal(&'a Refusal),
}

/// Points at one place, and how their experiment shows them.
pub struct Shape<'a> {
    experiment: &'a str,
    declared: Option<&'static Experiment>,
    points: &'a Points,
}

/// The declarations of the project; none if they cannot be read.
fn declared(name: &str) -> Option<&'static Experiment> {
    static ALL: LazyLock<Vec<Experiment>> =
        LazyLock::new(|| Experiment::all(experiments_folder()).unwrap_or_default());
    ALL.iter().find(|own| own.name == name)
}

/// All entries of a run, cells first.
#[must_use]
pub fn entries(book: &Book) -> Vec<Entry<'_>> {
    let cells = book.cells.keys().map(Entry::Cell);
    let comparisons = book
        .comparisons
        .iter()
        .filter_map(|(of, processes)| Some(Entry::Comparison(of, judge(processes, MARGIN)?)));
    let counts = book.counts.values().map(Entry::Count);
    let points = book.points.iter().flat_map(|(experiment, own)| {
        let declared = declared(experiment);
        let shape = move |points| Entry::Points(Shape { experiment, declared, points });
        let refused = own.refused().filter(|(points, ..)| points.measured().next().is_none());
        own.measured().map(shape).chain(refused.map(move |(points, ..)| shape(points)))
    });
    let refusals = book.refusals.iter().map(Entry::Refusal);
    cells.chain(comparisons).chain(counts).chain(points).chain(refusals).collect()
}

impl Entry<'_> {
    /// The name for filters.
    #[must_use]
    pub fn name(&self, book: &Book) -> String {
        match self {
            Self::Cell(cell) => book.name(cell),
            Self::Comparison(of, _) => of.name(),
            Self::Count(count) => format!("{}_from_{}", count.case, count.guest),
            Self::Points(own) => format!("{}/{}", own.experiment, own.points.place),
            Self::Refusal(Refusal { engine, strategy, guest, case, .. }) => {
                let strategy = strategy.map(|strategy| strategy.to_string());
                let join = |parts: [Option<&str>; 2], with: &str| {
                    let parts: Vec<&str> = parts.into_iter().flatten().collect();
                    Some(parts.join(with)).filter(|joined| !joined.is_empty())
                };
                let work = join([case.as_deref(), guest.as_deref()], "_from_");
                let executor = join([Some(engine), strategy.as_deref()], "_");
                join([work.as_deref(), executor.as_deref()], "/").unwrap_or_default()
            }
        }
    }

    /// The JSON object of the entry: its record and its estimates; with the samples if `raw`.
    ///
    /// # Errors
    ///
    /// When a record cannot be written as JSON.
    pub fn json(&self, book: &Book, raw: bool) -> Result<Value> {
        let (kind, mut line) = match self {
            Self::Cell(cell) => ("cell", serde_json::to_value(cell)?),
            Self::Comparison(of, _) => ("comparison", serde_json::to_value(of)?),
            Self::Count(count) => ("count", serde_json::to_value(count)?),
            Self::Points(own) => ("point", own.json(raw)?),
            Self::Refusal(refusal) => ("refusal", serde_json::to_value(refusal)?),
        };
        line["id"] = self.name(book).into();
        line["kind"] = kind.into();
        match self {
            Self::Cell(cell) => {
                for &metric in Metric::ALL {
                    let key = serde_json::to_value(metric)?;
                    line[key.as_str().unwrap_or_default()] = estimate(book.estimate(cell, metric));
                }
                line["threads"] = cell.threads.into();
                line["throughput_per_s"] = estimate(book.throughput(cell));
                if raw {
                    line["processes"] = serde_json::to_value(book.cells.get(*cell))?;
                }
            }
            Self::Comparison(of, judged) => {
                line["ratio"] = estimate(Some(judged.ratio));
                line["verdict"] = judged.verdict.to_string().into();
                line["subject_ns"] = judged.subject_ns.into();
                line["baseline_ns"] = judged.baseline_ns.into();
                if raw {
                    line["processes"] = serde_json::to_value(book.comparisons.get(*of))?;
                }
            }
            Self::Count(_) | Self::Points(_) | Self::Refusal(_) => {}
        }
        Ok(line)
    }
}

fn estimate(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Null, |Estimate { median, interval, marked }| {
        let (low, high) = interval.unzip();
        json!({ "median": median, "low": low, "high": high, "marked": marked })
    })
}

/// Everything of a run in tables.
#[must_use]
pub fn all(book: &Book) -> String {
    tables(book, &entries(book))
}

/// Some entries of a run in tables.
#[must_use]
pub fn tables(book: &Book, entries: &[Entry<'_>]) -> String {
    let style = Style::of_stdout();
    let has =
        |metric: &&Metric| book.cells.keys().any(|cell| book.estimate(cell, **metric).is_some());
    let metrics: Vec<Metric> = Metric::ALL.iter().filter(has).copied().collect();
    let mut tables: Vec<(String, Table)> = Vec::new();
    let mut left_out = 0;
    for entry in entries {
        // What was left out on purpose is counted: `touchstone list` has the reasons.
        let status = match entry {
            Entry::Refusal(refusal) => Some(refusal.status),
            Entry::Points(own) => own.refusal().map(|refusal| refusal.status),
            _ => None,
        };
        if status.is_some_and(|status| !status.is_failure()) {
            left_out += 1;
            continue;
        }
        let (heading, columns, row) = entry.row(book, &metrics);
        if tables.last().is_none_or(|(last, _)| *last != heading) {
            let is_right = |(index, column): (usize, &Column)| column.1.then_some(index);
            let right: Vec<usize> = columns.iter().enumerate().filter_map(is_right).collect();
            let head: Vec<&str> = columns.iter().map(|column| column.0.as_str()).collect();
            tables.push((heading, Table::new(&head).right(&right).indented(2)));
        }
        if let Some((_, table)) = tables.last_mut() {
            table.row(row);
        }
    }
    let part =
        |(name, table): (String, Table)| format!("{}\n{}", style.bold(&name), table.render(style));
    let mut parts: Vec<String> = tables.into_iter().map(part).collect();
    if left_out > 0 {
        parts.push(format!("{left_out} refusals; --json prints them with their reasons\n"));
    }
    parts.join("\n")
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

/// A heading, and `true` if numbers stand below it.
type Column = (String, bool);

fn texts<const N: usize>(headings: [&str; N]) -> Vec<Column> {
    headings.map(|heading| (heading.to_owned(), false)).to_vec()
}

fn numbers<const N: usize>(headings: [&str; N]) -> Vec<Column> {
    headings.map(|heading| (heading.to_owned(), true)).to_vec()
}

impl Entry<'_> {
    /// Its row, the columns of the table in which it stands, and that table's heading. Cells have
    /// a column for each of the metrics.
    fn row(&self, book: &Book, metrics: &[Metric]) -> (String, Vec<Column>, Vec<String>) {
        match self {
            Self::Cell(cell) => {
                let mut columns = [texts(["executor"]), numbers(["threads"])].concat();
                let mut row = vec![cell.executor().to_string(), cell.threads.to_string()];
                for &metric in metrics {
                    columns.extend(numbers([metric.name()]));
                    row.push(or_none(book.estimate(cell, metric).map(
                        |estimate| match metric.unit() {
                            _ if metric == Metric::Call => time_with_interval(&estimate),
                            Unit::Nanoseconds => median(&estimate),
                            Unit::Bytes | Unit::Count => estimate.median.to_string(),
                        },
                    )));
                }
                let setup = book.setups.get(&(cell.executor(), cell.guest.clone()));
                let emulated = setup.and_then(|setup| setup.emulated.as_ref());
                columns.extend(numbers(["all threads"]).into_iter().chain(texts([""])));
                row.push(or_none(book.throughput(cell).as_ref().map(rate)));
                row.push(emulated.map_or_else(String::new, |how| format!("emulated: {how}")));
                (cell.work(), columns, row)
            }
            Self::Comparison(of, judged) => {
                let Match { purpose, subject, baseline, .. } = of;
                let threads = match (subject.threads, baseline.threads) {
                    (1, 1) => String::new(),
                    (subject, baseline) if subject == baseline => format!(", {subject} threads"),
                    (subject, baseline) => format!(", {subject} threads against {baseline}"),
                };
                let ratio = "subject / baseline [95 %]";
                let mut columns =
                    texts(["purpose", "subject", "baseline", "call", ratio, "verdict"]);
                columns.extend(numbers(["subject", "baseline"]));
                let row = vec![
                    purpose.to_string(),
                    subject.to_string(),
                    baseline.to_string(),
                    format!("{}{threads}", of.work()),
                    ratio_with_interval(&judged.ratio),
                    judged.verdict.to_string(),
                    marked(time(judged.subject_ns), judged.ratio.marked),
                    marked(time(judged.baseline_ns), judged.ratio.marked),
                ];
                ("comparisons".to_owned(), columns, row)
            }
            Self::Count(count) => {
                let metrics = [Metric::Operators, Metric::WarmOperators, Metric::GuestBytes];
                let number = |metric| count.metrics.get(metric).map(ToString::to_string);
                let mut columns = numbers(["operators", "second call", "guest bytes"]);
                columns.extend(texts(["case and guest", "counted by"]));
                let mut row = metrics.each_ref().map(|metric| or_none(number(metric))).to_vec();
                row.extend([self.name(book), count.counted_by.join(", ")]);
                ("counts".to_owned(), columns, row)
            }
            Self::Points(own) => own.row(),
            Self::Refusal(Refusal { engine, strategy, guest, case, status, reason, .. }) => {
                let strategy = strategy.map(|strategy| strategy.to_string());
                let [strategy, case, guest] = [&strategy, case, guest]
                    .map(|name| name.clone().unwrap_or_else(|| "any".to_owned()));
                let columns = texts(["engine", "strategy", "case", "guest", "status", "reason"]);
                let (engine, reason) = (engine.clone(), reason.clone());
                let row = vec![engine, strategy, case, guest, status.to_string(), reason];
                ("failures".to_owned(), columns, row)
            }
        }
    }
}

impl Shape<'_> {
    /// The reason why no process measured it.
    fn refusal(&self) -> Option<&PointRefusal> {
        let is_refused = self.points.measured().next().is_none();
        self.points.refusal().filter(|_| is_refused).map(|(refusal, _)| refusal)
    }

    /// The place and the estimates of all metrics; with the samples if `raw`.
    fn json(&self, raw: bool) -> Result<Value> {
        let names = self.points.processes.iter().flat_map(|point| point.values.keys());
        let names: BTreeSet<&String> = names.collect();
        let value = |name: &str| match self.declared.and_then(|own| own.metric(name)) {
            Some(metric) if metric.sampled => self.points.sampled(name),
            _ => self.points.median(name),
        };
        let values = names.into_iter().map(|name| (name.clone(), estimate(value(name))));
        let values: serde_json::Map<String, Value> = values.collect();
        let mut line = json!({
            "experiment": self.experiment, "where": self.points.place, "values": values,
        });
        if let Some(refusal) = self.refusal() {
            line["refused"] = serde_json::to_value(refusal)?;
        }
        if raw {
            line["processes"] = serde_json::to_value(&self.points.processes)?;
        }
        Ok(line)
    }

    /// Dimensions and the columns of the first table that is not laid out across.
    fn row(&self) -> (String, Vec<Column>, Vec<String>) {
        let place = &self.points.place;
        let (mut columns, mut row): (Vec<Column>, Vec<String>) = (Vec::new(), Vec::new());
        let mut add = |heading: &str, is_number, text: Option<String>| {
            columns.push((heading.to_owned(), is_number));
            row.push(or_none(text));
        };
        add("executor", false, place.executor().map(|own| own.to_string()));
        if let Some(refusal) = self.refusal() {
            add("where", false, Some(place.without_executor().to_string()));
            add("status", false, Some(refusal.status.to_string()));
            add("reason", false, Some(refusal.reason.clone()));
            return (format!("{}, refused", self.experiment), columns, row);
        }
        let dimensions = self.declared.map(|own| own.dimensions.as_slice()).unwrap_or_default();
        for dimension in dimensions {
            let value = place.get(&dimension.name);
            let is_number = value.is_some_and(|value| matches!(value, Coordinate::Number(_)));
            add(&dimension.name, is_number, value.map(ToString::to_string));
        }
        let Some(experiment) = self.declared else {
            return (self.experiment.to_owned(), columns, row);
        };
        let own = Row::of(experiment, self.points);
        let table = experiment.tables.first();
        // Values that stand beside each other in the table have rows of their own here.
        let columns_of = table.filter(|table| table.beside.is_empty()).map(|table| &table.columns);
        let is_value = |shown: Shown| !matches!(shown, Shown::Words | Shown::Code);
        match columns_of {
            Some(all) => {
                for column in all.iter().filter(|column| is_value(column.shown)) {
                    if experiment.dimension(&column.value).is_none() {
                        add(&column.heading, true, own.text(&column.value, column.shown));
                    }
                }
            }
            None => {
                let names = experiment.metrics.iter().flat_map(|(name, metric)| {
                    metric.unit.parts().iter().map(move |part| (format!("{name}{part}"), metric))
                });
                for (name, metric) in names {
                    add(&name, true, own.text(&name, metric.unit.shown(&name)));
                }
            }
        }
        (experiment.title.clone(), columns, row)
    }
}
