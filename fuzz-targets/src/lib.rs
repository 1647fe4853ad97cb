//! Readers of foreign bytes, each as a function of any bytes: modules, compressed blobs, case
//! files, record files, messages of the codecs, arguments.
//!
//! A target panics on a fault, or if a checkable property of the result does not hold. A fuzzer
//! that watches coverage drives the targets (`fuzz/`), and so does `make fuzz`, which mutates files
//! of the project ([`Mutations`]).

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
