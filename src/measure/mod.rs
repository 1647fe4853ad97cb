//! Measures opened cells: calls on one or several threads, the steps of a call, calls on used
//! instances, and sides in turns.
//!
//! A [`Crew`] is a number of threads, each pinned to its own processor. In a round all threads
//! start together, and each times its own calls. Latency, throughput and both sides of a comparison
//! come from rounds. A [`probe`] before and after each round detects interference; the measured
//! time never does.

mod cell;
mod collect;
mod crew;
mod footprint;
mod judge;
mod pin;
pub mod probe;
mod round;
mod steps;
mod tails;
mod turns;
mod work;

pub use cell::measure;
pub use crew::Crew;
pub use footprint::{footprint, resident_kib};
#[cfg(feature = "systems")]
pub(crate) use pin::{Pinned, processors};
pub use round::{Round, RoundPlan};
pub use steps::{steps, warm};
pub use tails::Tails;
pub use turns::{Side, in_turns, turns};
pub(crate) use work::compare;
pub use work::{Caller, InBursts, Raw, Work};
