//! Child processes: starts, limits, follows and ends them.
//!
//! Work that can crash, hang or take all memory runs in a child process. Parent and child exchange
//! messages, one line of JSON each, over a socket pair that is the child's standard input. A
//! runtime may print to standard output and error. After [`Parent::join`] the child's standard
//! input is `/dev/null`. The users of this module define the messages.
//!
//! The parent holds a [`Child`]: it sends, receives with a deadline, watches the child's memory
//! meanwhile, and learns how the child ended ([`Death`]). The child holds a [`Parent`]. A child
//! ends with its parent, and a dropped [`Child`] is killed and waited for. A [`Stop`] ends running
//! children from a handler of Ctrl-C.

mod child;
mod parent;
mod stop;
#[cfg(test)]
mod tests;

pub use child::{Child, Death, Heard, image, this_program};
pub use parent::{CHILD, Parent};
pub use stop::Stop;
