//! Growth and its limits.

use super::calling::kind;
use super::guests::{BOMB, SUBSTRATE};
use super::{Loaded, each, guest, guest_with};
use touchstone_executor::adapter::residents_made;
use touchstone_executor::guest::{Growth, HeapPages};
use touchstone_executor::{Abi, Instance, InstanceFrom, Strategy, TrapKind};

pub(crate) fn a_memory_bomb_stops_at_the_limit(strategy: Strategy) {
    let guest = guest_with(BOMB, HeapPages { extra: 1, growth: Growth::UpTo(20) });
    each(strategy, &guest, |loaded| {
        let grow = loaded.export("grow", Abi::Plain);
        let allocate = loaded.export("allocate", Abi::Plain);
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, grow, b""), [20, 0, 0, 0], "{}", loaded.name);
            let (outcome, _) = loaded.outcome(instance, allocate, b"");
            match kind(&outcome) {
                Some(TrapKind::HostFunction { name, .. }) => {
                    assert_eq!(name, "ext_allocator_malloc_version_1");
                }
                _ => panic!("{}: {outcome:?}", loaded.name),
            }
        }
    });
}

pub(crate) fn growing_answers_the_same_on_every_call(strategy: Strategy) {
    let guest = guest_with(BOMB, HeapPages { extra: 0, growth: Growth::UpTo(9) });
    each(strategy, &guest, |loaded| {
        let by = loaded.export("by", Abi::Plain);
        let instance = &mut *loaded.instance();
        for _ in 0..3 {
            for (pages, old, new) in [(0_i32, 1_i32, 1_i32), (3, 1, 4), (8, 1, 9), (9, -1, 1)] {
                let expected = [old.to_le_bytes(), new.to_le_bytes()].concat();
                let found = loaded.output(instance, by, &pages.to_le_bytes());
                assert_eq!(found, expected, "{}: grow by {pages}", loaded.name);
            }
        }
    });
}

pub(crate) fn the_hosts_allocator_grows_the_memory(strategy: Strategy) {
    each(strategy, &guest(SUBSTRATE), |loaded| {
        let echo = loaded.export("echo", Abi::Substrate);
        let large = loaded.export("large", Abi::Substrate);
        let instance = &mut *loaded.instance();
        let input: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
        for _ in 0..3 {
            assert!(loaded.output(instance, echo, &input) == input, "{}", loaded.name);
            // While the guest runs: it must see its memory's new size at once.
            let found = loaded.output(instance, large, b"");
            assert_eq!(found, 17_u64.to_le_bytes(), "{}", loaded.name);
        }
    });
}

pub(crate) fn a_fixed_memory_refuses_what_does_not_fit(strategy: Strategy) {
    let guest = guest_with(SUBSTRATE, HeapPages { extra: 1, growth: Growth::Fixed });
    each(strategy, &guest, |loaded| {
        let echo = loaded.export("echo", Abi::Substrate);
        let instance = &mut *loaded.instance();
        let (outcome, _) = loaded.outcome(instance, echo, &vec![1; 200_000]);
        assert!(matches!(kind(&outcome), Some(TrapKind::BadInput { .. })), "{}", loaded.name);
        assert_eq!(loaded.output(instance, echo, b"small"), b"small", "{}", loaded.name);
    });
}

/// Neither growth by the guest nor by the host, for an input. Counted: no clock could
/// tell a replaced instance from a reset one on every machine.
pub(crate) fn growing_replaces_no_instance(strategy: Strategy) {
    if strategy.instance != InstanceFrom::Reuse {
        return;
    }
    let check = |loaded: &Loaded, call: &mut dyn FnMut(&mut dyn Instance)| {
        if let Some(what) = loaded.module.effective().get("grown memory or table") {
            println!("{}: left out: {what}", loaded.name);
            return;
        }
        let instance = &mut *loaded.instance();
        // Larger memories that are used in turns are made by the first calls.
        (0..4).for_each(|_| call(instance));
        let before = residents_made();
        (0..40).for_each(|_| call(instance));
        assert_eq!(residents_made(), before, "{}", loaded.name);
    };
    let bomb = guest_with(BOMB, HeapPages { extra: 0, growth: Growth::UpTo(9) });
    each(strategy, &bomb, |loaded| {
        let by = loaded.export("by", Abi::Plain);
        let grown = [1_i32.to_le_bytes(), 4_i32.to_le_bytes()].concat();
        check(loaded, &mut |instance| {
            assert_eq!(loaded.output(instance, by, &3_i32.to_le_bytes()), grown);
        });
    });
    each(strategy, &guest(SUBSTRATE), |loaded| {
        let echo = loaded.export("echo", Abi::Substrate);
        let input = vec![7; 200_000];
        check(loaded, &mut |instance| assert!(loaded.output(instance, echo, &input) == input));
    });
}
