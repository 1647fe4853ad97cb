//! Flat rows of a run for other programs: one for each metric or for each sample.

use super::compare::{MARGIN, judge};
use super::escape;
use super::{Book, CellKey, Estimate, Match, Metric, Unit};
use serde_json::{Map, Value, json};

/// Columns of every row. `docs/data.md` describes them.
const SHARED: &str = "run started_at commit machine cpu cores kernel kind name engine version \
                      strategy case guest threads oversubscribed purpose baseline metric unit";
/// Further columns of a row with an estimate.
const OF_ESTIMATES: &str = "median low high marked processes";
const OF_COMPARISONS: [(&str, &str); 3] =
    [("ratio", "times"), ("subject_call", "ns"), ("baseline_call", "ns")];
/// Further columns of a row with a sample.
const OF_SAMPLES: &str = "process sample calls value clean";

/// The columns of the rows, in their order.
pub fn columns(with_samples: bool) -> Vec<&'static str> {
    let own = if with_samples { OF_SAMPLES } else { OF_ESTIMATES };
    SHARED.split(' ').chain(own.split(' ')).collect()
}

/// The values of a row by column. A value that the row lacks is null.
pub type Row = Map<String, Value>;

/// The rows of a run, one for each estimate.
pub fn rows(book: &Book) -> Vec<Row> {
    let mut rows = Vec::new();
    for (cell, processes) in &book.cells {
        let mut add = |metric: &str, unit: &str, estimate: Option<Estimate>| {
            let Some(own) = estimate else { return };
            rows.push(row(of_cell(book, cell, metric, unit), estimated(&own, processes.len())));
        };
        for metric in Metric::ALL {
            add(&key(*metric), unit(*metric), book.estimate(cell, *metric));
        }
        add("throughput", "1/s", book.throughput(cell));
    }
    for (of, processes) in &book.comparisons {
        let Some(judged) = judge(processes, MARGIN) else { continue };
        let values = [judged.ratio, judged.subject, judged.baseline];
        for ((metric, unit), own) in OF_COMPARISONS.into_iter().zip(values) {
            let shared = of_comparison(book, of, metric, unit);
            rows.push(row(shared, estimated(&own, processes.len())));
        }
    }
    rows
}

/// The rows of a run, one for each sample. Those of a comparison are its rounds.
pub fn samples(book: &Book) -> Vec<Row> {
    let mut rows = Vec::new();
    for (cell, processes) in &book.cells {
        for seen in processes {
            for (metric, samples) in &seen.metrics {
                let shared = of_cell(book, cell, &key(*metric), unit(*metric));
                rows.extend(samples.0.iter().enumerate().map(|(place, sample)| {
                    let own = json!({
                        "process": seen.process,
                        "sample": place,
                        "calls": sample.calls,
                        "value": sample.per_call(),
                        "clean": sample.clean,
                    });
                    row(shared.clone(), own)
                }));
            }
        }
    }
    for (of, processes) in &book.comparisons {
        for own in processes {
            for (place, ((subject, baseline), clean)) in own.timed().into_iter().enumerate() {
                let values = [subject / baseline, subject, baseline];
                for ((metric, unit), value) in OF_COMPARISONS.into_iter().zip(values) {
                    let own = json!({
                        "process": own.process,
                        "sample": place,
                        "value": value,
                        "clean": clean,
                    });
                    rows.push(row(of_comparison(book, of, metric, unit), own));
                }
            }
        }
    }
    rows
}

fn row(mut shared: Row, own: Value) -> Row {
    if let Value::Object(own) = own {
        shared.extend(own);
    }
    shared
}

fn estimated(own: &Estimate, processes: usize) -> Value {
    json!({
        "median": own.median,
        "low": own.interval.map(|(low, _)| low),
        "high": own.interval.map(|(_, high)| high),
        "marked": own.marked,
        "processes": processes,
    })
}

fn of_cell(book: &Book, cell: &CellKey, metric: &str, unit: &str) -> Row {
    let name = book.name(cell);
    shared(book, cell, json!({ "kind": "cell", "name": name, "metric": metric, "unit": unit }))
}

fn of_comparison(book: &Book, of: &Match, metric: &str, unit: &str) -> Row {
    let baseline = match of.baseline.threads {
        same if same == of.subject.threads => of.baseline.to_string(),
        other => format!("{} on {other} threads", of.baseline),
    };
    let own = json!({
        "kind": "comparison",
        "name": of.name(),
        "purpose": of.purpose.to_string(),
        "baseline": baseline,
        "metric": metric,
        "unit": unit,
    });
    shared(book, &of.cell(&of.subject), own)
}

fn shared(book: &Book, cell: &CellKey, own: Value) -> Row {
    let header = &book.header;
    let machine = &header.machine;
    let facts = json!({
        "run": header.run,
        "started_at": header.started_at,
        "commit": header.tools.commit,
        "machine": machine.identity(),
        "cpu": machine.cpu,
        "cores": machine.cores,
        "kernel": machine.kernel,
        "engine": cell.engine,
        "version": header.engines.get(&cell.engine).map(|engine| &engine.version),
        "strategy": cell.strategy.to_string(),
        "case": cell.case,
        "guest": cell.guest,
        "threads": cell.threads,
        "oversubscribed": book.is_crowded(cell),
    });
    row(row(Row::new(), facts), own)
}

/// The name of a metric in record files.
fn key(metric: Metric) -> String {
    let key = serde_json::to_value(metric).unwrap_or_default();
    key.as_str().unwrap_or_default().to_owned()
}

fn unit(metric: Metric) -> &'static str {
    match metric.unit() {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}

/// A line of comma-separated values (RFC 4180, lines end with a line feed). A text that a
/// spreadsheet would compute has an apostrophe before it.
pub fn csv<'a>(fields: impl IntoIterator<Item = &'a Value>) -> String {
    let fields: Vec<String> = fields.into_iter().map(field).collect();
    fields.join(",") + "\n"
}

fn field(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => escape::tsv(text),
        other => other.to_string(),
    };
    match text.contains(['"', ',', '\n', '\r', ' ']) || text.is_empty() {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// The rows as comma-separated values below a line with the names of the columns.
pub fn as_csv(rows: &[Row], columns: &[&str]) -> String {
    let line = |row: &Row| {
        let fields = columns.iter().map(|column| row.get(*column).unwrap_or(&Value::Null));
        csv(fields)
    };
    rows.iter().map(line).collect()
}

/// The rows as JSON Lines: objects with all columns.
pub fn as_jsonl(rows: &[Row], columns: &[&str]) -> String {
    let line = |row: &Row| {
        let value = |column: &&str| row.get(*column).cloned().unwrap_or_default();
        let row: Row = columns.iter().map(|column| ((*column).to_owned(), value(column))).collect();
        format!("{}\n", Value::Object(row))
    };
    rows.iter().map(line).collect()
}

/// The times of calls and the ratios of a run in the JSON format of Bencher's adapter `json`.
pub fn bencher(book: &Book) -> Value {
    let measured = headline(book).map(|(name, row)| {
        let measure = if row["metric"] == "ratio" { "ratio" } else { "latency" };
        let mut own = json!({ "value": row["median"] });
        for (key, column) in [("lower_value", "low"), ("upper_value", "high")] {
            if !row[column].is_null() {
                own[key] = row[column].clone();
            }
        }
        (name, json!({ measure: own }))
    });
    Value::Object(measured.collect())
}

/// The same for github-action-benchmark (`customSmallerIsBetter`).
pub fn github(book: &Book) -> Value {
    let measured = headline(book).map(|(name, row)| {
        let mark = if row["marked"] == true { ", too few clean samples" } else { "" };
        let [cpu, commit] =
            ["cpu", "commit"].map(|column| row[column].as_str().unwrap_or_default());
        let extra = format!("{cpu}, commit {commit}{mark}");
        let (unit, value) = (&row["unit"], &row["median"]);
        let mut own = json!({ "name": name, "unit": unit, "value": value, "extra": extra });
        if let (Some(low), Some(high)) = (row["low"].as_f64(), row["high"].as_f64()) {
            own["range"] = format!("{low:.4} – {high:.4}").into();
        }
        own
    });
    Value::Array(measured.collect())
}

/// The rows for programs that watch one number per name.
fn headline(book: &Book) -> impl Iterator<Item = (String, Row)> {
    let rows = rows(book).into_iter();
    rows.filter(|row| row["metric"] == "call" || row["metric"] == "ratio")
        .map(|row| (row["name"].as_str().unwrap_or_default().to_owned(), row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, Line, Observations, Sample, Samples};
    use std::collections::BTreeMap;
    use touchstone_executor::Strategy;

    fn book(case: &str) -> Book {
        let cell = CellKey {
            case: case.to_owned(),
            guest: "guest".to_owned(),
            engine: "engine".to_owned(),
            strategy: Strategy::INTERPRETED,
            threads: 2,
        };
        let seen = |process: u32| {
            let sample = |n: u32| Sample { calls: 10, ..Sample::single(f64::from(1000 + n)) };
            let samples = Samples((0..6).map(sample).collect());
            let metrics = BTreeMap::from([(Metric::Call, samples)]);
            Line::Observations(Observations { cell: cell.clone(), process, probe_ns: 0, metrics })
        };
        let mut header = Header::default();
        header.machine.cores = 1;
        Book::of(header, (0..3).map(seen).collect())
    }

    #[test]
    fn each_estimate_and_each_sample_is_a_row() {
        let book = book("case");
        let all = rows(&book);
        let [call, throughput] = &all[..] else { panic!("{all:?}") };
        assert_eq!((&call["metric"], &call["unit"]), (&json!("call"), &json!("ns")));
        assert_eq!(
            (&call["median"], &call["low"], &call["high"]),
            (&json!(100.25), &json!(100.25), &json!(100.25))
        );
        assert_eq!((&call["threads"], &call["oversubscribed"]), (&json!(2), &json!(true)));
        assert_eq!((&call["processes"], &call["marked"]), (&json!(3), &json!(false)));
        assert_eq!(throughput["metric"], "throughput");
        let samples = samples(&book);
        assert_eq!(samples.len(), 18);
        assert_eq!((&samples[7]["process"], &samples[7]["sample"]), (&json!(1), &json!(1)));
        assert_eq!((&samples[7]["value"], &samples[7]["calls"]), (&json!(100.1), &json!(10)));
        for (rows, with_samples) in [(&all, false), (&samples, true)] {
            let columns = columns(with_samples);
            let known = |row: &Row| row.keys().all(|key| columns.contains(&key.as_str()));
            assert!(rows.iter().all(known));
            for line in as_jsonl(rows, &columns).lines() {
                let row: Row = serde_json::from_str(line).unwrap();
                assert_eq!(row.len(), columns.len());
            }
        }
    }

    #[test]
    fn texts_of_csv_are_one_field_and_no_formula() {
        for (text, written) in [
            ("plain_name", "plain_name"),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("=1+2", "'=1+2"),
            ("@a,\"", "\"'@a,\"\"\""),
            ("", "\"\""),
            ("a\r\nb", "\"a  b\""),
        ] {
            assert_eq!(field(&json!(text)), written, "{text:?}");
        }
        assert_eq!(csv(&[json!(null), json!(1.5), json!(true), json!("x")]), ",1.5,true,x\n");
    }

    /// Read back by the rules of RFC 4180, a hostile name is what it was.
    #[test]
    fn a_hostile_name_changes_no_other_field() {
        let name = "a\",\"b\",,';DROP TABLE x;--<script>";
        let book = book(name);
        let columns = columns(false);
        let text = as_csv(&rows(&book), &columns);
        let line = text.lines().next().unwrap();
        let (mut fields, mut quoted) = (vec![String::new()], false);
        let mut signs = line.chars().peekable();
        while let Some(sign) = signs.next() {
            match sign {
                '"' if quoted && signs.peek() == Some(&'"') => {
                    signs.next();
                    fields.last_mut().unwrap().push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                sign => fields.last_mut().unwrap().push(sign),
            }
        }
        assert_eq!(fields.len(), columns.len());
        let case = columns.iter().position(|column| *column == "case").unwrap();
        assert_eq!(fields[case], name);
        assert!(bencher(&book).as_object().unwrap().keys().all(|key| key.starts_with(name)));
    }

    #[test]
    fn other_programs_get_their_own_forms() {
        let book = book("case");
        let name = "case_from_guest/engine_interpreted/2_threads";
        let latency = json!({ "value": 100.25, "lower_value": 100.25, "upper_value": 100.25 });
        assert_eq!(bencher(&book), json!({ name: { "latency": latency } }));
        let github = github(&book);
        assert_eq!(github[0]["range"], "100.2500 – 100.2500");
        assert_eq!((&github[0]["name"], &github[0]["unit"]), (&json!(name), &json!("ns")));
    }
}
