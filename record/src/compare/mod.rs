//! Comparisons of a subject with a baseline: the ratio of their times, its interval, and a
//! verdict. Times come from rounds in turns or from records.
//!
//! Every ratio is *times slower than the baseline*: 1.00 is the baseline, lower is better.

mod judge;
mod records;

pub use judge::{Judged, MARGIN, Verdict, judge, judge_rounds};
pub use records::of_records;
