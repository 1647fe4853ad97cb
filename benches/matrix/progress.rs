//! What is left of a run.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use touchstone::worker::Place;

/// What is left, on a terminal after every cell, elsewhere now and then.
pub(crate) struct Progress {
    total: usize,
    done: usize,
    /// Of this process, and what was taken by those before it.
    started: Instant,
    before: Duration,
    terminal: bool,
    last_line: Instant,
}

impl Progress {
    pub(crate) fn new(from: Place) -> Self {
        let now = Instant::now();
        Self {
            total: from.total,
            done: from.done,
            started: now,
            before: from.elapsed,
            terminal: std::io::stderr().is_terminal(),
            last_line: now,
        }
    }

    /// So many more than were thought of.
    pub(crate) fn add(&mut self, more: usize) {
        self.total += more;
    }

    pub(crate) fn next(&mut self, name: &str) {
        let quiet = Duration::from_secs(if self.terminal { 0 } else { 30 });
        if self.last_line.elapsed() >= quiet && self.total > 1 {
            let left = if self.done == 0 {
                String::new()
            } else {
                let each = (self.before + self.started.elapsed()) / self.done as u32;
                let seconds = (each * self.total.saturating_sub(self.done) as u32).as_secs();
                format!(", about {}:{:02} min left", seconds / 60, seconds % 60)
            };
            // Failing to tell is no reason to stop.
            let _ = writeln!(std::io::stderr(), "[{}/{}{left}] {name}", self.done + 1, self.total);
            self.last_line = Instant::now();
        }
        self.done += 1;
    }
}
