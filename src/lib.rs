//! Touchstone compares WebAssembly executors side by side: runtimes,
//! instantiation strategies, threads and payloads, on the same guests.
//!
//! The library is the harness, in the order of the work: a [`case`] names what
//! is called; [`guests`] are what it is called on; the [`matrix`] crosses them
//! with engines, strategies and threads; a [`session`] opens a cell and checks
//! its output; [`measure`] times it; [`run`] drives all that and appends
//! [`record`]s; `report` makes the page out of them. A [`swap`] replaces modules while
//! messages arrive. `ARCHITECTURE.md` has the picture.

pub mod case;
pub mod cost;
mod files;
pub mod guests;
pub mod matrix;
pub mod measure;
pub mod pairs;
pub mod peers;
pub mod plan;
pub mod provenance;
pub mod record;
pub mod report;
pub mod run;
pub mod session;
pub mod stats;
pub mod supervise;
pub mod swap;
pub mod tables;
pub mod terminal;
pub mod worker;
