//! Ending children from another thread.

use super::Child;
use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for a child to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// Interval of checks whether it has ended.
const POLL: Duration = Duration::from_millis(5);

/// Ends the children that were started through it, and tells loops to end. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    asked: bool,
    /// Children that were not waited for: their numbers are not reused.
    running: BTreeSet<u32>,
}

impl Stop {
    /// Starts a child like [`Child::spawn`]; `None` after [`Self::now`].
    pub fn spawn<T: Serialize, F: DeserializeOwned + Send + 'static>(
        &self,
        command: Command,
    ) -> Result<Option<Child<T, F>>> {
        // Locked until the child is listed, so that it cannot be overlooked.
        let mut state = self.state();
        if state.asked {
            return Ok(None);
        }
        let child = Child::start(command, self.clone())?;
        state.running.insert(child.pid());
        Ok(Some(child))
    }

    /// Ends everything: asks the children to end (SIGTERM) and kills those that still run after
    /// three seconds. Returns when none runs. May be called from the thread of a handler of Ctrl-C,
    /// but not from a signal handler.
    pub fn now(&self) {
        self.state().asked = true;
        self.signal(Signal::SIGTERM);
        let until = Instant::now() + GRACE;
        while !self.state().running.is_empty() {
            if Instant::now() >= until {
                return self.signal(Signal::SIGKILL);
            }
            std::thread::sleep(POLL);
        }
    }

    /// `true` after [`Self::now`]: loops should end.
    pub fn asked(&self) -> bool {
        self.state().asked
    }

    /// Waits for a child. No signal is sent meanwhile: its number may be reused afterwards.
    pub(super) fn reaping(
        &self,
        pid: u32,
        wait: impl FnOnce() -> io::Result<Option<ExitStatus>>,
    ) -> io::Result<Option<ExitStatus>> {
        let mut state = self.state();
        let status = wait()?;
        if status.is_some() {
            state.running.remove(&pid);
        }
        Ok(status)
    }

    fn signal(&self, signal: Signal) {
        let state = self.state();
        for pid in state.running.iter().filter_map(|pid| i32::try_from(*pid).ok()) {
            // The child may have ended by itself.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
