//! Systems under executors: a table for each.

pub(crate) mod fan_out;
pub(crate) mod node;
pub(crate) mod pipeline;
pub(crate) mod requests;
