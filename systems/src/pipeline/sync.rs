//! What two processes share. The package `touchstone-systems-loom` puts loom's types in the place
//! of these.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
