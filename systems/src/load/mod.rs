//! A load generator: a closed loop to find a host's capacity, and an open loop, whose requests have
//! planned times.
//!
//! In an open loop the time of a request counts from its planned time, so a stall of the host shows
//! in the times of the requests behind it.

mod client;
mod plan;

pub use client::{Client, Made, Request};
pub use plan::{arrivals, gap};
