//! The child's side: the connection to its parent.

use super::Error;
use super::lines::{Lines, Received};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{dup2_stdin, getppid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Environment variable that is set in every child, to the parent's process number.
pub const CHILD: &str = "TOUCHSTONE_CHILD";

/// The connection of a child that receives `T` and sends `F`.
#[derive(Debug)]
pub struct Parent<T, F> {
    lines: Lines,
    messages: PhantomData<fn(F) -> T>,
}

impl<T: DeserializeOwned, F: Serialize> Parent<T, F> {
    /// Connects this process to its parent; `None` if it is no child. To be called once,
    /// from the first thread. From then on the process ends when the parent does, and its
    /// standard input is `/dev/null`.
    ///
    /// # Errors
    ///
    /// When the parent has ended, or another program set [`CHILD`].
    pub fn join() -> Result<Option<Self>, Error> {
        let Some(parent) = std::env::var_os(CHILD) else { return Ok(None) };
        set_pdeathsig(Signal::SIGKILL)
            .map_err(|error| Error::system("ask to end with the parent")(error.into()))?;
        // The parent may have ended before that.
        let parent = parent.to_str().and_then(|text| text.parse().ok());
        if parent != Some(getppid().as_raw()) {
            return Err(Error::Orphan);
        }
        let stdin = std::io::stdin().as_fd().try_clone_to_owned();
        let stream = UnixStream::from(stdin.map_err(|_| Error::Orphan)?);
        stream.peer_addr().map_err(|_| Error::Orphan)?;
        let nothing = File::open("/dev/null").map_err(Error::system("open /dev/null"))?;
        dup2_stdin(&nothing)
            .map_err(|error| Error::system("replace the standard input")(error.into()))?;
        Ok(Some(Self { lines: Lines::new(stream), messages: PhantomData }))
    }

    /// Sends a message to the parent.
    ///
    /// # Errors
    ///
    /// When the parent has ended.
    pub fn say(&mut self, message: &F) -> Result<(), Error> {
        self.lines.send(message)
    }

    /// Waits for the parent's next message; `None` if there are no more.
    ///
    /// # Errors
    ///
    /// When the parent sends something else than a message, or the system fails.
    pub fn hear(&mut self) -> Result<Option<T>, Error> {
        loop {
            match self.lines.receive(None)? {
                Received::Message(message) => return Ok(Some(message)),
                Received::Closed => return Ok(None),
                Received::Nothing => {}
            }
        }
    }
}
