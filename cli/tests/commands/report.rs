//! `show` and `report`: pages and tables from records, and bad input to both.

use crate::command::{Folder, touchstone};
use crate::fixtures::{Run, cell, null, refusal};
use std::path::PathBuf;
use touchstone::record::Status;

const EMPTY: &str = "call_empty_function";

/// A record file with an older run and a newer one: a cell, a refusal and a comparison.
pub(crate) fn recorded_in(path: &std::path::Path) {
    Run::of_cells([cell("alpha", "pooling", EMPTY, 1, 9999.0)]).append(path);
    let mut newer = Run::of_cells([cell("alpha", "pooling", EMPTY, 1, 4212.0)])
        .and([refusal(("beta", "pooling"), Some(EMPTY), Status::Unsupported, "no pool")])
        .and(null(EMPTY, ("alpha", "pooling"), [0.99, 1.0, 1.01]));
    newer.header.started_at = "2031-01-01T00:00:00Z".to_owned();
    newer.append(path);
}

/// Charts that show what the made-up records have.
const CHARTS: [&str; 2] = ["--layout", concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures")];

fn recorded(folder: &Folder) -> PathBuf {
    let path = folder.at("records.jsonl");
    recorded_in(&path);
    path
}

#[test]
fn show_gives_what_the_newest_run_measured() {
    let folder = Folder::new();
    let path = recorded(&folder);
    let records = path.to_str().unwrap();
    let ran = touchstone(&["show", "--json", "--records", records]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let lines = ran.lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["cell", "comparison", "refusal"]);
    assert_eq!(lines[0]["id"], "call_empty_function_from_test_runtime/alpha_pooling/1_threads");
    assert_eq!(lines[0]["call"]["median"], 4212.0);
    for key in ["case", "guest", "engine", "strategy", "threads", "call", "throughput_per_s"] {
        assert!(lines[0].get(key).is_some(), "{key} is missing");
    }
    // What was not measured is null, and what was has its interval and its mark.
    assert!(lines[0]["warm_call"].is_null());
    let call = lines[0]["call"].as_object().unwrap();
    assert!(["low", "high", "marked"].iter().all(|key| !call[*key].is_null()), "{call:?}");
    assert_eq!(
        (&lines[1]["verdict"], &lines[1]["ratio"]["median"]),
        (&"equivalent".into(), &1.0.into())
    );
    assert_eq!(
        (&lines[2]["status"], &lines[2]["reason"]),
        (&"unsupported".into(), &"no pool".into())
    );
    assert!(lines.iter().all(|line| line.get("processes").is_none()));
    let ran = touchstone(&["show", "--json", "--samples", "--records", records]);
    let lines = ran.lines();
    assert_eq!(lines[0]["processes"].as_array().unwrap().len(), 3);
    assert!(lines[1]["processes"][0]["rounds"].is_array());
}

#[test]
fn show_is_a_table_with_units_for_people() {
    let folder = Folder::new();
    let path = recorded(&folder);
    let records = ["--records", path.to_str().unwrap()];
    let out = touchstone(&[&["show"], &records[..]].concat()).well();
    assert!(out.contains("call_empty_function_from_test_runtime\n"), "{out}");
    assert!(out.contains("4.212 µs [4.170 – 4.254]"), "{out}");
    assert!(out.contains("1.000 × [0.990 – 1.010]") && out.contains("1 refusals"), "{out}");
    assert!(!out.contains("9.999"), "{out}");
    let out = touchstone(&[&["show", "^null/"], &records[..]].concat()).well();
    assert!(out.starts_with("comparisons\n") && !out.contains("beta"), "{out}");
}

#[test]
fn show_names_what_it_cannot_use() {
    let folder = Folder::new();
    let path = recorded(&folder);
    let records = path.to_str().unwrap();
    touchstone(&["show", "alfa_pooling", "--records", records]).refused(&[
        "nothing in",
        "matches 'alfa_pooling'",
        "near:",
        "alpha_pooling",
    ]);
    touchstone(&["show", "--records", "/does/not/exist"]).refused(&["touchstone bench"]);
    let empty = folder.file("empty.jsonl", "");
    touchstone(&["show", "--records", &empty]).refused(&["holds no run", "touchstone bench"]);

    let mut content = std::fs::read(&path).unwrap();
    let next = content.iter().filter(|byte| **byte == b'\n').count() + 1;
    content.extend(b"{\"kind\":\"observ\n");
    std::fs::write(&path, &content).unwrap();
    let ran = touchstone(&["show", "--records", records]);
    assert_eq!(ran.code, 0);
    let warning = format!("warning: {records} line {next} is skipped: ");
    assert!(ran.err.contains(&warning) && ran.err.contains("has no end line"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
    assert!(ran.out.contains("4.212 µs"));
}

#[test]
fn report_writes_checks_and_names_its_files() {
    let folder = Folder::new();
    let path = recorded(&folder);
    let page = folder.at("out/BENCHMARK.md");
    std::fs::create_dir(folder.at("out")).unwrap();
    let arguments = |more: &[&'static str]| {
        let places = ["--records", path.to_str().unwrap(), "--page", page.to_str().unwrap()];
        touchstone(&[&["report", "--draft"], &CHARTS, &places[..], more].concat())
    };
    arguments(&["--check"]).found(&["BENCHMARK.md"]);
    assert!(!page.exists(), "a check writes nothing");

    let out = arguments(&[]).well();
    assert!(out.contains(&format!("wrote    {}", page.display())), "{out}");
    assert!(out.contains("1 older runs in"), "{out}");
    assert!(page.with_file_name("image").is_dir(), "{out}");
    assert_eq!(arguments(&["--check"]).well(), "the report matches the records\n");

    // A damaged line is named, and a page changed by hand is found.
    let mut content = std::fs::read(&path).unwrap();
    let next = content.iter().filter(|byte| **byte == b'\n').count() + 1;
    content.extend(b"nonsense\n");
    std::fs::write(&path, &content).unwrap();
    let ran = arguments(&[]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains(&format!("line {next} is skipped")), "{}", ran.err);
    let written = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, format!("{written}by hand\n")).unwrap();
    arguments(&["--check"]).found(&["BENCHMARK.md"]);
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_old_one_whole() {
    let folder = Folder::new();
    let path = recorded(&folder);
    let (records, page) = (path.to_str().unwrap(), folder.at("BENCHMARK.md"));
    let report = |more: &[&str]| {
        let places = ["--records", records, "--page", page.to_str().unwrap()];
        touchstone(&[&["report", "--draft"], &CHARTS, &places[..], more].concat())
    };
    report(&[]).well();
    let before = std::fs::read(&page).unwrap();
    Run::of_cells([cell("alpha", "pooling", EMPTY, 1, 1000.0)]).append(&path);
    // A file stands where the folder of the charts would be.
    let in_the_way = folder.file("in_the_way", "");
    report(&["--images", &format!("{in_the_way}/image")]).refused(&["cannot write", "as it was"]);
    report(&["--images", &in_the_way]).refused(&["cannot write"]);
    assert_eq!(std::fs::read(&page).unwrap(), before);
    report(&[]).well();
    assert_ne!(std::fs::read(&page).unwrap(), before);
    touchstone(&["report", "--records", "/does/not/exist"]).refused(&["touchstone bench"]);
}

#[test]
fn a_report_makes_no_folders_outside_what_exists() {
    let folder = Folder::new();
    let path = recorded(&folder);
    let (nowhere, page) = (folder.at("nope/deeper"), folder.at("BENCHMARK.md"));
    for option in ["--page", "--images", "--pages"] {
        let mut places = vec!["--records", path.to_str().unwrap()];
        if option != "--page" {
            places.extend(["--page", page.to_str().unwrap()]);
        }
        places.extend([option, nowhere.to_str().unwrap()]);
        let refused = touchstone(&[&["report", "--draft"], &CHARTS, &places[..]].concat());
        refused.refused(&["there is no folder", "make it first"]);
        assert!(!folder.at("nope").exists() && !page.exists(), "{option}");
    }
}
