//! Hot swap: messages of two kinds in random order, each answered by a module of its own.
//!
//! A [`Method`] is a way to load the right module, from compiling it at each change of
//! kind to keeping two instances. [`soak`] shows whether swapping leaks memory,
//! [`under_load`] how replacing a module affects its callers.

mod load;
mod messages;
mod method;
mod plan;

pub use load::{UnderLoad, under_load};
pub use messages::{Kind, Messages, Ready, kinds, random_order, soak};
pub use method::Method;
pub use plan::{LeftOut, LoadPlan, SwapPlan, Way, engines, file, load, ways};
