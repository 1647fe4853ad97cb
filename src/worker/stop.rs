//! Ending a run of workers in order.

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a worker that was asked to end may take.
const GRACE: Duration = Duration::from_secs(3);

/// Ends a run from another thread, for instance from a handler of Ctrl-C.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    asked: bool,
    /// The worker that runs, as long as nobody has waited for it.
    worker: Option<Pid>,
}

impl Stop {
    /// Asks the run to end: the worker is told (SIGTERM), and killed where it does not
    /// listen. Comes back when no worker runs any more, or was killed.
    pub fn now(&self) {
        self.state().asked = true;
        self.signal(Signal::SIGTERM);
        let step = Duration::from_millis(20);
        for _ in 0..GRACE.as_millis() / step.as_millis() {
            if self.state().worker.is_none() {
                return;
            }
            std::thread::sleep(step);
        }
        self.signal(Signal::SIGKILL);
    }

    /// Whether the run is to end.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.state().asked
    }

    /// Starts a worker, unless the run is to end.
    pub(super) fn spawn(&self, command: &mut Command) -> Result<Option<Child>> {
        let mut state = self.state();
        if state.asked {
            return Ok(None);
        }
        let child = command.spawn().context("cannot start a worker process")?;
        state.worker = i32::try_from(child.id()).ok().map(Pid::from_raw);
        Ok(Some(child))
    }

    /// To be called before a worker is waited for: its number may be another process's
    /// afterwards.
    pub(super) fn forget(&self) {
        self.state().worker = None;
    }

    fn signal(&self, signal: Signal) {
        // Held meanwhile, so that nobody waits for the worker before it is signalled.
        let state = self.state();
        if let Some(worker) = state.worker {
            // It may have ended by itself.
            let _ = kill(worker, signal);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
