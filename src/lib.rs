//! Touchstone compares WebAssembly executors side by side: runtimes,
//! instantiation strategies, threads and payloads, on the same guests.
//!
//! The library is the harness: [`record`] is what a run leaves behind, and
//! `report` makes the page out of it. `ARCHITECTURE.md` has the picture.

pub mod record;
