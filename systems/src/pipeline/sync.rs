//! Atomics shared by two processes. The package `touchstone-systems-loom` replaces them by loom's.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
