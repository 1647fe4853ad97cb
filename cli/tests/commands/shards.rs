//! `bench --shard`, `merge` and `export`.

use crate::command::{Folder, command, touchstone};
use crate::fixtures::{Run, cell, null};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use touchstone::record::{self, Line};

/// A few cells of two cases, measured shortly.
const CELLS: &str =
    "^call_empty_function_from_(test|large)_runtime/wasmi_(interpreted|instance_reuse)/";

fn bench(more: &[&str]) -> assert_cmd::Command {
    let mut bench = command();
    bench.args(["bench", CELLS, "--engines", "wasmi", "--threads", "1", "--budget", "0.1"]);
    bench.args(more);
    bench
}

fn measure(shard: &str, path: &Path) -> std::process::Output {
    bench(&["--shard", shard, "--records", path.to_str().unwrap()]).output().unwrap()
}

fn err(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn shards_are_measured_once_and_merged() {
    let folder = Folder::new();
    let shards = ["1/2", "2/2"];
    let path = |shard: &str| folder.at(&format!("part-{}.jsonl", &shard[..1]));
    // One in a file, which a killed run had begun; and one over a pipe.
    let first = measure(shards[0], &path(shards[0]));
    assert!(first.status.success(), "{}", err(&first));
    let whole = std::fs::read(path(shards[0])).unwrap();
    let part = path(shards[0]).with_added_extension("part");
    assert!(!part.exists());
    let again = measure(shards[0], &path(shards[0]));
    assert!(
        again.status.success() && err(&again).contains("is complete; nothing was measured"),
        "{}",
        err(&again)
    );
    assert_eq!(std::fs::read(path(shards[0])).unwrap(), whole);

    // Without its end line and half of the line above.
    let half = &whole[..whole.len() - 250];
    std::fs::rename(path(shards[0]), folder.at("kept")).unwrap();
    std::fs::write(&part, half).unwrap();
    let continued = measure(shards[0], &path(shards[0]));
    assert!(continued.status.success(), "{}", err(&continued));
    assert!(err(&continued).contains("going on with the run"), "{}", err(&continued));
    // How many processes a cell gets beyond the first depends on interference.
    let measured = |path: &Path| {
        let loaded = record::load(path).unwrap();
        assert!(loaded.is_whole(0) && loaded.skipped.is_empty());
        let seen = loaded.runs[0].1.iter().filter_map(|line| match line {
            Line::Observations(seen) => Some((seen.cell.clone(), seen.process)),
            _ => None,
        });
        let seen: Vec<_> = seen.collect();
        let once: BTreeSet<_> = seen.iter().cloned().collect();
        assert_eq!(once.len(), seen.len(), "a process is there twice");
        let planned = loaded.runs[0].0.sampling.processes;
        let (cells, first): (BTreeSet<_>, Vec<_>) =
            once.into_iter().filter(|(_, process)| *process < planned).unzip();
        (cells, first)
    };
    assert_eq!(measured(&path(shards[0])), measured(&folder.at("kept")));

    let folder_name = folder.at("").display().to_string();
    let output = folder.at("merged/records.jsonl");
    let merge = || touchstone(&["merge", &folder_name, "-o", output.to_str().unwrap()]);
    merge().refused(&["of 2 shards, 2 is missing"]);
    assert!(!output.exists());

    let printed = bench(&["--shard", shards[1], "--records", "-"]).output().unwrap();
    assert!(printed.status.success(), "{}", err(&printed));
    std::fs::write(path(shards[1]), &printed.stdout).unwrap();
    let said = merge().well();
    assert!(said.starts_with("merged 2 shards, 4 cells and "), "{said}");
    let loaded = record::load(&output).unwrap();
    assert!(loaded.is_whole(0));
    let shown = touchstone(&["show", "--records", output.to_str().unwrap()]).well();
    assert!(shown.contains("test_runtime") && shown.contains("large_runtime"), "{shown}");

    // A reader who has seen enough is no failure.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut printing = std::process::Command::new(command().get_program());
    printing.args(["merge", &folder_name, "-o", "-"]).stdout(writer);
    let printed = printing.stderr(std::process::Stdio::piped()).output().unwrap();
    assert!(printed.status.success() && printed.stderr.is_empty(), "{}", err(&printed));

    // A file of something else is neither shard nor in the way.
    folder.file("part-2.jsonl", "");
    merge().refused(&["part-2.jsonl", "not complete"]);
    let other = measure(shards[1], &path(shards[1]));
    assert_eq!(other.status.code(), Some(2));
    assert!(err(&other).contains("remove it, or name another file"), "{}", err(&other));
}

#[test]
fn shards_that_cannot_be_are_refused() {
    for (more, says) in [
        (&["--shard", "3/2", "--records", "x"][..], "'3/2' is no shard"),
        (&["--shard", "1/2"], "--records"),
        (&["--records", "-", "--resume"], "'-' is none"),
        (&["--records", "-", "--report"], "--report needs a record file"),
    ] {
        let output = bench(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(says), "{}", err(&output));
    }
    let folder = Folder::new();
    let (empty, output) = (folder.at("").display().to_string(), folder.at("out"));
    touchstone(&["merge", &empty, "-o", output.to_str().unwrap()])
        .refused(&["no record file (*.jsonl)"]);
}

#[test]
fn records_are_exported_in_each_format() {
    let folder = Folder::new();
    let file = folder.at("records.jsonl");
    let name = "a,\"b\"";
    let cells =
        [cell("alpha", "pooling", name, 1, 100.0), cell("alpha", "pooling", name, 4, 250.0)];
    Run::of_cells(cells).and(null(name, ("alpha", "pooling"), [0.9, 1.0, 1.1])).append(&file);
    let file = file.to_str().unwrap();
    let csv = touchstone(&["export", file, "--format", "csv"]).well();
    assert!(csv.starts_with("run,started_at,commit,machine,cpu,cores,kernel,kind,name,"), "{csv}");
    assert!(csv.contains("\"a,\"\"b\"\"\""), "{csv}");
    let json = touchstone(&["export", file, "--format", "jsonl"]);
    let rows = json.lines();
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let of = |metric: &str, threads: u64| {
        let is = |row: &&Value| row["metric"] == metric && row["threads"] == threads;
        rows.iter().find(is).unwrap().clone()
    };
    assert_eq!(
        (&of("call", 1)["oversubscribed"], &of("call", 4)["oversubscribed"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    assert_eq!(of("ratio", 1)["purpose"], "null");
    assert_eq!(of("call", 1)["case"], name);
    let samples = touchstone(&["export", file, "--format", "jsonl", "--samples"]).lines();
    assert!(samples.len() > rows.len() && samples[0].get("median").is_none());
    let bencher: Value =
        serde_json::from_str(&touchstone(&["export", file, "--format", "bencher"]).well()).unwrap();
    assert_eq!(bencher.as_object().unwrap().len(), 3);
    let github: Value =
        serde_json::from_str(&touchstone(&["export", file, "--format", "github"]).well()).unwrap();
    assert_eq!(github.as_array().unwrap().len(), 3);
    touchstone(&["export", file, "--format", "github", "--samples"]).refused(&["csv and jsonl"]);
    touchstone(&["export", "/nowhere", "--format", "csv"]).refused(&["cannot read records"]);
    let findings = record::default_path(record::CHECKS);
    let findings = findings.to_str().unwrap();
    touchstone(&["export", findings, "--format", "csv"]).refused(&["no cells or comparisons"]);
}
