//! Files that people write and runs append to.

use std::io::Write;
use std::path::Path;
use touchstone::case;
use touchstone::record::{self, RecordFile};

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
        for record in &before.records {
            if let Err(error) = file.append(record) {
                panic!("a believed record cannot be written: {error:#}");
            }
        }
        drop(file);
        let after = record::load(path).map(|after| after.records.len()).unwrap_or_default();
        assert_eq!(after, before.records.len() * 2, "records before and after");
    });
}

/// A full or read-only disk is no finding about what is read.
fn with_file(content: &[u8], read: impl FnOnce(&Path)) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(content).is_ok() {
        read(file.path());
    }
}
