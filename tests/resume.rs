//! Records survive what happens to runs: kills, a second writer, other builds.

#[path = "fixtures/records.rs"]
#[allow(dead_code, reason = "the report's tests use the rest of it")]
mod fixtures;

use fixtures::{append, cell, pair, provenance, records, untimed};
use std::io::Write;
use std::path::{Path, PathBuf};
use touchstone::record::{self, PEERS, Provenance, Record, RecordFile, SCHEMA, Skipped, Status};
use touchstone::run::finished_by_last_run;

const EMPTY: &str = "call_empty_function";

fn in_folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/records.jsonl");
    (folder, path)
}

fn some() -> Vec<Record> {
    let mut all = records([
        cell("alpha", "pooling", EMPTY, 1, 100.0),
        cell("alpha", "pooling", EMPTY, 2, 120.0),
    ]);
    all.push(Record::Pair(Box::new(pair("null", "alpha_pooling", [0.9, 1.0, 1.1]))));
    all
}

/// Adds bytes as they are, as a writer that was stopped in the middle does.
fn scribble(path: &Path, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn records_come_back_as_they_were_written() {
    let (_folder, path) = in_folder();
    let mut file = RecordFile::append_to(&path).unwrap();
    for record in some() {
        file.append(&record).unwrap();
    }
    let loaded = record::load(&path).unwrap();
    assert_eq!((loaded.records, loaded.skipped), (some(), Vec::new()));
}

#[test]
fn half_a_line_at_the_end_costs_that_line_alone() {
    let (_folder, path) = in_folder();
    RecordFile::append_to(&path).unwrap().append(&some()[0]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    scribble(&path, &whole[..whole.len() / 2]);
    // The next run ends the line before it writes its own.
    RecordFile::append_to(&path).unwrap().append(&some()[1]).unwrap();
    let loaded = record::load(&path).unwrap();
    assert_eq!(loaded.records, some()[..2]);
    let lines: Vec<usize> = loaded.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(lines, [2]);
    assert!(loaded.skipped[0].reason.contains("EOF"), "{}", loaded.skipped[0].reason);
    // Opening it once more adds nothing.
    let before = std::fs::read(&path).unwrap();
    drop(RecordFile::append_to(&path).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn bytes_that_are_no_text_cost_their_line_alone() {
    let (_folder, path) = in_folder();
    RecordFile::append_to(&path).unwrap().append(&some()[0]).unwrap();
    scribble(&path, b"\xff\xfe\0\n\n[1, 2]\n");
    append(&path, &some()[1..]);
    let loaded = record::load(&path).unwrap();
    assert_eq!(loaded.records, some());
    let lines: Vec<usize> = loaded.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(lines, [2, 4]);
}

#[test]
fn another_layout_is_called_that() {
    let (_folder, path) = in_folder();
    RecordFile::append_to(&path).unwrap().append(&some()[0]).unwrap();
    let line = serde_json::to_string(&some()[1]).unwrap();
    let newer = line.replace(&format!("\"schema\":{SCHEMA}"), "\"schema\":999");
    assert_ne!(newer, line);
    scribble(&path, format!("{newer}\n").as_bytes());
    let loaded = record::load(&path).unwrap();
    let reason = format!("layout version 999 where this build reads {SCHEMA}");
    assert_eq!(loaded.skipped, [Skipped { line: 2, reason }]);
    assert_eq!(loaded.records.len(), 1);
}

#[test]
fn a_second_writer_is_sent_away_until_the_first_is_done() {
    let (_folder, path) = in_folder();
    let mut first = RecordFile::append_to(&path).unwrap();
    let refused = format!("{:#}", RecordFile::append_to(&path).unwrap_err());
    assert!(refused.contains("another run"), "{refused}");
    assert!(refused.contains("is writing"), "{refused}");
    assert!(refused.contains(&path.display().to_string()), "{refused}");
    // Where the kernel says who it is, which it does not in every container.
    let named = refused.contains(&format!("process {}", std::process::id()));
    assert!(named || !refused.contains("process"), "{refused}");
    // Readers are not kept out, and the first goes on.
    first.append(&some()[0]).unwrap();
    assert_eq!(record::load(&path).unwrap().records.len(), 1);
    drop(first);
    RecordFile::append_to(&path).unwrap().append(&some()[1]).unwrap();
    assert_eq!(record::load(&path).unwrap().records.len(), 2);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    std::fs::write(&in_the_way, "").unwrap();
    let error = RecordFile::append_to(&in_the_way.join("records.jsonl")).unwrap_err();
    assert!(format!("{error:#}").contains("cannot make the folder"), "{error:#}");
}

/// Records as `some` has them, of a run of its own.
fn of_run(run: &str, mut all: Vec<Record>) -> Vec<Record> {
    for record in &mut all {
        match record {
            Record::Cell(cell) => cell.provenance.run = run.to_owned(),
            Record::Pair(pair) => pair.provenance.run = run.to_owned(),
            Record::Swap(swap) => swap.provenance.run = run.to_owned(),
        }
    }
    all
}

fn same_guest(_: &str) -> Option<String> {
    Some("aa11".to_owned())
}

#[test]
fn a_run_goes_on_where_the_last_one_ended() {
    assert_eq!(finished_by_last_run(&[], &provenance(0), same_guest), None);
    let mut all = of_run("old", some());
    all.extend(of_run("new", some()[1..].to_vec()));
    let (run, finished) = finished_by_last_run(&all, &provenance(9), same_guest).unwrap();
    assert_eq!(run, "new");
    let names: Vec<String> = some()[1..].iter().map(Record::id).collect();
    assert_eq!(finished, names);
}

#[test]
fn rows_of_peers_come_between_a_run_and_its_rest() {
    let mut all = of_run("matrix", some());
    let mut rows = of_run("peers", vec![Record::Pair(Box::new(pair(PEERS, "a_b", [1.0; 3])))]);
    if let Record::Pair(row) = &mut rows[0] {
        row.provenance.tools.binary = "0123456789abcdef".to_owned();
    }
    all.extend(rows);
    let (run, finished) = finished_by_last_run(&all, &provenance(9), same_guest).unwrap();
    assert_eq!((run.as_str(), finished.len()), ("matrix", 3));
}

#[test]
fn a_run_of_another_machine_or_build_is_not_gone_on_with() {
    type Change = fn(&mut Provenance);
    let changes: [(&str, Change); 4] = [
        ("machine", |now| now.machine.kernel = "7.0".to_owned()),
        ("cores", |now| now.machine.cores += 1),
        ("binary", |now| now.tools.binary = "0123456789abcdef".to_owned()),
        ("sampling", |now| now.sampling.name = "quick".to_owned()),
    ];
    for (what, change) in changes {
        let mut now = provenance(9);
        change(&mut now);
        assert_eq!(finished_by_last_run(&some(), &now, same_guest), None, "another {what}");
    }
    // The same binary, whatever the tree around it looks like by now.
    let mut now = provenance(9);
    now.tools.commit = "fedcba987654-dirty".to_owned();
    assert!(finished_by_last_run(&some(), &now, same_guest).is_some());
    // How long each cell is sampled follows from their number, which a run that
    // goes on may not share.
    let mut now = provenance(9);
    now.sampling.measurement_ms += 1;
    assert!(finished_by_last_run(&some(), &now, same_guest).is_some());
}

#[test]
fn a_binary_that_could_not_be_read_is_never_the_same() {
    let mut one = cell("alpha", "pooling", EMPTY, 1, 100.0);
    one.provenance.tools.binary.clear();
    let now = one.provenance.clone();
    assert_eq!(finished_by_last_run(&records([one]), &now, same_guest), None);
}

#[test]
fn cells_that_went_wrong_are_done_again() {
    for (status, done) in [
        (Status::Ok, true),
        (Status::Unsupported, true),
        (Status::Wrong, false),
        (Status::Trapped, false),
        (Status::Failed, false),
    ] {
        let all = records([untimed(cell("alpha", "pooling", EMPTY, 1, 1.0), status, "why")]);
        let (_, finished) = finished_by_last_run(&all, &provenance(9), same_guest).unwrap();
        assert_eq!(finished.len() == 1, done, "{status}");
    }
}

#[test]
fn cells_of_another_guest_are_done_again() {
    let all = some();
    let finished = |digest: Option<&str>| {
        let digest = digest.map(str::to_owned);
        finished_by_last_run(&all, &provenance(9), |_| digest.clone()).unwrap().1
    };
    // The pair has no digest of its own.
    assert_eq!(finished(Some("bb22")), [all[2].id()]);
    assert_eq!(finished(None), [all[2].id()]);
    assert_eq!(finished(Some("aa11")).len(), 3);
}
