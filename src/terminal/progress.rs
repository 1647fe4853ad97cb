//! A progress bar for longer work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A bar on the standard error, if that is a terminal. It leaves nothing behind.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar over `steps` steps; none if `wanted` is false, for instance because other lines go
    /// to the standard error meanwhile.
    #[must_use]
    pub fn new(steps: usize, wanted: bool) -> Self {
        let target =
            if wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Begins the next step.
    pub fn next(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
