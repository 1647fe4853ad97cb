//! JSON lines over a socket.

use super::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Longest line that is read, bytes: a broken child must not fill the parent's memory.
pub(super) const LONGEST: usize = 64 << 20;

/// Shortest time to wait for input: a socket has no timeout of zero.
const SHORTEST: Duration = Duration::from_millis(1);

/// One end of the connection.
#[derive(Debug)]
pub(super) struct Lines {
    stream: BufReader<UnixStream>,
    /// The line that is being received.
    line: Vec<u8>,
}

/// What arrives at one end.
pub(super) enum Received<M> {
    Message(M),
    /// The other end was closed. A line that was cut off by that is ignored.
    Closed,
    /// Nothing arrived in time.
    Nothing,
}

impl Lines {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream), line: Vec::new() }
    }

    /// Limits how long [`Self::send`] waits for the other process to read.
    pub(super) fn limit_sending(&self, limit: Duration) -> Result<(), Error> {
        let limited = self.stream.get_ref().set_write_timeout(Some(limit));
        limited.map_err(Error::system("set the timeout of a socket"))
    }

    pub(super) fn send<M: Serialize>(&mut self, message: &M) -> Result<(), Error> {
        let mut line = serde_json::to_vec(message).map_err(Error::Unwritable)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(Error::Gone)
    }

    /// Receives the next message; without a deadline, waits for as long as it takes.
    pub(super) fn receive<M: DeserializeOwned>(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Received<M>, Error> {
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let timeout = left.map(|left| left.max(SHORTEST));
            let limited = self.stream.get_ref().set_read_timeout(timeout);
            limited.map_err(Error::system("set the timeout of a socket"))?;
            let bytes = match self.stream.fill_buf() {
                Ok([]) => return Ok(Received::Closed),
                Ok(bytes) => bytes,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(Received::Nothing),
                    ErrorKind::Interrupted => continue,
                    // The other end was closed before it read everything.
                    ErrorKind::ConnectionReset => return Ok(Received::Closed),
                    _ => return Err(Error::system("read from a socket")(error)),
                },
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.stream.consume(used);
            if self.line.len() > LONGEST {
                self.line = Vec::new();
                return Err(Error::Long);
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return serde_json::from_slice(&line).map(Received::Message).map_err(|source| {
                    let line = String::from_utf8_lossy(&line).chars().take(120).collect();
                    Error::Foreign { line, source }
                });
            }
            if left == Some(Duration::ZERO) {
                return Ok(Received::Nothing);
            }
        }
    }
}
