//! The parent's side: one child process.

use super::death::occupied;
use super::{CHILD, Death, Stop, lines};
use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::BufReader;
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How often a child's memory is checked.
const CHECK: Duration = Duration::from_millis(20);
/// How often to check whether a child that closed its connection has ended.
const POLL: Duration = Duration::from_millis(1);
/// How long a child may take to end after it closed its connection. A child that panics
/// closes it first, and its exit code is wanted.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long a child may take to read what it is sent.
const SENDING: Duration = Duration::from_secs(5);

/// The image of this process, also after its file was replaced or removed.
pub const RUNNING: &str = "/proc/self/exe";

/// A command that starts this program again, with other arguments. A build that replaces the
/// program's file meanwhile makes no difference.
#[must_use]
pub fn this_program(arguments: &[&str]) -> Command {
    let mut command = Command::new(RUNNING);
    command.args(arguments);
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    command
}

/// A child process that receives `T` and sends `F`.
#[derive(Debug)]
pub struct Child<T, F> {
    process: std::process::Child,
    stream: UnixStream,
    /// What a thread reads from the stream. It waits until a message is taken.
    received: Receiver<Result<F>>,
    memory: Option<u64>,
    death: Option<Death>,
    stop: Stop,
    sent: PhantomData<fn(T)>,
}

/// What the parent learns by listening.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard<M> {
    /// The child said this.
    Message(M),
    /// The child ended, or was killed for exceeding a limit, after it had said everything.
    Ended(Death),
    /// The child said nothing until the deadline. It still runs.
    Silent,
}

impl<T: Serialize, F: DeserializeOwned + Send + 'static> Child<T, F> {
    /// Starts a child, whose program has to call [`Parent::join`](super::Parent::join).
    /// Standard output and error are those of the command. The child runs in a process
    /// group of its own, so that Ctrl-C reaches the parent only, and it ends with the
    /// *thread* that calls this.
    ///
    /// # Errors
    ///
    /// When the system starts no process or has no sockets.
    pub fn spawn(command: Command) -> Result<Self> {
        Self::start(command, Stop::default())
    }

    pub(super) fn start(mut command: Command, stop: Stop) -> Result<Self> {
        let (stream, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
        stream.set_write_timeout(Some(SENDING)).context("cannot limit a socket")?;
        let mut reader = BufReader::new(stream.try_clone().context("cannot share a socket")?);
        command
            .env(CHILD, std::process::id().to_string())
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)));
        let process = command.spawn().context("cannot start a child process")?;
        // The command holds the child's end of the socket, whose closing is to be noticed.
        drop(command);
        let (sender, received) = sync_channel(0);
        let child =
            Self { process, stream, received, memory: None, death: None, stop, sent: PhantomData };
        let read = move || {
            while let Some(message) = lines::receive(&mut reader).transpose() {
                if sender.send(message).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(read).context("cannot start a thread")?;
        Ok(child)
    }

    /// Limits the memory that the child alone occupies, bytes: anonymous and shared pages that
    /// are resident, without files. It is checked every 20 ms while the parent receives.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.memory = Some(bytes);
    }

    /// Its process number, for a tracer or to send a signal. The number is its own at least
    /// until this `Child` reports its death or is dropped.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a message. A child that has ended gets none, and [`Self::receive`] tells how it
    /// ended; one that does not read for five seconds gets a part, and is silent.
    pub fn send(&self, message: &T) {
        let _ = lines::send(&self.stream, message);
    }

    /// Waits for the next message until the deadline.
    ///
    /// # Errors
    ///
    /// When the child sends something else than a message, or the system fails.
    pub fn receive(&mut self, deadline: Instant) -> Result<Heard<F>> {
        loop {
            if let Some(death) = &self.death {
                return Ok(Heard::Ended(death.clone()));
            }
            let now = Instant::now();
            let next = if self.memory.is_some() { deadline.min(now + CHECK) } else { deadline };
            match self.received.recv_timeout(next.saturating_duration_since(now)) {
                Ok(message) => return message.map(Heard::Message),
                Err(RecvTimeoutError::Disconnected) => self.last_words()?,
                Err(RecvTimeoutError::Timeout) => self.check_memory()?,
            }
            if self.death.is_none() && Instant::now() >= deadline {
                return Ok(Heard::Silent);
            }
        }
    }

    /// Waits for the end of a child that closed its connection, and kills it if that takes long.
    fn last_words(&mut self) -> Result<()> {
        let until = Instant::now() + LAST_WORDS;
        while self.death.is_none() {
            if let Some(status) = self.reap(false)? {
                self.death = Some(Death::of(status));
            } else if Instant::now() >= until {
                self.kill_for(Death::Hung)?;
            } else {
                self.check_memory()?;
                sleep(POLL);
            }
        }
        Ok(())
    }

    fn check_memory(&mut self) -> Result<()> {
        match self.memory {
            Some(limit) if occupied(self.pid()) > limit => self.kill_for(Death::Memory(limit)),
            _ => Ok(()),
        }
    }
}

impl<T, F> Child<T, F> {
    /// Kills the child and waits for it.
    ///
    /// # Errors
    ///
    /// When the system does not let it be waited for.
    pub fn kill(&mut self) -> Result<Death> {
        if let Some(death) = &self.death {
            return Ok(death.clone());
        }
        // One that has just ended by itself cannot be killed any more, which is as good.
        let _ = self.process.kill();
        let death = self.reap(true)?.map_or(Death::Hung, Death::of);
        self.death = Some(death.clone());
        Ok(death)
    }

    /// Kills the child for a reason, which becomes its death.
    fn kill_for(&mut self, reason: Death) -> Result<()> {
        self.kill()?;
        self.death = Some(reason);
        Ok(())
    }

    /// Waits for the child, or checks whether it has ended.
    fn reap(&mut self, wait: bool) -> Result<Option<ExitStatus>> {
        let Self { process, stop, .. } = self;
        let status = stop.reaping(process.id(), || {
            if wait { process.wait().map(Some) } else { process.try_wait() }
        });
        status.context("cannot wait for a child process")
    }
}

impl<T, F> Drop for Child<T, F> {
    fn drop(&mut self) {
        // Nobody is left to be told. What cannot be waited for ends with this process.
        let _ = self.kill();
        // The thread ends, even if a process that the child started holds the other end.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
