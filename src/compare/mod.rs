//! One comparison: a subject and a baseline, timed in turns or read from records, the ratio
//! of their times, its interval, and a verdict against a margin.
//!
//! Every ratio is *times slower than the baseline*: 1.00 is the baseline, lower is better.

mod judge;
mod records;
mod remote;

pub use judge::{Judged, MARGIN, Verdict, judge};
pub use records::{Common, of_records};
pub use remote::{Contest, FromSide, ToSide, contest, serve_side};
