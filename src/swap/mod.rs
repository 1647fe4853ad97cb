//! Hot swap: messages of two kinds, each answered by a module of its own, in random
//! order. A ladder of ways to have the right module at hand ([`ladder`]), from
//! compiling it at each change to two instances that are kept; whether swapping leaves
//! memory behind ([`soak`]); and what callers see of a module that is replaced while
//! they call it ([`under_load`]). `make swap` runs all of it.

mod kind;
mod ladder;
mod load;
mod order;
mod plan;
mod problem;
mod record;
mod resident;
mod rung;
mod soak;

pub use kind::{Artifacts, Kind, kinds};
pub use ladder::{FEWEST_CHANGES, LadderPlan, Measured, ladder};
pub use load::{LoadPlan, UnderLoad, under_load};
pub use order::splitmix;
pub use order::{changes, random_order, sorted};
pub use plan::{PlanError, SwapPlan, default_path, load};
pub use problem::Problem;
pub use record::{of_ladder, of_load, of_soak, sampling};
pub use resident::resident_kib;
pub use rung::{Rung, Step};
pub use soak::soak;
