//! Files that people write and runs append to.

use std::io::Write;
use std::path::Path;
use touchstone::case;
use touchstone_executor::guest::text::is_hostile;
use touchstone_record::compare::{MARGIN, of_records};
use touchstone_record::{
    self as record, BENCH, CHECKS, COUNTS, Experiment, Line, PEERS, RecordFile, Sink,
    experiments_folder,
};
use touchstone_report::show;
use touchstone_report::units::ratio_with_interval;
use touchstone_report::{self as report, Options};

/// Reads a case file.
///
/// # Panics
///
/// When what was accepted has a case without a name, a guest or a thread.
pub fn cases(text: &[u8]) {
    with_file(text, |path| {
        for case in case::load(path).into_iter().flatten() {
            let whole = !case.name.is_empty() && !case.guests.is_empty();
            assert!(whole && case.threads.iter().all(|threads| *threads > 0), "{case:?}");
        }
    });
}

/// Reads a record file, opens it for appending as a run does, and appends what was
/// believed once more.
///
/// # Panics
///
/// When a record that was believed is lost, or one appears that was not.
pub fn records(lines: &[u8]) {
    with_file(lines, |path| {
        let Ok(before) = record::load(path) else { return };
        let Ok(mut file) = RecordFile::append_to(path) else { return };
        for (header, lines) in &before.runs {
            let header = Line::Run(Box::new(header.clone()));
            for line in std::iter::once(&header).chain(lines) {
                if let Err(error) = file.append(line) {
                    panic!("a believed record cannot be written: {error:#}");
                }
            }
        }
        drop(file);
        let after = record::load(path).map(|after| after.runs).unwrap_or_default();
        let (old, new) = after.split_at(before.runs.len().min(after.len()));
        assert!(old == before.runs && new == before.runs, "runs before and after");
    });
}

/// Reads a record file and makes of it what `show`, `compare` and `report` make, the report as if
/// each of its files had these records.
///
/// # Panics
///
/// When a text has characters that no terminal may get.
pub fn outputs(lines: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let at = |name: &str| folder.path().join(name);
    let experiments = Experiment::all(experiments_folder()).unwrap_or_default();
    let experiments = experiments.iter().map(|own| own.records.as_str());
    for name in [BENCH, PEERS, COUNTS, CHECKS].into_iter().chain(experiments) {
        if std::fs::write(at(name), lines).is_err() {
            return;
        }
    }
    let Ok((book, _)) = record::newest(at(BENCH), "make bench") else { return };
    let mut texts = show::all(&book);
    for entry in show::entries(&book) {
        texts += &entry.name(&book);
        if let Ok(line) = entry.json(&book, true) {
            texts += &line.to_string();
        }
    }
    for (cell, judged) in of_records(&book, &book, MARGIN) {
        texts += &(book.name(&cell) + &ratio_with_interval(&judged.ratio));
    }
    let hostile = texts.chars().find(|c| is_hostile(*c) && *c != '\n');
    assert_eq!(hostile, None, "{texts}");
    let made = report::check(&Options {
        records: at(BENCH),
        explanations: at("explanations.toml"),
        draft: true,
        ..Options::of_project(at("BENCHMARK.md"))
    });
    if let Err(error) = made {
        panic!("a report of records that can be read: {error:#}");
    }
}

/// A full or read-only disk is no finding about what is read.
fn with_file(content: &[u8], read: impl FnOnce(&Path)) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(content).is_ok() {
        read(file.path());
    }
}
