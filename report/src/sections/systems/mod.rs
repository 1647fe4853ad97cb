//! Systems under executors: a table for each.

pub(in crate::report) mod fan_out;
pub(in crate::report) mod node;
pub(in crate::report) mod pipeline;
pub(in crate::report) mod requests;
