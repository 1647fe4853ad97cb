//! Survival: a few rounds of `touchstone-checks survival`, and the command itself.

mod command;

use command::{checks, texts};
use std::process::Command;
use touchstone::record::{Check, Finding, Line, RecordFile, Sampling, Sink, load};
use touchstone_checks::survival::{Plan, check, names};

/// Runs the wanted scenarios with a few rounds.
fn held(wanted: impl Fn(&str) -> bool) {
    let command = |job: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-checks"));
        command.args(["survivor", job]);
        Ok(command)
    };
    let plan = Plan { rounds: 2, seed: 7, command: &command, progress: &|_| {} };
    let found = check(&plan, wanted).unwrap();
    assert!(!found.scenarios.is_empty());
    for scenario in &found.scenarios {
        assert!(scenario.held(), "{scenario:#?}");
        assert!(scenario.rounds > 0, "{scenario:#?}");
    }
}

#[test]
fn signals_lose_no_finished_cell() {
    held(|name| name.starts_with("SIG") && !name.contains("workers"));
}

#[test]
fn signals_lose_no_finished_cell_of_workers() {
    held(|name| name.starts_with("SIG") && name.contains("workers"));
}

#[test]
fn a_backend_takes_down_its_cell_and_not_the_run() {
    held(|name| name.starts_with("a backend"));
}

#[test]
fn no_room_no_folder_company_and_clocks_lose_nothing() {
    held(|name| !name.starts_with("SIG") && !name.starts_with("a backend"));
}

#[test]
fn findings_are_stored_and_a_filter_stores_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("checks.jsonl");
    let path = file.to_str().unwrap();
    let name = "a folder that cannot be written";
    let (out, _) = texts(&checks(&["survival", name, "--records", path]).success());
    assert!(out.contains("held") && out.contains(name), "{out}");
    assert!(!file.exists());
    let (_, error) = texts(&checks(&["survival", "nothing like it"]).code(2));
    assert!(error.contains("nothing matches"), "{error}");
    checks(&["survival", name, "--store"]).code(2);
    std::fs::write(&file, "the text of somebody else").unwrap();
    let (out, error) = texts(&checks(&["survival", "--store", "--records", path]).code(2));
    assert!(out.is_empty() && error.contains("holds something else than records"), "{error}");
    std::fs::remove_file(&file).unwrap();
    assert!(names().iter().any(|known| known == name));

    // An old finding of the same check is replaced.
    let sampling = Sampling::untimed("checks", 0);
    let nothing = touchstone::plan::Plan::default();
    let old = Finding {
        check: Check::Survival,
        name: "old".to_owned(),
        engine: String::new(),
        strategy: None,
        counts: Default::default(),
        cause: None,
        evidence: Vec::new(),
    };
    let mut records = RecordFile::append_to(&file).unwrap();
    let header = touchstone::run::header(sampling, &[], &nothing);
    records.append(&Line::Run(Box::new(header))).unwrap();
    records.append(&Line::Finding(Box::new(old))).unwrap();
    drop(records);
    checks(&["survival", "--rounds", "1", "--store", "--records", path]).success();
    let loaded = load(&file).unwrap();
    assert_eq!((loaded.runs.len(), loaded.skipped.len()), (1, 0));
    let found = loaded.runs[0].1.iter();
    let found =
        found.filter(|line| matches!(line, Line::Finding(it) if it.check == Check::Survival));
    assert_eq!(found.count(), names().len());
}
