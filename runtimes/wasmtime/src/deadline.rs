//! Deadlines by Wasmtime's epochs: a thread that counts time for one engine.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use touchstone_executor::{Error, Result};

/// Length of an epoch. A guest stops at most two of these after its deadline.
const TICK: Duration = Duration::from_millis(10);

/// So many epochs never pass; far from the end of the numbers, because Wasmtime adds the
/// current epoch.
pub(crate) const FAR: u64 = u64::MAX / 4;

/// The counting thread; it ends with this value.
pub(crate) struct Clock {
    /// Epochs that a call may see.
    ticks: u64,
    /// Dropped to tell the thread to end.
    _stop: Sender<()>,
}

impl Clock {
    pub(crate) fn start(engine: &wasmtime::Engine, deadline: Duration) -> Result<Self> {
        let engine = engine.weak();
        let (stop, stopped) = channel::<()>();
        std::thread::Builder::new()
            .name("touchstone-epochs".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    match engine.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => break,
                    }
                }
            })
            .map_err(Error::system("cannot start the thread that watches deadlines"))?;
        // One more, because the first epoch may end right away.
        let ticks = deadline.as_nanos().div_ceil(TICK.as_nanos());
        let ticks = u64::try_from(ticks).unwrap_or(FAR).min(FAR) + 1;
        Ok(Self { ticks, _stop: stop })
    }

    /// Epochs from now until a call is stopped.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks
    }
}
