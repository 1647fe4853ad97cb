//! What is observed once in each process, of a cell on one thread.

use crate::lab::Opened;
use crate::record::Metric;

/// An observation; `None` where there is none in this process.
type Observe = fn(&Opened) -> Option<f64>;

/// Every such observation, in the metric's unit.
pub(super) const ONCE: &[(Metric, Observe)] = &[
    (Metric::Compile, |opened| opened.loaded.compile_ns.map(|ns| ns as f64)),
    (Metric::Load, |opened| Some(opened.loaded.load_ns as f64)),
    (Metric::FirstCall, |opened| Some(opened.first_call_ns as f64)),
];
