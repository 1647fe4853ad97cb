//! A client that puts a host under load: closed loop, to find its capacity, and open loop, whose
//! requests have planned times.
//!
//! In an open loop the time of a request counts from its planned time. A host that stalls delays
//! the requests behind it, and their times show it.

mod client;
mod plan;

pub use client::{Client, Made, Request};
pub use plan::arrivals;
