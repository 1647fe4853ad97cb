//! Threads that come, go and look up, in all orders. Run by the package `touchstone-loom`.

use super::*;
use loom::sync::Arc;
use loom::thread;

impl<T, const N: usize> Registry<T, N> {
    fn new() -> Self {
        let slots = std::array::from_fn(|_| Slot {
            version: AtomicU32::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            owner: AtomicPtr::new(std::ptr::null_mut()),
        });
        Self { slots, used: AtomicUsize::new(0), free: Mutex::new(Vec::new()) }
    }
}

/// Stands for a memory: its address is that of its owner, and never accessed.
fn owner(address: usize) -> *const u8 {
    std::ptr::without_provenance(address)
}

#[test]
fn each_finds_its_own_while_another_comes_and_goes() {
    crate::model(|| {
        let registry = Arc::new(Registry::<u8, 2>::new());
        let other = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || {
                let slot = registry.take().unwrap();
                registry.publish(slot, 100, 10, owner(100));
                registry.give_back(slot);
            })
        };
        let slot = registry.take().unwrap();
        registry.publish(slot, 110, 10, owner(110));
        assert_eq!(registry.find(110), Some(owner(110)));
        registry.give_back(slot);
        assert_eq!(registry.find(110), None);
        other.join().unwrap();
    });
}

/// The place of one is that of the other before: what a look-up sees half-changed belongs
/// to neither.
#[test]
fn a_place_that_changes_hands_is_nobodys_meanwhile() {
    crate::model(|| {
        let registry = Arc::new(Registry::<u8, 1>::new());
        let slot = registry.take().unwrap();
        registry.publish(slot, 100, 10, owner(100));
        let other = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || {
                registry.give_back(slot);
                let slot = registry.take().unwrap();
                registry.publish(slot, 105, 20, owner(105));
            })
        };
        // Whatever is found has the address looked for.
        let found = registry.find(107);
        assert!([None, Some(owner(100)), Some(owner(105))].contains(&found));
        let found = registry.find(103);
        assert!([None, Some(owner(100))].contains(&found));
        let found = registry.find(120);
        assert!([None, Some(owner(105))].contains(&found));
        other.join().unwrap();
        assert_eq!(registry.find(107), Some(owner(105)));
    });
}

/// A memory is made on one thread and written on another, while a third one is made.
#[test]
fn what_was_entered_before_a_hand_over_is_found_after_it() {
    crate::model(|| {
        let registry = Arc::new(Registry::<u8, 2>::new());
        let handed_over = Arc::new(AtomicUsize::new(0));
        let maker = {
            let (registry, handed_over) = (Arc::clone(&registry), Arc::clone(&handed_over));
            thread::spawn(move || {
                let slot = registry.take().unwrap();
                registry.publish(slot, 100, 10, owner(100));
                handed_over.store(1, Ordering::Release);
            })
        };
        let slot = registry.take().unwrap();
        registry.publish(slot, 200, 10, owner(200));
        if handed_over.load(Ordering::Acquire) == 1 {
            assert_eq!(registry.find(105), Some(owner(100)));
        }
        assert_eq!(registry.find(205), Some(owner(200)));
        maker.join().unwrap();
    });
}
