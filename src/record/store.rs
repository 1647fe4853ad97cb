//! Reading and appending record files.

use super::{Record, SCHEMA};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where records lie unless told otherwise: `records/records.jsonl` in the
/// project, or the path in `TOUCHSTONE_RECORDS`.
#[must_use]
pub fn default_path() -> PathBuf {
    std::env::var_os("TOUCHSTONE_RECORDS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("records/records.jsonl"),
        PathBuf::from,
    )
}

/// A record file's content.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The records, in the order of the file.
    pub records: Vec<Record>,
    /// The lines that could not be believed.
    pub skipped: Vec<Skipped>,
}

/// A line that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads a record file. A damaged line (cut off by a kill, written by another
/// version, edited by hand) is skipped and named, never believed and never fatal.
///
/// # Errors
///
/// When the file is missing or cannot be read.
pub fn load(path: &Path) -> Result<Loaded> {
    let file = File::open(path).with_context(|| {
        format!("cannot read records from {}; `make bench` makes them", path.display())
    })?;
    let mut loaded = Loaded::default();
    for (index, bytes) in BufReader::new(file).split(b'\n').enumerate() {
        let bytes = bytes.with_context(|| format!("reading {}", path.display()))?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(&bytes) {
            Ok(record) => loaded.records.push(record),
            Err(reason) => loaded.skipped.push(Skipped { line: index + 1, reason }),
        }
    }
    Ok(loaded)
}

/// The newest record of each name, in the order in which the names first came. The later
/// line is the newer, whatever its time stamp says: runs append one after the other,
/// while clocks are set back.
#[must_use]
pub fn newest(records: Vec<Record>) -> Vec<Record> {
    let mut newest: Vec<Record> = Vec::new();
    let mut places = HashMap::new();
    for record in records {
        let place = *places.entry(record.id()).or_insert(newest.len());
        match newest.get_mut(place) {
            None => newest.push(record),
            Some(old) => *old = record,
        }
    }
    newest
}

/// One line. The version is looked at first, so that a line of another layout
/// is called that and not "missing field".
fn parse(bytes: &[u8]) -> Result<Record, String> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema: u32,
    }
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if versioned.schema != SCHEMA {
        return Err(format!("layout version {} where this build reads {SCHEMA}", versioned.schema));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// How a cell or a pair ended, for who counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ended {
    /// Timed and recorded.
    Timed,
    /// Run, but not measured: nothing was recorded.
    Tried,
    /// It cannot be done here, and was recorded so where that is worth a line.
    LeftOut,
    /// Wrong, trapped or failed.
    Failed,
}

/// Where records go, and who is told what a run is at.
pub trait Sink {
    /// The cell or pair of this name begins.
    ///
    /// # Errors
    ///
    /// When whoever has to know cannot be told.
    fn begin(&mut self, _id: &str) -> Result<()> {
        Ok(())
    }

    /// Keeps a record. When this comes back, the record is kept.
    ///
    /// # Errors
    ///
    /// When it cannot be; the records before stay whole.
    fn append(&mut self, record: &Record) -> Result<()>;

    /// What began has ended.
    ///
    /// # Errors
    ///
    /// When whoever has to know cannot be told.
    fn end(&mut self, _id: &str, _how: Ended) -> Result<()> {
        Ok(())
    }
}

/// A record file open for appending, locked against a second writer.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: PathBuf,
}

impl RecordFile {
    /// Opens (and creates) the file for appending and takes its lock. If a kill
    /// left half a line at the end, the line is closed so that the next record
    /// starts on a line of its own.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or another run holds the file.
    pub fn append_to(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .with_context(|| format!("cannot append records to {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another run{} is writing {}; wait for it, or name another file in \
                 TOUCHSTONE_RECORDS",
                super::holder::of(&file).map_or_else(String::new, |holder| format!(" ({holder})")),
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        close_last_line(&mut file).with_context(|| format!("repairing {}", path.display()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Appends one record as one line in one write and, where it holds times, flushes it
    /// to the disk: neither a kill nor a crash right after loses what took long to make.
    ///
    /// # Errors
    ///
    /// When the disk is full or gone; the records before stay whole, and what there was
    /// room for of this one is taken back.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let line = serde_json::to_vec(record).context("a record that JSON cannot hold")?;
        self.write(line, record)
    }

    /// Appends a record as another process has written it down: the same bytes, so that
    /// no number is rounded on the way.
    ///
    /// # Errors
    ///
    /// When it is no record, and as [`append`](Self::append).
    pub fn append_line(&mut self, line: &str) -> Result<()> {
        let record = parse(line.as_bytes())
            .map_err(|reason| anyhow::anyhow!("a record that cannot be believed: {reason}"))?;
        self.write(line.into(), &record)
    }

    fn write(&mut self, mut line: Vec<u8>, record: &Record) -> Result<()> {
        line.push(b'\n');
        let quick =
            matches!(record, Record::Cell(cell) if cell.status == super::Status::Unsupported);
        let end = self.file.metadata().map(|file| file.len());
        let written = self.file.write_all(&line);
        if let (Err(_), Ok(end)) = (&written, end) {
            // Nobody else writes here. Where even this fails, the half line is skipped
            // by whoever reads.
            let _ = self.file.set_len(end);
        }
        let kept = if quick { written } else { written.and_then(|()| self.file.sync_data()) };
        kept.with_context(|| {
            format!("cannot append to {}; the records before are kept", self.path.display())
        })
    }
}

impl Sink for RecordFile {
    fn append(&mut self, record: &Record) -> Result<()> {
        Self::append(self, record)
    }
}

/// Ends a half-written last line.
fn close_last_line(file: &mut File) -> std::io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(())
}
