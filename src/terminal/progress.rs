//! A progress bar for longer work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work that is shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on the standard error, if that is a terminal. It appears after
/// [`PATIENCE`] and leaves nothing behind.
pub struct Progress {
    bar: ProgressBar,
    /// Tells the thread that would show the bar that the work is done.
    appearing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// A bar over `steps` steps; none if `wanted` is false, for instance because other lines go
    /// to the standard error meanwhile.
    #[must_use]
    pub fn new(steps: usize, wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        let appearing = (wanted && std::io::stderr().is_terminal()).then(|| {
            let (done, is_done) = channel();
            let bar = bar.clone();
            let thread = std::thread::spawn(move || {
                if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
            });
            (done, thread)
        });
        Self { bar, appearing }
    }

    /// Begins the next step.
    pub fn next(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.appearing.take() {
            drop(done);
            // It does nothing that could panic, and a bar is no reason to fail.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
