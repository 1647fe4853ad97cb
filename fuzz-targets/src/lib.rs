//! What this project reads from others, each as a function of any bytes: modules,
//! compressed blobs, case files, record files, messages of the codecs, arguments.
//!
//! A target panics where something is wrong, and where something that can be told from
//! the result does not hold. A fuzzer that watches coverage drives them (`fuzz/`), and so
//! does `make fuzz`, which takes files of the project apart by itself ([`Mutations`]).

mod codecs;
mod files;
mod modules;
mod mutations;

pub use codecs::codecs;
pub use files::{cases, outputs, records};
pub use modules::{arguments, blob, inspection, module};
pub use mutations::Mutations;

/// A target: takes any bytes.
pub type Target = fn(&[u8]);
