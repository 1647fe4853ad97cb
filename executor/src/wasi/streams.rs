//! The standard streams of an instance: position of the input, output, lines of errors.

use crate::host::{Log, Stream};

/// Most bytes of standard output in one call.
pub const MOST_OUTPUT: usize = 64 << 20;
/// Bytes of the buffer of standard output that are kept from call to call.
const KEPT_OUTPUT: usize = 1 << 20;
/// Longest line of standard error; longer ones are divided.
const LONGEST_LINE: usize = 4096;
/// Level of standard error in the log: info.
const LEVEL: u32 = 2;

#[derive(Clone)]
pub(crate) struct Streams {
    /// Bytes of the input that were read.
    pub(super) taken: usize,
    output: Vec<u8>,
    /// `true` if the output is that of a program that has ended.
    is_given: bool,
    errors: Lines,
}

impl Streams {
    pub(crate) fn new(log: &Log) -> Self {
        Self { taken: 0, output: Vec::new(), is_given: false, errors: Lines::new(log) }
    }

    /// Resets the streams to those of a clean instance, keeping a buffer of moderate size.
    pub(crate) fn reset(&mut self) {
        self.end();
        self.begin();
        self.is_given = false;
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

    pub(super) fn complain(&mut self, bytes: &[u8]) {
        self.errors.write(bytes);
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
