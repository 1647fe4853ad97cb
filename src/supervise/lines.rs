//! Messages as lines of JSON over a socket.

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

/// Longest line that is read, bytes: a broken child must not fill the parent's memory.
const LONGEST: usize = 64 << 20;

pub(super) fn send(mut stream: &UnixStream, message: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(message).context("a message cannot be written as JSON")?;
    line.push(b'\n');
    stream.write_all(&line).context("the other process has ended or does not listen")
}

/// Waits for a message; `None` if the other end was closed. A line cut off by that is ignored.
pub(super) fn receive<M: DeserializeOwned>(
    stream: &mut BufReader<UnixStream>,
) -> Result<Option<M>> {
    let mut line = Vec::new();
    match stream.take(LONGEST as u64).read_until(b'\n', &mut line) {
        // The other end was closed before it read everything.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
        read => read.context("cannot read from a socket")?,
    };
    if line.last() != Some(&b'\n') {
        ensure!(line.len() < LONGEST, "a line is longer than {} MiB", LONGEST >> 20);
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).with_context(|| {
        let begin: String = String::from_utf8_lossy(&line).trim_end().chars().take(120).collect();
        format!("'{begin}' is not a message that was expected")
    })
}
