//! Reading and appending record files.

use super::check::Names;
use super::{Book, Header, Line, SCHEMA};
use crate::files::{self, FilePath, read_whole, without_mark};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use touchstone_executor::text::{abridged, line};

/// A file of the project's `records` folder.
#[must_use]
pub fn default_path(name: &str) -> PathBuf {
    files::project("records").join(name)
}

/// Where a measurement of the whole of something goes: the project's records, which it replaces. A
/// part goes to a file of the same name in `target`, so that the records stay whole.
#[must_use]
pub fn output_path(name: &str, is_whole: bool) -> PathBuf {
    match is_whole {
        true => default_path(name),
        false => files::project("target").join(name),
    }
}

/// The records of `make bench`.
pub const BENCH: &str = "records.jsonl";
/// The records of `make peers`.
pub const PEERS: &str = "peers.jsonl";
/// The records of `make swap`.
pub const SWAPS: &str = "swap.jsonl";
/// The counts that `make gate` compares.
pub const COUNTS: &str = "counts.jsonl";
/// The findings of `make checks`.
pub const CHECKS: &str = "checks.jsonl";

/// A header with the lines below it.
pub type Run = (Header, Vec<Line>);

/// A record file's content: its runs, the newest last.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Each header with the lines below it.
    pub runs: Vec<Run>,
    /// The lines that were skipped.
    pub skipped: Vec<Skipped>,
}

impl Loaded {
    /// The newest run, indexed. `None` if there is none.
    #[must_use]
    pub fn newest(mut self) -> Option<Book> {
        self.runs.pop().map(|(header, lines)| Book::of(header, lines))
    }
}

/// The newest run of a record file, which `made_by` makes, and the lines that were skipped.
///
/// # Errors
///
/// When the file cannot be read, or holds no run that this build can read.
pub fn newest(path: impl Into<FilePath>, made_by: &str) -> Result<(Book, Vec<Skipped>)> {
    let path = path.into();
    let mut loaded = load(&path)?;
    let Some((header, lines)) = loaded.runs.pop() else {
        let why = loaded.skipped.first();
        let why = why.map_or_else(String::new, |skipped| format!(" ({})", skipped.reason));
        bail!("{path} holds no run that this build can read{why}; `{made_by}` makes one");
    };
    Ok((Book::of(header, lines), loaded.skipped))
}

/// A skipped line, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Line number, from 1.
    pub line: usize,
    /// The fault.
    pub reason: String,
}

/// Longest reason for skipping a line, characters: it may quote the line.
const REASON: usize = 300;

/// Reads a record file. [Hostile](touchstone_executor::text::is_hostile) characters of texts are
/// replaced. A damaged line (cut off by a kill, written by another
/// version, edited by hand) is skipped and reported.
///
/// # Errors
///
/// When the file is missing or cannot be read.
pub fn load(path: impl Into<FilePath>) -> Result<Loaded> {
    let path = path.into();
    let content = read_whole(&path)
        .with_context(|| format!("cannot read records from {path}; `make bench` makes them"))?;
    let mut loaded = Loaded::default();
    // Whether lines belong to a header that was believed.
    let mut is_ours = false;
    let mut names = Names::default();
    for (index, bytes) in without_mark(&content).split(|byte| *byte == b'\n').enumerate() {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let mut parsed = harmless(bytes);
        // A header of another version is reported as such, even if it has other fields.
        let version = match &parsed {
            Ok(Line::Run(header)) => Some(header.schema),
            Ok(_) => None,
            Err(_) => serde_json::from_slice(bytes).ok().map(|Versioned { schema }| schema),
        };
        let mut skip = |reason: String| loaded.skipped.push(Skipped { line: index + 1, reason });
        if let Some(version) = version.filter(|version| *version != SCHEMA) {
            is_ours = false;
            skip(format!("layout version {version} where this build reads {SCHEMA}"));
            continue;
        }
        if let Ok(line) = &parsed
            && let Some(fault) = names.fault(line, &serde_json::from_slice(bytes)?)
        {
            parsed = Err(serde::de::Error::custom(fault));
        }
        match parsed {
            Ok(Line::Run(header)) => {
                is_ours = true;
                loaded.runs.push((*header, Vec::new()));
            }
            Ok(line) => match loaded.runs.last_mut() {
                Some((_, lines)) if is_ours => lines.push(line),
                _ => skip("there is no header above it that this build reads".to_owned()),
            },
            Err(error) => skip(line(&abridged(&error.to_string(), REASON))),
        }
    }
    Ok(loaded)
}

/// A line whose texts have no hostile characters, also in the names of engines and settings.
fn harmless(bytes: &[u8]) -> serde_json::Result<Line> {
    let line = serde_json::from_slice(bytes);
    // Without escapes and in ASCII, there are none.
    let is_plain = bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\');
    if is_plain || line.is_err() {
        return line;
    }
    serde_json::from_value(replaced(serde_json::from_slice(bytes)?))
}

/// A value of JSON with its texts as [`line`].
fn replaced(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(line(&text)),
        Value::Array(all) => all.into_iter().map(replaced).collect(),
        Value::Object(all) => {
            all.into_iter().map(|(name, value)| (line(&name), replaced(value))).collect()
        }
        plain => plain,
    }
}

/// The fields that headers of all versions have.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

/// Where the lines of a run go.
pub trait Sink {
    /// Stores a line. When this returns, the line is stored.
    ///
    /// # Errors
    ///
    /// When it cannot be stored. Earlier lines stay whole.
    fn append(&mut self, line: &Line) -> Result<()>;

    /// Stores lines that belong together.
    ///
    /// # Errors
    ///
    /// When they cannot be stored. Earlier lines stay whole.
    fn append_all(&mut self, lines: &[Line]) -> Result<()> {
        lines.iter().try_for_each(|line| self.append(line))
    }
}

/// A record file open for appending, locked against a second writer.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: FilePath,
    /// `true` if a kill left half a line at the end.
    was_torn: bool,
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        // Closing it would not do where another thread has just forked: until the child starts
        // its program, it has the file open, too. Should it fail, closing unlocks.
        let _ = self.file.unlock();
    }
}

impl RecordFile {
    /// Opens or creates the file for appending and locks it. If a kill left half a line at the
    /// end, the line is closed, so that the next record starts on a new line.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or another run holds the file.
    pub fn append_to(path: impl Into<FilePath>) -> Result<Self> {
        let path = path.into();
        let mut file = files::append_to(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another run{} is writing {path}; wait for it, or name another file with --records",
                super::holder::of(&file).map_or_else(String::new, |holder| format!(" ({holder})"))
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {path}"));
            }
        }
        let was_torn = close_last_line(&mut file).with_context(|| format!("repairing {path}"))?;
        Ok(Self { file, path, was_torn })
    }

    /// Empties the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be changed.
    pub fn clear(&mut self) -> Result<()> {
        self.file.set_len(0).with_context(|| format!("cannot empty {}", self.path))
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path.path()
    }
}

impl Sink for RecordFile {
    fn append(&mut self, line: &Line) -> Result<()> {
        self.append_all(std::slice::from_ref(line))
    }

    /// Appends lines in one write. Lines with measurements are flushed to the disk, so that
    /// neither a kill nor a crash loses them. If the disk is full, a partly written line is
    /// removed.
    fn append_all(&mut self, lines: &[Line]) -> Result<()> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line).context("cannot write the record as JSON")?;
            bytes.push(b'\n');
        }
        let end = self.file.metadata().map(|file| file.len());
        let written = self.file.write_all(&bytes);
        if let (Err(_), Ok(end)) = (&written, end) {
            // Nobody else writes here. Where even this fails, the half line is skipped
            // by whoever reads.
            let _ = self.file.set_len(end);
        }
        let is_quick = |line| matches!(line, &Line::Refusal(_) | &Line::Setup(_));
        let is_quick = lines.iter().all(is_quick);
        let kept = if is_quick { written } else { written.and_then(|()| self.file.sync_data()) };
        kept.with_context(|| format!("cannot append to {}; the records before are kept", self.path))
    }
}

/// New records of a file. Those that are there stay as they are until the new ones are complete.
#[derive(Debug)]
pub struct Replacement {
    part: RecordFile,
    path: PathBuf,
}

impl Replacement {
    /// Begins with none, in a file beside it whose name ends with `.part`.
    ///
    /// # Errors
    ///
    /// Those of [`RecordFile::append_to`].
    pub fn of(path: &Path) -> Result<Self> {
        let mut own = Self::open(path)?;
        own.clear()?;
        Ok(own)
    }

    /// Begins with what a killed run left in that file: its header and lines, `None` if there is no
    /// whole run. Half a line at the end is removed. The caller goes on with it or clears it.
    ///
    /// # Errors
    ///
    /// Those of [`RecordFile::append_to`].
    pub fn go_on(path: &Path) -> Result<(Self, Option<Run>)> {
        let mut own = Self::open(path)?;
        let mut loaded = load(own.part())?;
        if let ([(_, lines)], [half]) = (&*loaded.runs, &*loaded.skipped)
            && half.line == 1 + lines.len() + 1
        {
            own.keep(half.line - 1)?;
            own.part.was_torn = true;
            loaded.skipped.clear();
        }
        let run = loaded.runs.pop().filter(|_| loaded.skipped.is_empty() && loaded.runs.is_empty());
        Ok((own, run))
    }

    /// Removes what there is so far. `true` if that was something.
    ///
    /// # Errors
    ///
    /// When the file cannot be changed.
    pub fn clear(&mut self) -> Result<bool> {
        let had_some = self.part.file.metadata().is_ok_and(|file| file.len() > 0);
        self.part.clear()?;
        Ok(had_some)
    }

    /// Keeps the first lines of what there is so far, the header included.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or changed.
    pub fn keep(&mut self, lines: usize) -> Result<()> {
        let path = &self.part.path;
        let content = read_whole(path).with_context(|| format!("cannot read {path}"))?;
        let length = content.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len);
        let kept = self.part.file.set_len(length.sum::<usize>() as u64);
        kept.with_context(|| format!("cannot cut off the end of {path}"))
    }

    /// `true` if the end of the lines that belong together may be missing, because a kill left half
    /// a line.
    #[must_use]
    pub fn was_torn(&self) -> bool {
        self.part.was_torn
    }

    fn open(path: &Path) -> Result<Self> {
        let folder = files::folder_of(path);
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        // Nobody named this file: it is not written through a link.
        let name = path.with_added_extension("part");
        let part = FilePath::from(path).beside(name.file_name().unwrap_or_default())?;
        Ok(Self { part: RecordFile::append_to(part)?, path: path.to_owned() })
    }

    /// The file with what there is so far.
    #[must_use]
    pub fn part(&self) -> &Path {
        self.part.path()
    }

    /// They are complete: puts them in the place of the old ones.
    ///
    /// # Errors
    ///
    /// When the file cannot be written to the disk or renamed.
    pub fn finish(self) -> Result<()> {
        let (part, path) = (self.part(), self.path.display());
        // The last lines may not be there yet.
        let on_disk = self.part.file.sync_data();
        let replaced = on_disk.map_err(Into::into);
        replaced.and_then(|()| files::rename(&self.part.path, &self.path)).with_context(|| {
            format!("cannot replace {path}; the new records are in {}", part.display())
        })
    }
}

impl Sink for Replacement {
    fn append(&mut self, line: &Line) -> Result<()> {
        self.part.append(line)
    }

    fn append_all(&mut self, lines: &[Line]) -> Result<()> {
        self.part.append_all(lines)
    }
}

impl Sink for Vec<Line> {
    fn append(&mut self, line: &Line) -> Result<()> {
        self.push(line.clone());
        Ok(())
    }
}

/// Ends a half-written last line. `true` if there was one.
fn close_last_line(file: &mut File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    let is_half = last != *b"\n";
    if is_half {
        file.write_all(b"\n")?;
    }
    Ok(is_half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_in_front_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, marked) = (default_path(COUNTS), folder.path().join("marked"));
        let content = std::fs::read(&plain).unwrap();
        std::fs::write(&marked, ["\u{feff}".as_bytes(), &content].concat()).unwrap();
        let (plain, marked) = (load(&plain).unwrap(), load(&marked).unwrap());
        assert_eq!((plain.runs.len(), marked.skipped), (marked.runs.len(), Vec::new()));
    }

    #[test]
    fn of_an_interrupted_run_only_half_a_line_at_the_end_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.jsonl");
        let part = path.with_added_extension("part");
        let line = |line: &Line| serde_json::to_string(line).unwrap();
        let header = line(&Line::Run(Box::new(Header { schema: SCHEMA, ..Header::default() })));
        let point = |process| {
            line(&Line::Point(Box::new(crate::Point::new(
                "some",
                crate::Place::default(),
                process,
            ))))
        };
        let (first, second) = (point(0), point(1));
        let whole = format!("{header}\n{first}\n");
        for (content, torn) in [
            (whole.clone(), false),
            (format!("{whole}{}", &second[..9]), true),
            (format!("{whole}{}\n", &second[..9]), true),
            (format!("{header}\n{first}"), true),
        ] {
            std::fs::write(&part, &content).unwrap();
            let (file, run) = Replacement::go_on(&path).unwrap();
            assert_eq!((run.unwrap().1.len(), file.was_torn()), (1, torn), "{content}");
            assert_eq!(std::fs::read_to_string(&part).unwrap(), whole);
        }
        std::fs::write(&part, format!("{header}\n{{\n{first}\n")).unwrap();
        let (mut file, run) = Replacement::go_on(&path).unwrap();
        assert!(run.is_none() && file.clear().unwrap() && !file.clear().unwrap());
    }
}
