//! The child's side: the connection to its parent, and messages as lines of JSON over a socket.

use anyhow::{Context, Result, ensure};
use nix::sys::prctl::{set_name, set_pdeathsig};
use nix::sys::signal::Signal;
use nix::unistd::{dup2_stdin, getppid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Environment variable of every child: the parent's process number.
pub const CHILD: &str = "TOUCHSTONE_CHILD";

const ORPHAN: &str = "TOUCHSTONE_CHILD is set, but no touchstone process has started this one";

/// The connection of a child that receives `T` and sends `F`.
#[derive(Debug)]
pub struct Parent<T, F> {
    stream: BufReader<UnixStream>,
    messages: PhantomData<fn(F) -> T>,
}

impl<T: DeserializeOwned, F: Serialize> Parent<T, F> {
    /// Connects this process to its parent; `None` if it is no child. Call once, from the first
    /// thread. From then on the process ends when the parent does, and its standard input is
    /// `/dev/null`. Fails if the parent has ended, or another program set [`CHILD`].
    pub fn join() -> Result<Option<Self>> {
        let Some(parent) = std::env::var_os(CHILD) else { return Ok(None) };
        set_pdeathsig(Signal::SIGKILL).context("cannot ask to end with the parent")?;
        // Otherwise `ps` calls the process `exe`.
        let _ = set_name(c"touchstone");
        // The parent may have ended before that.
        let parent = parent.to_str().and_then(|text| text.parse().ok());
        ensure!(parent == Some(getppid().as_raw()), ORPHAN);
        let stdin = std::io::stdin().as_fd().try_clone_to_owned().context(ORPHAN)?;
        let stream = UnixStream::from(stdin);
        stream.peer_addr().context(ORPHAN)?;
        let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
        dup2_stdin(&nothing).context("cannot replace the standard input")?;
        Ok(Some(Self { stream: BufReader::new(stream), messages: PhantomData }))
    }

    pub fn say(&mut self, message: &F) -> Result<()> {
        send(self.stream.get_ref(), message)
    }

    /// Waits for the parent's next message; `None` if there are no more.
    pub fn hear(&mut self) -> Result<Option<T>> {
        receive(&mut self.stream)
    }
}

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
