//! The parent's side: one child process.

use super::death::occupied;
use super::lines::{Lines, Received};
use super::{CHILD, Death, Error, Limits, Stop};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
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

/// A child process that receives `T` and sends `F`.
#[derive(Debug)]
pub struct Child<T, F> {
    process: std::process::Child,
    lines: Lines,
    limits: Limits,
    checked: Instant,
    death: Option<Death>,
    stop: Stop,
    messages: PhantomData<fn(T) -> F>,
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

impl<T: Serialize, F: DeserializeOwned> Child<T, F> {
    /// Starts a child, whose program has to call [`Parent::join`](super::Parent::join).
    /// Standard output and error are those of the command. The child runs in a process
    /// group of its own, so that Ctrl-C reaches the parent only, and it ends with the
    /// *thread* that calls this.
    ///
    /// # Errors
    ///
    /// When the system starts no process or has no sockets.
    pub fn spawn(command: Command, limits: Limits) -> Result<Self, Error> {
        Self::start(command, limits, Stop::default())
    }

    pub(super) fn start(mut command: Command, limits: Limits, stop: Stop) -> Result<Self, Error> {
        let pair = UnixStream::pair().map_err(Error::system("make a socket pair"))?;
        let (ours, theirs) = pair;
        let lines = Lines::new(ours);
        lines.limit_sending(SENDING)?;
        command
            .env(CHILD, std::process::id().to_string())
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)));
        let process = command.spawn().map_err(Error::system("start a child process"))?;
        // The command holds the child's end of the socket, whose closing is to be noticed.
        drop(command);
        Ok(Self {
            process,
            lines,
            limits,
            checked: Instant::now(),
            death: None,
            stop,
            messages: PhantomData,
        })
    }

    /// Its process number, for a tracer or to send a signal. The number is its own at least
    /// until this `Child` reports its death or is dropped.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// When the child has ended or does not read for five seconds. [`Self::receive`] tells
    /// which.
    pub fn send(&mut self, message: &T) -> Result<(), Error> {
        self.lines.send(message)
    }

    /// Waits for the next message until the deadline. One that has arrived already is
    /// received even when the deadline has passed.
    ///
    /// # Errors
    ///
    /// When the child sends something else than a message, or the system fails.
    pub fn receive(&mut self, deadline: Instant) -> Result<Heard<F>, Error> {
        loop {
            if let Some(death) = &self.death {
                return Ok(Heard::Ended(death.clone()));
            }
            let next = match self.limits.memory {
                Some(_) => deadline.min(self.checked + CHECK),
                None => deadline,
            };
            match self.lines.receive(Some(next))? {
                Received::Message(message) => return Ok(Heard::Message(message)),
                Received::Closed => {
                    return self.last_words(LAST_WORDS, Death::Hung).map(Heard::Ended);
                }
                Received::Nothing => {}
            }
            self.check_memory()?;
            if self.death.is_none() && Instant::now() >= deadline {
                return Ok(Heard::Silent);
            }
        }
    }

    /// Waits for the child to end by itself, and kills it after `grace`.
    ///
    /// # Errors
    ///
    /// When the system does not let it be waited for.
    pub fn end(mut self, grace: Duration) -> Result<Death, Error> {
        self.last_words(grace, Death::Time(grace))
    }

    /// Waits for the end of a child that says nothing more; `otherwise` is the reason for
    /// killing it.
    fn last_words(&mut self, grace: Duration, otherwise: Death) -> Result<Death, Error> {
        let until = Instant::now() + grace;
        while self.death.is_none() {
            if let Some(status) = self.reap(false)? {
                self.death = Some(Death::of(status));
            } else if Instant::now() >= until {
                self.kill_for(otherwise.clone())?;
            } else {
                self.check_memory()?;
                sleep(POLL);
            }
        }
        Ok(self.death.clone().unwrap_or(otherwise))
    }

    fn check_memory(&mut self) -> Result<(), Error> {
        let Some(limit) = self.limits.memory else { return Ok(()) };
        if self.death.is_none() && self.checked.elapsed() >= CHECK {
            self.checked = Instant::now();
            if occupied(self.pid()) > limit {
                self.kill_for(Death::Memory(limit))?;
            }
        }
        Ok(())
    }
}

impl<T, F> Child<T, F> {
    /// Kills the child and waits for it.
    ///
    /// # Errors
    ///
    /// When the system does not let it be waited for.
    pub fn kill(&mut self) -> Result<Death, Error> {
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
    fn kill_for(&mut self, reason: Death) -> Result<(), Error> {
        self.kill()?;
        self.death = Some(reason);
        Ok(())
    }

    /// Waits for the child, or checks whether it has ended.
    fn reap(&mut self, wait: bool) -> Result<Option<ExitStatus>, Error> {
        let Self { process, stop, .. } = self;
        let status = stop.reaping(process.id(), || {
            if wait { process.wait().map(Some) } else { process.try_wait() }
        });
        status.map_err(Error::system("wait for a child process"))
    }
}

impl<T, F> Drop for Child<T, F> {
    fn drop(&mut self) {
        // Nobody is left to be told. What cannot be waited for ends with this process.
        let _ = self.kill();
    }
}
