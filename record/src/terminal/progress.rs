//! The progress of longer work, on the standard error.

use super::{complain, takes_escapes};
use crate::escape::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Interval between lines where the standard error is not a terminal.
const EVERY: Duration = Duration::from_secs(20);

/// A bar on a terminal, which leaves nothing behind; elsewhere a line every 20 s.
pub struct Progress {
    bar: ProgressBar,
    /// Ends the thread that prints the lines.
    _lines: Option<Sender<()>>,
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
        let _lines = (wanted && bar.is_hidden()).then(|| lines(bar.clone()));
        Self { bar, _lines }
    }

    pub fn next(&self, what: impl Into<String>) {
        self.bar.set_message(terminal(&what.into(), &[]));
        self.bar.inc(1);
    }

    pub fn add(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

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

/// Prints where a bar is every 20 s, until what this returns is dropped.
fn lines(bar: ProgressBar) -> Sender<()> {
    let (alive, ended) = channel();
    let print = move || {
        while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            complain(&line(&bar));
        }
    };
    // Without the thread there are no lines, and the work goes on.
    let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(print);
    alive
}

fn line(bar: &ProgressBar) -> String {
    let (done, all) = (bar.position(), bar.length().unwrap_or(0));
    let left = bar.elapsed().as_secs() * all.saturating_sub(done) / done.max(1);
    let left = match done {
        // The first steps say too little of the others.
        ..10 => String::new(),
        _ => format!(", about {}:{:02} min left", left / 60, left % 60),
    };
    format!("[{done}/{all}{left}] {}", bar.message())
}
