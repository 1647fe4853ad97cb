//! Tries all orders in which threads can use what the executor's handler of SIGSEGV reads
//! and writes without a lock: the registry of tracked memories and the list of open pages.
//!
//! The modules are the executor's own, with loom's atomics in place of the standard
//! library's. Loom runs each test once for each order in which threads are interrupted at most
//! twice, and for each value that a relaxed load may see.
#![cfg(test)]

/// Runs a test in all orders. With more interruptions, some take hours.
fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(test);
}

#[path = "../../memory/src"]
mod memory {
    // Only counts: not part of what is tried.
    #[allow(dead_code, reason = "the handler's part is used here")]
    mod mappings;
    #[allow(dead_code, reason = "the handler's part is used here")]
    mod open_pages;
    #[allow(dead_code, reason = "the handler's part is used here")]
    mod registry;

    /// In the place of the executor's module of this name.
    mod sync {
        pub(super) use loom::sync::Mutex;
        pub(super) use loom::sync::atomic::{
            AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
        pub(super) use std::sync::PoisonError;
    }
}
