//! Files that people write and runs append to.

use std::io::Write;
use std::path::Path;
use touchstone::case;
use touchstone::compare::{MARGIN, judge};
use touchstone::record::{self, Book, Line, Metric, RecordFile, Sink};

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
/// believed once more; and makes of it what is published.
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
        for (header, lines) in before.runs {
            publish(&Book::of(header, lines));
        }
    });
}

/// Asks for everything that a page would show.
fn publish(book: &Book) {
    for cell in book.cells.keys() {
        for metric in Metric::ALL {
            let _ = book.estimate(cell, *metric);
        }
        let _ = (book.throughput(cell), book.refusal(cell), book.name(cell));
    }
    for processes in book.comparisons.values() {
        let _ = judge(processes, MARGIN);
    }
}

/// A full or read-only disk is no finding about what is read.
fn with_file(content: &[u8], read: impl FnOnce(&Path)) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(content).is_ok() {
        read(file.path());
    }
}
