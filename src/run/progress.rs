//! The progress of a run, on the standard error.

use super::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Interval between lines where the standard error is not a terminal.
const EVERY: Duration = Duration::from_secs(20);

/// A progress bar on a terminal, and a line every 20 s elsewhere.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    last_line: Option<Instant>,
}

impl Progress {
    /// Progress over `tasks` tasks.
    #[must_use]
    pub fn new(tasks: usize) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target =
            if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(tasks as u64), target);
        let style = "{pos}/{len} [{elapsed_precise}, {eta_precise} left] {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        let now = Instant::now();
        Self { bar, started: now, last_line: (!is_terminal).then_some(now) }
    }

    /// The estimated time left, in words; empty at the beginning.
    fn left(&self) -> String {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        if done < 10 {
            return String::new();
        }
        let each = self.started.elapsed().as_secs_f64() / done as f64;
        let seconds = (each * all.saturating_sub(done) as f64) as u64;
        format!(", about {}:{:02} min left", seconds / 60, seconds % 60)
    }
}

impl Observer for Progress {
    fn begins(&mut self, name: &str) {
        self.bar.inc(1);
        self.bar.set_message(name.to_owned());
        if self.last_line.is_some_and(|last| last.elapsed() >= EVERY) {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            // A closed standard error does not stop the run.
            let _ = writeln!(std::io::stderr(), "[{done}/{all}{}] {name}", self.left());
            self.last_line = Some(Instant::now());
        }
    }

    fn more(&mut self, tasks: usize) {
        self.bar.inc_length(tasks as u64);
    }

    fn says(&mut self, sentence: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{sentence}");
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
