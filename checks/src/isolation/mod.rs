//! Isolation: can a call see state of an earlier one?
//!
//! For each kind of state there is a planted guest. One export observes the state, others change
//! it. On every engine and strategy, an observation after a change must equal one on a new
//! instance, in every order of the two calls: on the same instance, on another one of the module,
//! on another thread, and while the first call is still running. Two calls without cleaning between
//! them prove each time that the change is visible.

mod detect;
mod find;
mod found;
mod kinds;

pub use find::{Job, find, jobs};
pub use kinds::{Act, Ends, KINDS, Kind, Spoil};

pub use found::{EngineFound, Isolation, Other, Reason, Row, Tally, Verdict};
