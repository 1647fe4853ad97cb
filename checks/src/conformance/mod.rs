//! Conformance: the specification's test scripts, driven through the contract.
//!
//! Each module of a script becomes a guest ([`adapt`], [`prepare`]) and each command a step
//! ([`script`]). The steps run on one engine after another ([`drive`]), in separate processes
//! ([`run`]), because a script may end its process.
//!
//! Undriven assertions never count as passed. The harness validates every guest before any engine
//! sees it, so assertions about invalid modules count apart.

pub mod adapt;
pub mod drive;
pub mod expect;
mod found;
pub mod known;
pub mod prepare;
pub mod run;
pub mod script;
mod spectest;
pub mod suite;

pub use found::{Conformance, Failure, OnEngine, Tally, failures};
