//! The progress of longer work, on the standard error.

use super::{complain, takes_escapes};
use crate::escape::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Interval between lines where the standard error is not a terminal.
const EVERY: Duration = Duration::from_secs(20);

/// A bar on a terminal, and a line every 20 s elsewhere. The bar leaves nothing behind.
pub struct Progress {
    bar: ProgressBar,
    last_line: Mutex<Option<Instant>>,
}

impl Progress {
    /// Progress over `steps` steps. Shows nothing unless `wanted`: other lines may go there.
    pub fn new(steps: usize, wanted: bool) -> Self {
        let target = match wanted && takes_escapes() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        let style = "{pos}/{len} [{elapsed_precise}, {eta_precise} left] {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        let lines = wanted && bar.is_hidden();
        Self { bar, last_line: Mutex::new(lines.then(Instant::now)) }
    }

    /// Begins the next step.
    pub fn next(&self, what: impl Into<String>) {
        let what = terminal(&what.into(), &[]);
        self.bar.set_message(what.clone());
        self.bar.inc(1);
        let mut last_line = self.last_line.lock();
        if last_line.is_some_and(|last| last.elapsed() >= EVERY) {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let left = self.bar.elapsed().as_secs() * all.saturating_sub(done) / done.max(1);
            let left = match done {
                // The first steps say too little of the others.
                ..10 => String::new(),
                _ => format!(", about {}:{:02} min left", left / 60, left % 60),
            };
            self.print(&format!("[{done}/{all}{left}] {what}"));
            *last_line = Some(Instant::now());
        }
    }

    pub fn add(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

    /// Prints a sentence above the bar.
    pub fn print(&self, sentence: &str) {
        // A closed standard error does not stop the work.
        self.bar.suspend(|| complain(sentence));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
