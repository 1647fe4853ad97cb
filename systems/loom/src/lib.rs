//! Tries all orders in which producer and consumer can use the pipeline's ring.
//!
//! The modules are those of `touchstone-systems`, with loom's atomics in place of the standard
//! library's. Loom runs each test once for each order in which threads are interrupted at most
//! twice, and for each value that a load may see.
#![cfg(test)]

/// Runs a test in all orders. With more interruptions, some take minutes.
fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(test);
}

#[path = "../../src/pipeline"]
mod pipeline {
    #[allow(unreachable_pub, reason = "of the library that it is a part of")]
    mod ring;
    #[allow(unreachable_pub, reason = "of the library that it is a part of")]
    mod signed;

    use signed::{Kind, Signed};

    /// In the place of the module of this name.
    mod sync {
        use loom::cell::UnsafeCell;
        pub(super) use loom::sync::atomic::Ordering;

        /// A word whose relaxed accesses must be ordered by others, as if the word were no
        /// atomic. Loom shows no load a value that is stored later, as processors and compilers
        /// may. It does find accesses without an order.
        #[derive(Debug)]
        pub(super) struct AtomicU64 {
            word: loom::sync::atomic::AtomicU64,
            relaxed: UnsafeCell<()>,
        }

        impl AtomicU64 {
            pub(super) fn new(value: u64) -> Self {
                let word = loom::sync::atomic::AtomicU64::new(value);
                Self { word, relaxed: UnsafeCell::new(()) }
            }

            pub(super) fn load(&self, order: Ordering) -> u64 {
                if order == Ordering::Relaxed {
                    self.relaxed.with(|_| ());
                }
                self.word.load(order)
            }

            pub(super) fn store(&self, value: u64, order: Ordering) {
                if order == Ordering::Relaxed {
                    self.relaxed.with_mut(|_| ());
                }
                self.word.store(value, order);
            }
        }
    }
}
