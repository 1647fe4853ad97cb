//! Touchstone compares WebAssembly executors side by side: runtimes, instantiation strategies,
//! threads and payloads, on the same guests.
//!
//! A [`case`] describes a call; a [`plan`] crosses cases with engines, strategies and threads; the
//! [`lab`] opens a cell and checks its output; [`measure`] times it; [`run`] does so in several
//! fresh processes and writes [`record`]s. `ARCHITECTURE.md` describes the code layout.

#![allow(missing_docs, reason = "an internal crate: many fields need no comment beside their name")]

pub mod case;
pub mod contest;
pub mod doctor;
pub mod experiment;
pub mod features;
#[cfg(feature = "systems")]
pub mod host;
pub mod inspect;
pub mod lab;
pub mod measure;
pub mod plain;
pub mod plan;
mod proc;
pub mod run;
pub mod solo;
pub mod supervise;
pub mod swap;

pub use touchstone_record::{self as record, compare, files, terminal};
