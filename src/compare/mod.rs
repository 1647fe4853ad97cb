//! Two executors timed in turns: from the rounds to a ratio and a verdict.

mod judge;

pub use judge::{Judged, MARGIN, Verdict, judge};
