//! The queries of docs/data.md, run by DuckDB on the stored records. DuckDB comes from PyPI into
//! `target/duckdb`. The test is left out, with a message, where it cannot be had, unless
//! `TOUCHSTONE_REQUIRE_DUCKDB` is set.

#[path = "../../tests/fixtures/command.rs"]
mod command;

use command::{Folder, touchstone};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::files::project;
use touchstone::record::{BENCH, PEERS, default_path};

/// The version whose dialect the queries are in.
const DUCKDB: &str = "duckdb==2.0.*";

/// Runs the statements of `queries.json` one after the other, and prints the rows of each.
const PROGRAM: &str = r#"
import duckdb, json, sys
rows = []
for query in json.load(open("queries.json")):
    found = duckdb.execute(query)
    names = [column[0] for column in found.description or []]
    rows.append([dict(zip(names, row)) for row in found.fetchall()])
json.dump(rows, sys.stdout, default=str)
"#;

/// The folder of DuckDB's module; `None` if it cannot be had.
fn duckdb() -> Option<PathBuf> {
    let folder = project("target/duckdb");
    if !folder.join("duckdb").exists() {
        let python = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"])
            .args(["--disable-pip-version-check", "--target"])
            .arg(&folder)
            .arg(DUCKDB)
            .output();
        let fetched = python.is_ok_and(|python| python.status.success());
        if !fetched {
            let is_needed = std::env::var_os("TOUCHSTONE_REQUIRE_DUCKDB").is_some();
            assert!(!is_needed, "{DUCKDB} cannot be fetched from PyPI with python3 and pip");
            return None;
        }
    }
    Some(folder)
}

/// The statements of the document, each with the heading above it.
fn queries(document: &str) -> Vec<(String, String)> {
    let (mut heading, mut found) = (String::new(), Vec::new());
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix('#') {
            text.trim_start_matches('#').trim().clone_into(&mut heading);
        }
        if line == "```sql" {
            let query: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((heading.clone(), query.join("\n")));
        }
    }
    found
}

fn run(folder: &Folder, duckdb: &Path, queries: &[String]) -> Vec<Vec<Value>> {
    folder.file("queries.json", serde_json::to_vec(queries).unwrap());
    let ran = Command::new("python3")
        .args(["-c", PROGRAM])
        .env("PYTHONPATH", duckdb)
        .current_dir(folder.at(""))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// The numbers before "times slower" in the findings.
fn headlines() -> Vec<f64> {
    let readme = std::fs::read_to_string(project("README.md")).unwrap();
    let findings =
        readme.lines().filter(|line| line.starts_with(|sign: char| sign.is_ascii_digit()));
    let number = |line: &str| {
        let (before, _) = line.split_once(" times slower")?;
        before.rsplit(' ').next()?.parse().ok()
    };
    findings.filter_map(number).collect()
}

#[test]
fn the_queries_of_the_document_run_on_the_stored_records() {
    let Some(duckdb) = duckdb() else {
        println!("left out: {DUCKDB} cannot be fetched");
        return;
    };
    let document = std::fs::read_to_string(project("docs/data.md")).unwrap();
    let queries = queries(&document);
    assert_eq!(queries.len(), 11, "a view and ten questions");
    let folder = Folder::new();
    let [bench, peers] = [BENCH, PEERS].map(|name| default_path(name).display().to_string());
    folder.file("measured.csv", touchstone(&["export", "--format", "csv", &bench, &peers]).well());
    // The records of an older commit: half of the cells took twice as long.
    let older = "COPY (SELECT * REPLACE ('0000' AS \"commit\", median * 2 AS median, low * 2 AS low, \
                 high * 2 AS high) FROM measured WHERE length(name) % 2 = 0) TO 'old.csv'";
    let mut all = vec![queries[0].1.clone(), older.to_owned()];
    all.extend(queries[1..].iter().map(|(_, query)| query.clone()));
    all.push("COPY measured TO 'measured.parquet'".to_owned());
    all.push(
        "SELECT count(*) AS n FROM 'measured.parquet' EXCEPT SELECT count(*) FROM measured"
            .to_owned(),
    );
    let rows = run(&folder, &duckdb, &all);
    let answers = &rows[2..2 + 10];
    for ((heading, _), answer) in queries[1..].iter().zip(answers) {
        assert!(!answer.is_empty(), "{heading}");
        println!("{heading} {}", answer[0]);
    }
    let number = |row: &Value, column: &str| row[column].as_f64().unwrap_or(f64::NAN);
    let found: Vec<f64> = answers[0].iter().map(|row| number(row, "times_slower")).collect();
    let published = headlines();
    assert_eq!((found.len(), published.len()), (3, 3), "{found:?} {published:?}");
    for own in published {
        let is_near = |found: &&f64| (**found / own - 1.0).abs() < 0.005;
        assert!(found.iter().any(|found| is_near(&found)), "{own} times is not in {found:?}");
    }
    assert!(answers[2].iter().all(|row| (number(row, "times_slower") - 0.5).abs() < 1e-9));
    assert!(rows.last().unwrap().is_empty(), "the rows of the Parquet file differ");
    // Every column is described.
    let csv = std::fs::read_to_string(folder.at("measured.csv")).unwrap();
    for column in csv.lines().next().unwrap().split(',') {
        assert!(document.contains(&format!("`{column}`")), "{column}");
    }
}
