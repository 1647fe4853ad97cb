//! The atomics and the lock that threads and signal handlers share. The package `touchstone-loom`
//! puts loom's types in the place of these.

pub(super) use std::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(super) use std::sync::{Mutex, PoisonError};
