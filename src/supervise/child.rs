//! The parent's side: one child process.

use super::Stop;
use super::parent::{CHILD, receive, send};
use crate::files;
use crate::proc::kib;
use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::BufReader;
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

const CHECK: Duration = Duration::from_millis(20);
/// How often to check whether a child that closed its connection has ended.
const POLL: Duration = Duration::from_millis(1);
/// Longest time until a child ends after it closed its connection. A child that panics closes it
/// first, and its exit code is wanted.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Longest time for a child to read a message.
const SENDING: Duration = Duration::from_secs(5);

/// The image of this process, also after its file was replaced or removed.
const RUNNING: &str = "/proc/self/exe";
/// Environment variables of an installed program (`cli/install.sh`), which a script starts with the
/// libraries beside it: the script, and the image.
const START: &str = "TOUCHSTONE_START";
const IMAGE: &str = "TOUCHSTONE_IMAGE";

/// The image of this program.
pub fn image() -> PathBuf {
    std::env::var_os(IMAGE).unwrap_or_else(|| RUNNING.into()).into()
}

/// A command that starts this program again with other arguments. Independent of a build that
/// replaces the program's file.
pub fn this_program(arguments: &[&str]) -> Command {
    let start = std::env::var_os(START).unwrap_or_else(|| RUNNING.into());
    let mut command = Command::new(start);
    command.args(arguments);
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    if let Some(data) = files::chosen() {
        command.env(files::DATA, data);
    }
    command
}

/// The end of a child, displayed as the predicate of a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    Exit(i32),
    /// Ended by this signal: `SIGSEGV`, or `signal 40` for one without a name.
    Signal(String),
    /// Killed for using more than this memory, bytes.
    Memory(u64),
    /// Killed for taking longer than this.
    Time(Duration),
    /// Killed because it closed its connection and did not end for several seconds.
    Hung,
}

impl Death {
    pub(super) fn of(status: ExitStatus) -> Self {
        match status.signal() {
            None => Self::Exit(status.code().unwrap_or_default()),
            Some(number) => Self::Signal(match Signal::try_from(number) {
                Ok(signal) => signal.to_string(),
                Err(_) => format!("signal {number}"),
            }),
        }
    }

    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(name) => write!(f, "was killed by {name}"),
            Self::Memory(bytes) => write!(f, "used more than {} MiB", bytes >> 20),
            Self::Time(limit) => write!(f, "took longer than {} s", limit.as_secs_f64()),
            Self::Hung => f.write_str("closed its connection and did not end"),
        }
    }
}

/// A process's own memory, bytes; 0 if the kernel does not report it.
pub(super) fn occupied(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| kib(&status, name).unwrap_or(0);
    (field("RssAnon") + field("RssShmem")) << 10
}

/// A child process that receives `T` and sends `F`.
#[derive(Debug)]
pub struct Child<T, F> {
    process: std::process::Child,
    stream: UnixStream,
    /// Messages, read by a thread that waits until one is taken.
    received: Receiver<Result<F>>,
    memory: Option<u64>,
    death: Option<Death>,
    stop: Stop,
    sent: PhantomData<fn(T)>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Heard<M> {
    Message(M),
    /// The child ended, or was killed for exceeding a limit, after its last message.
    Ended(Death),
    /// No message until the deadline. The child still runs.
    Silent,
}

impl<T: Serialize, F: DeserializeOwned + Send + 'static> Child<T, F> {
    /// Starts a child, whose program must call [`Parent::join`](super::Parent::join). Standard
    /// output and error are the command's. The child has its own process group, so that Ctrl-C
    /// reaches the parent only, and it ends with the *thread* that calls this.
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
        // The command holds the child's end of the socket, whose closing must be noticed.
        drop(command);
        let (sender, received) = sync_channel(0);
        let child =
            Self { process, stream, received, memory: None, death: None, stop, sent: PhantomData };
        let read = move || {
            while let Some(message) = receive(&mut reader).transpose() {
                if sender.send(message).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(read).context("cannot start a thread")?;
        Ok(child)
    }

    /// Limits the child's own memory, bytes: resident anonymous and shared pages, without files.
    /// Checked every 20 ms while the parent receives.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.memory = Some(bytes);
    }

    /// Process number, not reused before this `Child` reports its death or is dropped.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a message. A child that has ended gets none, and [`Self::receive`] tells how it ended;
    /// one that does not read for five seconds gets a part.
    pub fn send(&self, message: &T) {
        let _ = send(&self.stream, message);
    }

    /// Waits for the next message until the deadline. Fails if the child sends anything else.
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
    pub fn kill(&mut self) -> Result<Death> {
        if let Some(death) = &self.death {
            return Ok(death.clone());
        }
        // A child that has just ended needs no kill.
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
        // A process that cannot be waited for ends with this one.
        let _ = self.kill();
        // The thread ends, even if a process that the child started holds the other end.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
