//! Hot swap: messages of two kinds in random order, each answered by a module of its own.
//!
//! A [`Method`] is a way to have the right module at hand, from compiling it at each change
//! of kind to two instances that are kept. Methods are compared with each other and with
//! the same messages sorted by kind ([`Sides`]). [`soak`] shows whether swapping leaves
//! memory behind, [`under_load`] what callers see of a module that is replaced while they
//! call it.

mod kind;
mod load;
mod messages;
mod method;
mod plan;
mod sides;
mod soak;

pub use kind::{Kind, kinds};
pub use load::{LoadPlan, under_load};
pub use messages::{Messages, Ready};
pub use method::Method;
pub use plan::{SwapPlan, default_file, load};
pub use sides::{Sides, random_order};
pub use soak::{resident_kib, soak};
