//! Comparisons of a subject with a baseline: the ratio of their times, its interval, and a
//! verdict. Times come from rounds in turns or from records.
//!
//! Every ratio is *times slower than the baseline*: 1.00 is the baseline, lower is better.

mod crossing;
mod judge;
mod records;
mod resets;

pub use crossing::{Change, Crossings, crossings};
pub use judge::{Judged, MARGIN, Verdict, judge, judge_rounds};
pub use records::of_records;
pub use resets::{CALL, Race, courses, drops, fastest, page_size, races, ratio};
