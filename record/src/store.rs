//! Reading and appending record files.

use super::check::Names;
use super::end::Above;
use super::{Book, Header, Line};
use crate::files::{self, FilePath, read_whole, without_mark};
use crate::packed::{is_packed, unpacked};
use crate::terminal::complain;
use anyhow::{Context, Result, bail, ensure};
use rustix::fs::FileType;
use serde_json::Value;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use touchstone_executor::guest::text::{abridged, line};

pub fn default_path(name: &str) -> PathBuf {
    files::own("records").join(name)
}

/// Where a measurement of the whole of something goes: the project's records, which it replaces. A
/// part goes to a file of the same name in `target`, so that the records stay whole.
pub fn output_path(name: &str, is_whole: bool) -> PathBuf {
    if is_whole { default_path(name) } else { files::own("target").join(name) }
}

/// The remedy for a record file that cannot be written, as the end of a message.
const OTHER: &str = "name another file with --records (merge: -o)";

pub const BENCH: &str = "records.jsonl";
pub const PEERS: &str = "peers.jsonl";
/// Some of the peers' comparisons, by builds with other padding before their code: a run for each.
pub const LAYOUTS: &str = "layouts.jsonl";
pub const SWAPS: &str = "swap.jsonl";
/// Records of cells on more threads than processors.
pub const OVERSUBSCRIBED: &str = "oversubscribed.jsonl";
/// The counts that `make gate` compares.
pub const COUNTS: &str = "counts.jsonl";
/// The findings of `make checks`.
pub const CHECKS: &str = "checks.jsonl";

pub type Run = (Header, Vec<Line>);

/// A record file's content: its runs, the newest last.
#[derive(Debug, Default)]
pub struct Loaded {
    pub runs: Vec<Run>,
    pub skipped: Vec<Skipped>,
    /// The lines of each run, and `true` if an end line below them fits.
    seen: Vec<(Above, bool)>,
}

impl Loaded {
    /// The warning about a newest run without an end line, of the file `path`.
    pub fn unfinished(&self, path: &Path) -> Option<String> {
        let (header, _) = self.runs.last()?;
        (!self.is_whole(self.runs.len() - 1)).then(|| {
            format!(
                "{}: the run {} has no end line that fits: it was interrupted, or its lines are \
                 not those that were written",
                path.display(),
                header.run
            )
        })
    }

    /// `true` if a run, by its index, ends with an end line that fits its lines.
    pub fn is_whole(&self, run: usize) -> bool {
        self.seen.get(run).is_some_and(|(_, is_whole)| *is_whole)
    }

    /// The runs that are whole, indexed.
    pub fn whole(self) -> Vec<Book> {
        let runs = self.runs.into_iter().zip(self.seen).filter(|(_, (_, is_whole))| *is_whole);
        runs.map(|((header, lines), _)| Book::of(header, lines)).collect()
    }

    /// The newest run, indexed. `None` if there is none.
    pub fn newest(mut self) -> Option<Book> {
        self.runs.pop().map(|(header, lines)| Book::of(header, lines))
    }
}

/// The newest run of a record file, which `made_by` makes, and the lines that were skipped.
/// Fails when the file cannot be read, or holds no run that this build can read.
pub fn newest(path: impl Into<FilePath>, made_by: &str) -> Result<(Book, Vec<Skipped>)> {
    let path = path.into();
    let mut loaded = load(&path)?;
    if let Some(warning) = loaded.unfinished(path.path()) {
        complain(&format!("warning: {warning}"));
    }
    let Some((header, lines)) = loaded.runs.pop() else {
        let why = loaded.skipped.first().map(|skipped| format!(" ({})", skipped.reason));
        let why = why.unwrap_or_default();
        bail!("{path} holds no run that this build can read{why}; `{made_by}` makes one");
    };
    Ok((Book::of(header, lines), loaded.skipped))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub line: usize,
    pub reason: String,
}

/// Longest reason for skipping a line, characters: it may quote the line.
const REASON: usize = 300;

/// Reads a record file, which may be packed.
/// [Hostile](touchstone_executor::guest::text::is_hostile) characters of texts are replaced. A
/// damaged line (cut off by a kill, written by another version, edited by hand) is
/// skipped and reported.
/// Fails when the file is missing or cannot be read.
pub fn load(path: impl Into<FilePath>) -> Result<Loaded> {
    let path = path.into();
    let content = read_whole(&path).and_then(unpacked);
    let content = content.with_context(|| {
        format!("cannot read records from {path}; `touchstone bench` makes them")
    })?;
    Ok(read(&content))
}

/// Reads the content of a record file, as [`load`] does.
pub(crate) fn read(content: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    // `true` while lines belong to a header that was believed.
    let mut is_ours = false;
    let mut names = Names::default();
    for (index, bytes) in without_mark(content).split(|byte| *byte == b'\n').enumerate() {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let value = serde_json::from_slice(bytes).map(replaced);
        let is_header = value.as_ref().is_ok_and(|value| value["kind"] == "run");
        let reason = match value.map_err(Into::into).and_then(|value| names.read(&value)) {
            Ok(Line::Run(header)) => {
                is_ours = true;
                loaded.seen.push((Above::header(&header.run, bytes), false));
                loaded.runs.push((*header, Vec::new()));
                continue;
            }
            own => match (own, loaded.runs.last_mut(), loaded.seen.last_mut()) {
                (own, Some((_, lines)), Some((above, is_whole))) if is_ours && !is_header => {
                    let own = own.and_then(|own| match own {
                        Line::End(end) => match end.fault(above) {
                            None => Ok(None),
                            Some(fault) => bail!("the end line is wrong: {fault}"),
                        },
                        own => Ok(Some(own)),
                    });
                    above.add(bytes);
                    *is_whole = matches!(own, Ok(None));
                    match own {
                        Ok(own) => {
                            lines.extend(own);
                            continue;
                        }
                        Err(error) => reason_of(&error),
                    }
                }
                (Ok(_), ..) => "there is no header above it that this build reads".to_owned(),
                (Err(error), ..) => reason_of(&error),
            },
        };
        is_ours &= !is_header;
        loaded.skipped.push(Skipped { line: index + 1, reason });
    }
    loaded
}

fn reason_of(error: &anyhow::Error) -> String {
    line(&abridged(&format!("{error:#}"), REASON))
}

/// A value of JSON with its texts as [`line`], also the names of engines and settings.
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

pub trait Sink {
    /// Stores a line. If that fails, earlier lines stay whole.
    fn append(&mut self, line: &Line) -> Result<()>;

    /// Ends a complete run, so that a reader sees whether lines of it are missing.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    /// Stores lines that belong together.
    fn append_all(&mut self, lines: &[Line]) -> Result<()> {
        lines.iter().try_for_each(|line| self.append(line))
    }
}

/// A record file open for appending, locked against a second writer.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: FilePath,
    /// `true` if a kill left half a line: the end of lines that belong together may be missing.
    pub was_torn: bool,
    /// The file that it becomes when it is complete.
    replaces: Option<PathBuf>,
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
    /// Fails when the folder cannot be written, the file holds something else, or another run
    /// holds it.
    pub fn append_to(path: impl Into<FilePath>) -> Result<Self> {
        let path = path.into();
        let mut file = files::append_to(&path)
            .with_context(|| format!("no records can go to {path}; {OTHER}"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another run{} is writing {path}; wait for it, or {OTHER}",
                super::holder::of(&file).map_or_else(String::new, |holder| format!(" ({holder})"))
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {path}"));
            }
        }
        ensure_records(&mut file, &path)?;
        let was_torn = close_last_line(&mut file).with_context(|| format!("repairing {path}"))?;
        Ok(Self { file, path, was_torn, replaces: None })
    }

    /// New records of a file, whose old ones stay until [`finish`](Self::finish). They begin with
    /// none, in a file beside it whose name ends with `.part`. Fails as [`Self::append_to`] does.
    pub fn replacing(path: &Path) -> Result<Self> {
        let mut own = Self::part_of(path)?;
        own.clear()?;
        Ok(own)
    }

    /// The same, but the new records begin with what a killed run left: its header and lines,
    /// `None` if there is no whole run. Half a line at the end is removed. The caller goes on with
    /// it or clears it.
    pub fn go_on(path: &Path) -> Result<(Self, Option<Run>)> {
        let mut own = Self::part_of(path)?;
        let mut loaded = load(own.path())?;
        if let ([(_, lines)], [half]) = (&*loaded.runs, &*loaded.skipped)
            && half.line == 1 + lines.len() + 1
        {
            own.keep(half.line - 1)?;
            own.was_torn = true;
            loaded.skipped.clear();
        }
        let run = loaded.runs.pop().filter(|_| loaded.skipped.is_empty() && loaded.runs.is_empty());
        Ok((own, run))
    }

    /// Fails if the folder cannot be written, or the file holds something else than records: for
    /// commands that work for minutes before they write.
    pub fn ensure_replaceable(path: &Path) -> Result<()> {
        Self::look_at(path)?;
        files::stage(path, &[]).map(drop)
    }

    /// Makes the folder, and fails if the file is none of records.
    fn look_at(path: &Path) -> Result<()> {
        let folder = files::folder_of(path);
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}; {OTHER}", folder.display()))?;
        // A link becomes a file: the one that it leads to stays.
        if let Some(found) = path.symlink_metadata().ok().filter(|found| !found.is_symlink()) {
            let place = FilePath::from(path);
            let kind = files::in_words(FileType::from_raw_mode(found.mode()));
            ensure!(found.is_file(), "cannot replace {place}: it is {kind}; {OTHER}");
            let file = File::open(path).with_context(|| format!("cannot read {place}"));
            ensure_records(&mut file?, &place)?;
        }
        Ok(())
    }

    fn part_of(path: &Path) -> Result<Self> {
        Self::look_at(path)?;
        // Nobody named this file: it is not written through a link.
        let name = path.with_added_extension("part");
        let part = FilePath::from(path).beside(name.file_name().unwrap_or_default())?;
        let mut own = Self::append_to(part)?;
        own.replaces = Some(path.to_owned());
        Ok(own)
    }

    /// Empties the file. `true` if there was something in it.
    pub fn clear(&mut self) -> Result<bool> {
        let had_some = self.file.metadata().is_ok_and(|file| file.len() > 0);
        self.file.set_len(0).with_context(|| format!("cannot empty {}", self.path))?;
        Ok(had_some)
    }

    /// Keeps the first lines, the header included.
    pub fn keep(&mut self, lines: usize) -> Result<()> {
        let content = read_whole(&self.path)?;
        let length = content.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len);
        let kept = self.file.set_len(length.sum::<usize>() as u64);
        kept.with_context(|| format!("cannot cut off the end of {}", self.path))
    }

    pub fn path(&self) -> &Path {
        self.path.path()
    }

    /// Ends complete records with an end line, and puts them in the place of those that they
    /// replace.
    /// Fails when the file cannot be written to the disk or renamed.
    pub fn finish(mut self) -> Result<()> {
        self.end()?;
        let Some(path) = &self.replaces else { return Ok(()) };
        // The last lines may not be there yet.
        let on_disk = self.file.sync_data().map_err(Into::into);
        on_disk.and_then(|()| files::rename(&self.path, path)).with_context(|| {
            let (path, part) = (path.display(), &self.path);
            format!("cannot replace {path}; the new records are in {part}")
        })
    }
}

impl Sink for RecordFile {
    fn append(&mut self, line: &Line) -> Result<()> {
        self.append_all(std::slice::from_ref(line))
    }

    /// Appends lines in one write. Lines with measurements are flushed to the disk, so that neither
    /// a kill nor a crash loses them. If the disk is full, a partly written line is removed.
    fn append_all(&mut self, lines: &[Line]) -> Result<()> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line).context("cannot write the record as JSON")?;
            bytes.push(b'\n');
        }
        let end = self.file.metadata().map(|file| file.len());
        let mut kept = self.file.write_all(&bytes);
        if let (Err(_), Ok(end)) = (&kept, end) {
            // Nobody else writes here. Where even this fails, readers skip the half line.
            let _ = self.file.set_len(end);
        }
        if !lines.iter().all(|line| matches!(line, Line::Refusal(_) | Line::Setup(_))) {
            kept = kept.and_then(|()| self.file.sync_data());
        }
        kept.with_context(|| format!("cannot append to {}; the records before are kept", self.path))
    }

    /// Appends the end line of the newest run, unless it is there.
    fn end(&mut self) -> Result<()> {
        match load(&self.path)?.seen.last() {
            Some((above, false)) => self.append(&Line::End(above.end())),
            _ => Ok(()),
        }
    }
}

impl Sink for Vec<Line> {
    fn append(&mut self, line: &Line) -> Result<()> {
        self.push(line.clone());
        Ok(())
    }
}

/// Writes the lines of a run one by one to a stream, such as the standard output of a shard.
#[derive(Debug)]
pub struct Stream<W> {
    to: W,
    above: Option<Above>,
}

impl<W: Write> Stream<W> {
    pub fn new(to: W) -> Self {
        Self { to, above: None }
    }
}

impl<W: Write> Sink for Stream<W> {
    fn append(&mut self, line: &Line) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).context("cannot write the record as JSON")?;
        match (line, &mut self.above) {
            (Line::Run(header), above) => *above = Some(Above::header(&header.run, &bytes)),
            (_, Some(above)) => above.add(&bytes),
            (_, None) => {}
        }
        bytes.push(b'\n');
        let written = self.to.write_all(&bytes).and_then(|()| self.to.flush());
        written.context("cannot print the records")
    }

    fn end(&mut self) -> Result<()> {
        let end = self.above.as_ref().map(Above::end);
        end.map_or(Ok(()), |end| self.append(&Line::End(end)))
    }
}

/// Fails if a file holds something else than records: nobody wants to lose his own text by the name
/// of a wrong file. A damaged line is no reason.
fn ensure_records(file: &mut File, path: &FilePath) -> Result<()> {
    let mut start = Vec::new();
    let read = file.seek(SeekFrom::Start(0));
    let read = read.and_then(|_| Read::by_ref(file).take(START).read_to_end(&mut start));
    read.with_context(|| format!("cannot read {path}"))?;
    let lines = without_mark(&start).trim_ascii().split(|byte| *byte == b'\n');
    let lines: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).collect();
    let is_record = |line: &&[u8]| match serde_json::from_slice::<Line>(line) {
        Ok(_) => true,
        Err(error) => error.is_eof() && line.starts_with(KIND),
    };
    // A kill may have left a few bytes of the only line.
    let is_torn = || matches!(lines[..], [line] if KIND.starts_with(line));
    ensure!(
        lines.is_empty() || is_torn() || lines.iter().any(is_record),
        "{path} holds something else than records{}; {OTHER}",
        if is_packed(&start) { ", or packed ones" } else { "" }
    );
    Ok(())
}

/// Bytes of a file that are looked at: a header has a few thousand.
const START: u64 = 256 << 10;
/// How a line begins.
const KIND: &[u8] = b"{\"kind\":\"";

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
    use crate::SCHEMA;

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
    fn only_records_are_appended_to_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some");
        let header = Line::Run(Box::new(Header { schema: SCHEMA, ..Header::default() }));
        let header = serde_json::to_string(&header).unwrap();
        let others = ["(module)", "[1]", "{\"a\": 1}", "{\n  \"a\": 1\n}", "\u{feff}text"];
        for own in others.into_iter().chain(["{\"kind\":\"Pod\"}", "{\n  \"kind\": \"run\"\n}"]) {
            std::fs::write(&path, own).unwrap();
            for refused in [RecordFile::append_to(&path), RecordFile::replacing(&path)] {
                let said = format!("{:#}", refused.unwrap_err());
                assert!(said.contains("holds something else than records; name"), "{said}");
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), own);
        }
        let (half, damaged) = (&header[..40], format!("damage\n{header}\n"));
        for records in ["", "\n", "{\"ki", "{\"ki\n", half, &header, &damaged] {
            std::fs::write(&path, records).unwrap();
            // The first closes half a line.
            for _ in 0..2 {
                RecordFile::append_to(&path).unwrap();
                RecordFile::replacing(&path).unwrap();
            }
        }
        for (other, kind) in [(Path::new("/dev/null"), "a device"), (folder.path(), "a folder")] {
            let said = RecordFile::replacing(other).unwrap_err().to_string();
            assert!(said.contains(&format!("it is {kind}; name another file")), "{said}");
        }
        assert!(RecordFile::ensure_replaceable(&path).is_ok());
        assert!(RecordFile::ensure_replaceable(Path::new("/proc/some.jsonl")).is_err());
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
            let (file, run) = RecordFile::go_on(&path).unwrap();
            assert_eq!((run.unwrap().1.len(), file.was_torn), (1, torn), "{content}");
            assert_eq!(std::fs::read_to_string(&part).unwrap(), whole);
        }
        std::fs::write(&part, format!("{header}\n{{\n{first}\n")).unwrap();
        let (mut file, run) = RecordFile::go_on(&path).unwrap();
        assert!(run.is_none() && file.clear().unwrap() && !file.clear().unwrap());
    }
}
