//! Does a call see anything of the one before?
//!
//! For each kind of state there is a planted guest: one export looks at the state, others
//! change it. On every engine and strategy, a look after a change has to be like a look on a
//! brand-new instance, whichever way the two calls come after each other: on the same
//! instance, on another one of the same module, on another thread, while the first one is
//! still in its call. That the change could be seen at all is found out each time, by two
//! calls on an instance that was not made clean between them.

mod detect;
mod find;
mod found;
mod kinds;
mod list;

pub use find::{Job, find, jobs};
pub use kinds::{Act, Ends, Kind, Spoil};
pub use list::KINDS;

pub use found::{EngineFound, Isolation, KindName, Other, Reason, Row, Tally, Verdict};
