//! Observations made once per process, of a cell on one thread.

use crate::lab::Opened;
use crate::record::Metric;

/// An observation; `None` if this process has none.
type Observe = fn(&Opened) -> Option<f64>;

/// All such observations, in the metric's unit.
pub(super) const ONCE: &[(Metric, Observe)] = &[
    (Metric::Compile, |opened| opened.loaded.compile_ns.map(|ns| ns as f64)),
    (Metric::Load, |opened| Some(opened.loaded.load_ns as f64)),
    (Metric::FirstCall, |opened| Some(opened.first_call_ns as f64)),
];
