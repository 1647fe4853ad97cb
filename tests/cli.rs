//! The command: list, show, report, cases, and bad input to each.

#[path = "fixtures/command.rs"]
#[allow(dead_code, reason = "the tests of `run` use the rest of it")]
mod command;
#[path = "fixtures/records.rs"]
#[allow(dead_code, reason = "the report's tests use the rest of it")]
mod fixtures;

use command::{Folder, command, touchstone, touchstone_with};
use fixtures::{append, cell, pair, records, untimed};
use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;
use touchstone::record::{Record, Status};

const EMPTY: &str = "call_empty_function";

#[test]
fn list_has_a_line_for_each_cell_with_seven_keys() {
    let ran = touchstone(&["list", "--json"]);
    let lines = ran.lines();
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let mut names = Vec::new();
    for line in &lines {
        let line = line.as_object().unwrap();
        let mut keys: Vec<&str> = line.keys().map(String::as_str).collect();
        keys.sort_unstable();
        let expected = ["backend", "case", "guest", "reason", "status", "strategy", "threads"];
        assert_eq!(keys, expected);
        let status = line["status"].as_str().unwrap();
        assert!(["supported", "emulated", "unsupported", "skipped"].contains(&status));
        assert_eq!(line["reason"].is_null(), status == "supported", "{line:?}");
        names
            .push(["case", "guest", "backend", "strategy", "threads"].map(|k| line[k].to_string()));
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    let cores = touchstone::session::cores() as u64;
    for line in &lines {
        if line["threads"].as_u64().unwrap() > cores {
            assert!(["skipped", "unsupported"].contains(&line["status"].as_str().unwrap()));
        }
    }
}

#[test]
fn list_is_a_table_for_people_and_takes_a_filter() {
    let out = touchstone(&["list", "^call_empty_function_from_test_runtime/.*/1_threads"]).well();
    assert!(out.starts_with("case "), "{out}");
    assert!(!out.contains("dirty") && !out.contains("large_runtime"), "{out}");
    assert!(!out.contains('\x1b'), "colours without a terminal");
    let starts: Vec<_> = out.lines().take(3).map(|line| line.find("test_runtime")).collect();
    assert_eq!(starts[1], starts[2]);
    assert!(out.lines().last().unwrap().contains("supported"), "{out}");
    assert!(out.contains("test-runtime can change: memory ("), "{out}");
}

#[test]
fn a_filter_that_means_nothing_names_near_ones() {
    touchstone(&["list", "call_emty_function_from_test_runtime"]).refused(&[
        "no cell matches",
        "near:",
        "call_empty_function_from_test_runtime",
    ]);
    touchstone(&["list", "call_emty_function"]).refused(&["near:", "call_empty_function"]);
    touchstone(&["list", "--json", "(unclosed"]).refused(&["no cell matches '(unclosed'"]);
}

#[test]
fn a_reader_who_goes_away_is_no_error() {
    // `command()` has no piped children: the standard library does.
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_touchstone"))
        .args(["list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn cases_are_printed_with_their_analysis() {
    let out = touchstone(&["cases"]).well();
    assert!(out.contains(EMPTY) && out.contains("test_empty_return (substrate convention)"));
    assert!(out.contains("The guest does nothing"), "{out}");
}

#[test]
fn a_wrong_case_file_is_named_with_line_and_column() {
    let folder = Folder::new();
    let cases = folder.at("");
    let with = |content: &str| {
        folder.file("case.toml", content);
        touchstone_with(&[("TOUCHSTONE_CASES", &cases)], &["list"])
    };
    let good = "[case]\nname = \"c\"\nguests = [\"test-runtime\"]\nexport = \"test_empty_return\"\n\
        abi = \"substrate\"\nthreads = [1]\nexpect = { output = \"0x\" }\nanalysis = \"a\"\n";
    with(good).well();
    with(&format!("{good}thread = 3\n")).refused(&["case.toml", "line 9, column 1", "`thread`"]);
    with(&good.replace("[1]", "\"all\"")).refused(&["line 6, column 11"]);
    with(&good.replace("[1]", "[0]")).refused(&["threads from 1 upwards"]);
    with("").refused(&["either a [case] or a [suite]"]);
    folder.file("other.toml", good);
    with(good).refused(&["two cases", "'c'"]);
    let nowhere = PathBuf::from("/does/not/exist");
    touchstone_with(&[("TOUCHSTONE_CASES", &nowhere)], &["cases"])
        .refused(&["cannot read the cases in /does/not/exist"]);
}

#[test]
fn peers_print_a_line_of_fields_for_each_row_and_record_them() {
    let folder = Folder::new();
    let reuse = "instance_reuse".parse().unwrap();
    let engines = touchstone_runtimes::engines();
    let engine = engines.iter().find(|engine| engine.support(reuse).is_supported());
    let there = engine.map_or("none", |engine| engine.id());
    let rows = folder.at("peers.toml");
    folder.file(
        "peers.toml",
        format!(
            "[[rows]]\nexecutors = [\"{there}_instance_reuse\", \"none_pooling\"]\n\
             cases = [\"call_empty_function\"]\nagainst = \"itself\"\n"
        ),
    );
    let records = folder.at("records.jsonl");
    let places = [("TOUCHSTONE_PEERS", &*rows), ("TOUCHSTONE_RECORDS", &*records)];
    let ran = touchstone_with(&places, &["peers", "--rounds", "10"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.starts_with("[1/2] call_empty_function/test_runtime/1/"), "{}", ran.err);
    let lines: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines[0][0].starts_with("# ratio"), "{}", ran.out);
    assert_eq!(lines[1].len(), 8);
    let missing = "call_empty_function test_runtime 1 none_pooling itself - - -";
    assert_eq!(lines[3][..8].join(" "), missing);
    assert_eq!(lines[3][8], "unsupported: there is no none_pooling in this build");
    if engine.is_some() {
        assert_eq!((lines.len(), lines[2].len()), (4, 8), "{}", ran.out);
        let [ratio, low, high] = [5, 6, 7].map(|field| lines[2][field].parse::<f64>().unwrap());
        assert!(low <= ratio && ratio <= high && low > 0.0, "{}", ran.out);
        let loaded = touchstone::record::load(&records).unwrap();
        assert_eq!(loaded.records.len(), 1);
        assert!(loaded.records[0].id().starts_with("peers/"));
    }

    let before = std::fs::read(&records).unwrap();
    let ran = touchstone_with(&places, &["peers", "--no-record", "none_pooling$"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3), "{}", ran.err);
    assert_eq!(std::fs::read(&records).unwrap(), before);
    touchstone_with(&places, &["peers", "nowhere"]).refused(&["no row matches 'nowhere'"]);
    touchstone_with(&places, &["peers", "--no-record", "nowhere"]).refused(&["none_pooling"]);
    let nowhere = PathBuf::from("/does/not/exist.toml");
    touchstone_with(&[("TOUCHSTONE_PEERS", &nowhere)], &["peers"])
        .refused(&["cannot read the rows in /does/not/exist.toml"]);
}

/// A record file with a timed cell (made twice), an untimed one and a pair.
#[test]
fn repeat_counts_the_calls_of_each_cell() {
    let cell = "call_empty_function_from_test_runtime/wasmi_instance_reuse_cow/1_threads";
    let ran = touchstone(&["repeat", cell, "--calls", "1000"]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(ran.out.lines().any(|line| line.contains(cell) && line.contains(" 1000 ")));
    let refused = touchstone(&["repeat", "wasmi_recreate_instance/1_threads", "--calls", "1"]);
    assert_eq!(refused.code, 1);
    assert!(refused.out.contains("not run: "), "{}", refused.out);
}

#[test]
fn quiet_shows_every_processor() {
    let ran = touchstone(&["quiet", "--seconds", "0.2"]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let rows = ran.out.lines().filter(|line| line.contains('%')).count();
    assert_eq!(rows, std::thread::available_parallelism().unwrap().get(), "{}", ran.out);
}

fn recorded(folder: &Folder) -> (PathBuf, Vec<Record>) {
    let mut newer = cell("alpha", "pooling", EMPTY, 1, 4212.0);
    newer.provenance.recorded_at = "2031-01-01T00:00:00Z".to_owned();
    let older = cell("alpha", "pooling", EMPTY, 1, 9999.0);
    let refused = untimed(older.clone(), Status::Unsupported, "no pool");
    let mut refused_elsewhere = refused;
    refused_elsewhere.key.backend = "beta".to_owned();
    let mut all = records([older, newer, refused_elsewhere]);
    all.push(Record::Pair(Box::new(pair("null", "alpha_pooling", [0.99, 1.0, 1.01]))));
    let path = folder.at("records.jsonl");
    append(&path, &all);
    (path, all)
}

#[test]
fn show_gives_the_latest_record_of_each_cell() {
    let folder = Folder::new();
    let (path, all) = recorded(&folder);
    let records = path.to_str().unwrap();
    let ran = touchstone(&["show", "--json", "--records", records]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let lines = ran.lines();
    assert_eq!(lines.len(), 3);
    let ids: Vec<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [all[1].id(), all[2].id(), all[3].id()]);
    assert_eq!(lines[0]["median_ns"], 4212.0);
    for key in [
        "case",
        "guest",
        "backend",
        "strategy",
        "threads",
        "status",
        "reason",
        "median_ns",
        "low_ns",
        "high_ns",
        "throughput_per_s",
        "effective",
        "runtime_version",
        "guest_sha256",
        "machine",
        "tools",
        "recorded_at",
    ] {
        assert!(lines[..2].iter().all(|line| line.get(key).is_some()), "{key} is missing");
    }
    assert_eq!(lines[1]["reason"], "no pool");
    for key in ["median_ns", "low_ns", "high_ns", "throughput_per_s"] {
        assert!(lines[1][key].is_null());
    }
    assert!(lines.iter().all(|line| line.get("samples").is_none() && line.get("rounds").is_none()));
    let ran = touchstone(&["show", "--json", "--samples", "--records", records]);
    let lines = ran.lines();
    assert_eq!(lines[0]["samples"], serde_json::json!([[10, 10]]));
    assert!(lines[1]["samples"].is_array() && lines[2]["rounds"].is_array());
}

#[test]
fn show_is_a_table_with_units_for_people() {
    let folder = Folder::new();
    let (path, _) = recorded(&folder);
    let out = touchstone_with(&[("TOUCHSTONE_RECORDS", &path)], &["show"]).well();
    assert!(out.contains("call_empty_function_from_test_runtime\n"), "{out}");
    assert!(out.contains("4.212 µs [4.170 – 4.254]"), "{out}");
    assert!(out.contains("unsupported") && out.contains("no pool"), "{out}");
    assert!(out.contains("1.000 [0.990 – 1.010]"), "{out}");
    let out = touchstone_with(&[("TOUCHSTONE_RECORDS", &path)], &["show", "^null/"]).well();
    assert!(out.starts_with("pairs\n") && !out.contains("beta"), "{out}");
}

#[test]
fn show_names_what_it_cannot_use() {
    let folder = Folder::new();
    let (path, all) = recorded(&folder);
    let records = path.to_str().unwrap();
    touchstone(&["show", "alfa_pooling", "--records", records]).refused(&[
        "no record in",
        "matches 'alfa_pooling'",
        "near:",
        "alpha_pooling",
    ]);
    touchstone(&["show", "--records", "/does/not/exist"]).refused(&["make bench"]);
    let empty = folder.file("empty.jsonl", "");
    touchstone(&["show", "--records", &empty]).refused(&["no usable record", "make bench"]);

    let mut content = std::fs::read(&path).unwrap();
    content.extend(b"{\"schema\":1,\"kind\":\"ce\n");
    std::fs::write(&path, &content).unwrap();
    append(&path, &all[1..2]);
    let ran = touchstone(&["show", "--records", records]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with(&format!("warning: {records} line 5 is skipped: ")), "{}", ran.err);
    assert!(ran.out.contains("4.212 µs"));
}

#[test]
fn report_writes_checks_and_names_its_files() {
    let folder = Folder::new();
    let (path, all) = recorded(&folder);
    let page = folder.at("out/BENCHMARK.md");
    let arguments = |more: &[&'static str]| {
        let places = ["--records", path.to_str().unwrap(), "--page", page.to_str().unwrap()];
        touchstone(&[&["report"], &places[..], more].concat())
    };
    arguments(&["--check"]).found(&["BENCHMARK.md"]);
    assert!(!page.exists(), "a check writes nothing");

    let out = arguments(&[]).well();
    assert!(out.contains(&format!("wrote    {}", page.display())), "{out}");
    assert!(out.contains("1 made again later"), "{out}");
    assert!(page.with_file_name("image").is_dir(), "{out}");
    assert_eq!(arguments(&["--check"]).well(), "the report is what the records say\n");

    // A damaged line is named, and a page changed by hand is found.
    let mut content = std::fs::read(&path).unwrap();
    content.extend(b"nonsense\n");
    std::fs::write(&path, &content).unwrap();
    append(&path, &all[1..2]);
    let ran = arguments(&[]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("line 5 is skipped"), "{}", ran.err);
    let written = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, written.replace("4.212", "1.212")).unwrap();
    arguments(&["--check"]).found(&["BENCHMARK.md"]);
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_old_one_whole() {
    let folder = Folder::new();
    let (path, _) = recorded(&folder);
    let (records, page) = (path.to_str().unwrap(), folder.at("BENCHMARK.md"));
    let report = |more: &[&str]| {
        let places = ["report", "--records", records, "--page", page.to_str().unwrap()];
        touchstone(&[&places[..], more].concat())
    };
    report(&[]).well();
    let before = std::fs::read(&page).unwrap();
    append(&path, &records_of_a_faster_run());
    // A file stands where the folder of the charts would be.
    let in_the_way = folder.file("in_the_way", "");
    report(&["--images", &format!("{in_the_way}/image")]).refused(&["cannot write", "as it was"]);
    report(&["--images", &in_the_way]).refused(&["cannot write"]);
    assert_eq!(std::fs::read(&page).unwrap(), before);
    report(&[]).well();
    assert_ne!(std::fs::read(&page).unwrap(), before);
    touchstone(&["report", "--records", "/does/not/exist"]).refused(&["make bench"]);
}

fn records_of_a_faster_run() -> Vec<Record> {
    let mut faster = cell("alpha", "pooling", EMPTY, 1, 1000.0);
    faster.provenance.recorded_at = "2032-01-01T00:00:00Z".to_owned();
    records([faster])
}

#[test]
fn wrong_usage_ends_with_two_and_help_with_zero() {
    for arguments in [&["lst"][..], &["list", "--jsn"], &["show", "--samples"], &["run"], &[]] {
        let output = command().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    for name in ["list", "show", "report", "run", "peers", "swap", "cases"] {
        let out = touchstone(&[name, "--help"]).well();
        assert!(out.contains("Usage: touchstone"), "{out}");
        assert!(touchstone(&["--help"]).well().contains(name));
    }
    assert_eq!(touchstone(&["--version"]).well().trim(), "touchstone 0.1.0");
}
