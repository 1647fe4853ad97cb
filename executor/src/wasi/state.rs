//! State that a guest's calls of WASI change: descriptors, clocks, random numbers, output.

use super::Settings;
use super::errno::{Answer, Errno};
use super::files::{Directory, Open};
use crate::host::{Log, Stream};
use std::sync::Arc;

/// Most open descriptors of an instance.
const MOST_DESCRIPTORS: usize = 128;
/// Most bytes of standard output in one call.
pub const MOST_OUTPUT: usize = 64 << 20;
/// Bytes of the buffer of standard output that are kept from call to call.
const KEPT_OUTPUT: usize = 1 << 20;
/// Longest line of standard error; longer ones are divided.
const LONGEST_LINE: usize = 4096;
/// Level of standard error in the log: info.
const LEVEL: u32 = 2;
/// Time that each reading of a clock adds, ns.
pub const STEP: u64 = 1_000_000;
/// Wall-clock time of the start, ns: 2020-01-01 00:00 UTC.
pub const EPOCH: u64 = 1_577_836_800_000_000_000;
/// Seed of the random numbers.
pub const SEED: u64 = 0x746f_7563_6873_746f;

/// The object of a descriptor.
#[derive(Debug, Clone)]
pub(super) enum Descriptor {
    Input,
    Output,
    Error,
    /// A directory or a file; `preopened` is handed in by the host.
    Open(Open),
}

/// State of one instance.
#[derive(Clone)]
pub(crate) struct State {
    pub(super) settings: Arc<Settings>,
    descriptors: Vec<Option<Descriptor>>,
    /// Bytes of the input that were read.
    pub(super) taken: usize,
    output: Vec<u8>,
    /// `true` if the output is that of a program that has ended.
    is_given: bool,
    errors: Lines,
    random: fastrand::Rng,
    /// Time since the start, ns.
    elapsed: u64,
}

impl State {
    /// The state of a clean instance.
    pub(crate) fn new(settings: Option<Arc<Settings>>, log: &Log) -> Self {
        let mut state = Self {
            settings: settings.unwrap_or_default(),
            descriptors: Vec::new(),
            taken: 0,
            output: Vec::new(),
            is_given: false,
            errors: Lines::new(log),
            random: fastrand::Rng::with_seed(SEED),
            elapsed: 0,
        };
        state.open_standard();
        state
    }

    fn open_standard(&mut self) {
        let standard = [Descriptor::Input, Descriptor::Output, Descriptor::Error];
        let directory = self.settings.directory.as_ref().map(Directory::preopened);
        self.descriptors.clear();
        self.descriptors
            .extend(standard.into_iter().chain(directory.map(Descriptor::Open)).map(Some));
    }

    /// Resets the state to that of a clean instance, keeping buffers of moderate size.
    pub(crate) fn reset(&mut self) {
        self.end();
        self.begin();
        self.is_given = false;
        self.open_standard();
        self.random.seed(SEED);
        self.elapsed = 0;
    }

    /// Begins a program, which may be another one in a used instance. Its output is also what was
    /// written before, in this use, and no program has given: by a start function, or by calls in
    /// other conventions.
    pub(crate) fn begin(&mut self) {
        self.taken = 0;
        if std::mem::take(&mut self.is_given) {
            self.output.clear();
            self.output.shrink_to(KEPT_OUTPUT);
        }
    }

    /// Logs the last line of standard error if it is incomplete, and gives the standard output.
    pub(crate) fn end(&mut self) -> &[u8] {
        self.end_line();
        self.is_given = true;
        &self.output
    }

    /// Logs the last line of standard error if it is incomplete.
    pub(crate) fn end_line(&mut self) {
        self.errors.end();
    }

    /// `true` if standard output may get so many bytes more.
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        self.output.len() + bytes as usize <= MOST_OUTPUT
    }

    /// Appends to standard output, which has room for it.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.errors.log.copy(Stream::Output, bytes);
        self.output.extend_from_slice(bytes);
    }

    /// Appends to standard error.
    pub(super) fn complain(&mut self, bytes: &[u8]) {
        self.errors.write(bytes);
    }

    pub(super) fn fill_random(&mut self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    /// Reads a clock, ns: the real-time clock (0), the monotonic one (1), or the processor time
    /// of the process (2) or the thread (3).
    pub(super) fn clock(&mut self, id: u32) -> Answer<u64> {
        let start = clock_start(id)?;
        self.elapsed = self.elapsed.saturating_add(STEP);
        Ok(start.saturating_add(self.elapsed))
    }

    /// The time that a clock shows, without a reading.
    pub(super) fn now(&self, id: u32) -> Answer<u64> {
        Ok(clock_start(id)?.saturating_add(self.elapsed))
    }

    /// Lets all clocks advance.
    pub(super) fn advance(&mut self, nanoseconds: u64) {
        self.elapsed = self.elapsed.saturating_add(nanoseconds);
    }

    pub(super) fn descriptor(&mut self, fd: u32) -> Answer<&mut Descriptor> {
        self.descriptors.get_mut(fd as usize).and_then(Option::as_mut).ok_or(Errno::BadFile)
    }

    /// The directory or file of a descriptor; standard streams give `other`.
    pub(super) fn open(&mut self, fd: u32, other: Errno) -> Answer<&mut Open> {
        match self.descriptor(fd)? {
            Descriptor::Open(open) => Ok(open),
            _ => Err(other),
        }
    }

    /// Gives the lowest free descriptor to a directory or file.
    pub(super) fn insert(&mut self, open: Open) -> Answer<u32> {
        let free = self.descriptors.iter().position(Option::is_none);
        let index = free.unwrap_or(self.descriptors.len());
        if index >= MOST_DESCRIPTORS {
            return Err(Errno::TooManyFiles);
        }
        if index == self.descriptors.len() {
            self.descriptors.push(None);
        }
        self.descriptors[index] = Some(Descriptor::Open(open));
        u32::try_from(index).map_err(|_| Errno::TooManyFiles)
    }

    pub(super) fn close(&mut self, fd: u32) -> Answer<()> {
        let place = self.descriptors.get_mut(fd as usize).ok_or(Errno::BadFile)?;
        place.take().map(drop).ok_or(Errno::BadFile)
    }

    /// Moves a descriptor to the place of another one, which is closed.
    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Answer<()> {
        self.descriptor(from)?;
        self.descriptor(to)?;
        if from != to {
            self.descriptors[to as usize] = self.descriptors[from as usize].take();
        }
        Ok(())
    }
}

fn clock_start(id: u32) -> Answer<u64> {
    match id {
        0 => Ok(EPOCH),
        1..=3 => Ok(0),
        _ => Err(Errno::Invalid),
    }
}

/// Standard error: bytes on their way to the log, line by line.
#[derive(Clone)]
pub struct Lines {
    line: Vec<u8>,
    log: Log,
}

impl Lines {
    pub(crate) fn new(log: &Log) -> Self {
        Self { line: Vec::new(), log: log.clone() }
    }

    /// Logs the lines that are complete, and keeps the rest.
    pub fn write(&mut self, bytes: &[u8]) {
        self.log.copy(Stream::Error, bytes);
        if !self.log.logs(LEVEL) {
            return;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_end) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            for chunk in text.chunks(LONGEST_LINE) {
                if self.line.len() + chunk.len() > LONGEST_LINE {
                    self.flush();
                }
                self.line.extend_from_slice(chunk);
            }
            if is_end {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.log.texts(LEVEL, b"stderr", &self.line);
        self.line.clear();
    }

    /// Logs the rest.
    pub fn end(&mut self) {
        if !self.line.is_empty() {
            self.flush();
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end();
    }
}
