//! The parts that Touchstone's own adapter of Wasmtime is made of, too. Not for others: they change
//! with it.

mod component;
mod extent;
mod place;
mod restored;
mod tables;

pub use component::SavedState;
pub use extent::Extent;
pub use place::{Place, Room, Shrinking, listening, place_of};
pub use restored::Restored;
pub use tables::SavedTable;
