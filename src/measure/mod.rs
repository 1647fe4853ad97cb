//! Measuring an opened cell: its calls on one or several threads, the steps of a call, and
//! calls on used instances; two sides in turns.
//!
//! A [`Crew`] is a number of threads, each pinned to a processor with work of its own. It
//! makes rounds: all threads begin together, and each times its own calls. Latency,
//! throughput and both sides of a comparison are made of such rounds. Whether something
//! else used a processor meanwhile is judged by a probe before and after ([`probe`]), never
//! by the measured time.

mod cell;
mod crew;
mod line;
mod once;
mod pin;
pub mod probe;
mod round;
mod steps;
mod turns;
mod warm;
mod work;

pub use cell::measure;
pub use crew::Crew;
pub use round::{Round, RoundPlan};
pub use steps::steps;
pub use turns::{Side, turns};
pub use warm::warm;
pub use work::{Caller, InBursts, Raw, Work};
