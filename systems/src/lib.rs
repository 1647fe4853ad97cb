//! Hosts around executors, with their networks, databases and queues. They receive loaded modules
//! and name no backend. `touchstone systems` measures them.

#![allow(missing_docs, reason = "an internal crate: many fields need no comment beside their name")]

pub mod fan_out;
pub mod host;
pub mod load;
pub mod node;
pub mod pipeline;
