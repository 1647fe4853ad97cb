//! Does an executor run WebAssembly as its specification says? The specification's own
//! test scripts, driven through the contract.
//!
//! Each module of a script becomes a guest ([`adapt`], [`prepare`]), each command a step
//! ([`script`]), and the steps are taken on one engine after the other ([`drive`]), each
//! of them in a process of its own ([`run`]), because a script may end it.
//!
//! An assertion that is not driven is never counted as one that passed. Modules that have
//! to be refused are refused by the harness, which validates every guest before any
//! engine sees it: they are counted apart.

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
