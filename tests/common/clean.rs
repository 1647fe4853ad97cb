//! Every call finds the state of a brand-new instance.

use super::calling::kind;
use super::guests::{
    CHURN, GROWN_AT_START, HOST_TABLE, PASSIVE, SEGMENTS, START, STEPS, SUBSTRATE, TABLE, VISITS,
};
use super::{Loaded, each, each_that_compiles, guest, guest_with};
use std::sync::Barrier;
use touchstone_executor::guest::{Growth, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, Instance, InstanceFrom, Outcome, Strategy, Support, TrapKind,
};

/// Memory on both sides of the data, stack area, globals, a grown memory, the
/// host's allocator; calls that return, that grow and that trap in turn.
pub(crate) fn two_hundred_calls_are_like_the_first(strategy: Strategy) {
    each(strategy, &guest(CHURN), |loaded| {
        let export = loaded.export("churn", Abi::Substrate);
        let expected: Vec<_> = (0_u8..4)
            .map(|mode| loaded.outcome(&mut *loaded.instance(), export, &[ending(loaded, mode)]))
            .collect();
        check_first(loaded, &expected);
        let memory = clean_memory(&mut *loaded.instance());
        let instance = &mut *loaded.instance();
        for call in 0..200_u32 {
            // Mostly calls that can be reset in place, and every order of two.
            let mode = [0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3, 0, 0, 0, 0][call as usize % 16];
            let found = loaded.outcome(instance, export, &[ending(loaded, mode)]);
            assert_eq!(found, expected[usize::from(mode)], "{} call {call}", loaded.name);
            if call % 10 == 9 {
                assert!(clean_memory(instance) == memory, "{} after call {call}", loaded.name);
            }
        }
    });
}

/// The mode in which a call of `CHURN` ends: another trap in the place of endless recursion where
/// the engine has no limit of it.
fn ending(loaded: &Loaded, mode: u8) -> u8 {
    if mode == 3 && !loaded.limits_recursion { 2 } else { mode }
}

/// Checks the first call of a guest, by its text.
fn check_first(loaded: &Loaded, expected: &[(Outcome, Vec<u8>)]) {
    let (outcome, seen) = &expected[0];
    assert_eq!(*outcome, Outcome::Returned, "{}", loaded.name);
    assert_eq!(seen[8..12], 3_u32.to_le_bytes(), "pages");
    // The input's header and class of 8, then the next header.
    assert_eq!(seen[12..16], (70_000_u32 + 8 + 8 + 8).to_le_bytes(), "first allocation");
    assert_eq!(seen[16..24], 77_u64.to_le_bytes());
    assert_eq!(seen[24..32], 1.5_f64.to_le_bytes());
    assert_eq!(seen[32..36], 0.25_f32.to_le_bytes());
    assert_eq!(seen[36..40], 1024_u32.to_le_bytes());
    assert!(expected[1].0 == Outcome::Returned && expected[2].0.trap().is_some());
    assert!(expected[3].0.trap().is_some());
}

fn clean_memory(instance: &mut dyn Instance) -> Option<Vec<u8>> {
    instance.prepare().unwrap();
    let memory = instance.memory().map(<[u8]>::to_vec);
    instance.finish().unwrap();
    memory
}

pub(crate) fn table_entries_are_brought_back(strategy: Strategy) {
    each_that_compiles(strategy, &guest(TABLE), |loaded| {
        let export = loaded.export("shuffle", Abi::Plain);
        let instance = &mut *loaded.instance();
        let mut expected = 1231_u32.to_le_bytes().to_vec();
        expected.extend(4_u32.to_le_bytes());
        for call in 0..20_u32 {
            let found = loaded.output(instance, export, &(call % 5).to_le_bytes());
            assert_eq!(found, expected, "{} call {call}", loaded.name);
        }
    });
    each_that_compiles(strategy, &guest(HOST_TABLE), |loaded| {
        let export = loaded.export("change", Abi::Plain);
        let instance = &mut *loaded.instance();
        for call in 0..6_u32 {
            let found = loaded.output(instance, export, &(call % 3).to_le_bytes());
            assert_eq!(found, [2, 0, 0, 0], "{} call {call}", loaded.name);
        }
    });
}

pub(crate) fn a_start_function_has_run_before_each_call(strategy: Strategy) {
    each(strategy, &guest(START), |loaded| {
        let export = loaded.export("look", Abi::Plain);
        let numbers = [6_u32, 1032, 7, 1048];
        let expected: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
        let instance = &mut *loaded.instance();
        for call in 0..5 {
            assert_eq!(loaded.output(instance, export, b""), expected, "{} {call}", loaded.name);
        }
    });
}

pub(crate) fn what_a_start_function_grew_is_part_of_the_memory(strategy: Strategy) {
    each(strategy, &guest(GROWN_AT_START), |loaded| {
        let look = loaded.export("look", Abi::Plain);
        let behind = loaded.export("behind", Abi::Plain);
        let expected: Vec<u8> = [3_u32, 7, 0].into_iter().flat_map(u32::to_le_bytes).collect();
        let instance = &mut *loaded.instance();
        for more in [0_u32, 1, 0, 2, 2, 0, 6, 0] {
            let found = loaded.output(instance, look, &more.to_le_bytes());
            assert_eq!(found, expected, "{}: before growth by {more}", loaded.name);
            let (outcome, _) = loaded.outcome(instance, behind, b"");
            let trap = kind(&outcome);
            assert_eq!(trap, Some(&TrapKind::MemoryOutOfBounds), "{}: {more}", loaded.name);
        }
    });
}

pub(crate) fn calls_of_one_use_see_what_the_others_have_left(strategy: Strategy) {
    each(strategy, &guest(STEPS), |loaded| {
        let export = loaded.export("step", Abi::Plain);
        let instance = &mut *loaded.instance();
        let mut output = Vec::new();
        for _ in 0..3 {
            instance.prepare().unwrap();
            let mut seen = Vec::new();
            for step in [1_u32, 2, 5, 0] {
                let ended =
                    instance.invoke(export, &step.to_le_bytes(), &mut output, None).unwrap();
                seen.push((ended == Outcome::Returned, output.clone()));
            }
            instance.finish().unwrap();
            let state =
                |sum: u32, steps: u64| [&sum.to_le_bytes()[..], &steps.to_le_bytes()].concat();
            let expected =
                [(true, state(11, 1)), (true, state(13, 2)), (false, vec![]), (true, state(18, 4))];
            assert_eq!(seen, expected, "{}", loaded.name);
        }
    });
}

pub(crate) fn a_dropped_segment_refuses_reuse_and_nothing_else(strategy: Strategy) {
    let guest = guest(PASSIVE);
    for engine in crate::engines() {
        if strategy.instance != InstanceFrom::Reuse
            || matches!(engine.support(strategy), Support::Unsupported { .. })
        {
            continue;
        }
        let Support::Unsupported { reason } = engine.support_for(strategy, &guest) else {
            panic!("{} {strategy} does not refuse", engine.id());
        };
        assert!(reason.contains("data.drop"), "{reason}");
        let refused = engine
            .compile(&guest, strategy, &Config::default())
            .and_then(|artifact| engine.load(&guest, &artifact, strategy, &Config::default()));
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{}", engine.id());
    }
    each_that_compiles(strategy, &guest, |loaded| {
        let export = loaded.export("once", Abi::Plain);
        let instance = &mut *loaded.instance();
        for _ in 0..3 {
            assert_eq!(loaded.output(instance, export, b""), [42, 0, 0, 0], "{}", loaded.name);
        }
    });
}

/// However many of them a backend leaves out of the module.
pub(crate) fn segments_answer_as_in_the_module_itself(strategy: Strategy) {
    each_that_compiles(strategy, &guest(SEGMENTS), |loaded| {
        let export = loaded.export("init", Abi::Plain);
        let instance = &mut *loaded.instance();
        let expected = u64::from_le_bytes(*b"las over") + u64::from(b's');
        for _ in 0..3 {
            let found = loaded.output(instance, export, &0_u32.to_le_bytes());
            assert_eq!(found, expected.to_le_bytes(), "{}", loaded.name);
            let (outcome, _) = loaded.outcome(instance, export, &1_u32.to_le_bytes());
            let kind = outcome.trap().map(|trap| &trap.kind);
            assert_eq!(kind, Some(&TrapKind::MemoryOutOfBounds), "{}", loaded.name);
        }
    });
}

/// Substrate's size of memory: 2048 pages on top, 128 MiB.
pub(crate) fn a_large_memory_is_clean_at_both_ends(strategy: Strategy) {
    let guest = guest_with(SUBSTRATE, HeapPages { extra: 2048, growth: Growth::Fixed });
    each(strategy, &guest, |loaded| {
        let export = loaded.export("ends", Abi::Substrate);
        let instance = &mut *loaded.instance();
        let expected = [[0; 16].to_vec(), 2049_u64.to_le_bytes().to_vec()].concat();
        for _ in 0..3 {
            assert_eq!(loaded.output(instance, export, b"x"), expected, "{}", loaded.name);
        }
    });
}

pub(crate) fn instances_on_four_threads_do_not_mix(strategy: Strategy) {
    each(strategy, &guest(CHURN), |loaded| {
        let export = loaded.export("churn", Abi::Substrate);
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let barrier = &barrier;
                scope.spawn(move || {
                    // Each with an input of its own, modes 0 and 2 by its first byte.
                    let input = [thread % 2 * 2, thread, thread];
                    let expected = loaded.outcome(&mut *loaded.instance(), export, &input);
                    let instance = &mut *loaded.instance();
                    barrier.wait();
                    for call in 0..100 {
                        let found = loaded.outcome(instance, export, &input);
                        assert_eq!(found, expected, "{} {thread} {call}", loaded.name);
                    }
                });
            }
        });
    });
}

/// Of each call, the guest runs on another thread than the rest.
pub(crate) fn a_call_may_change_its_thread_between_its_steps(strategy: Strategy) {
    each(strategy, &guest(VISITS), |loaded| {
        let export = loaded.export("visit", Abi::Plain);
        let (to_guest, calls) = std::sync::mpsc::channel::<(Box<dyn Instance>, u32)>();
        let (from_guest, called) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for (mut instance, address) in calls {
                    let output = &mut Vec::new();
                    let outcome =
                        instance.invoke(export, &address.to_le_bytes(), output, None).unwrap();
                    from_guest.send((instance, outcome, output.clone())).unwrap();
                }
            });
            let mut instance = loaded.instance();
            for call in 0..200_u32 {
                // Each page is written there and, for some calls, not looked at here.
                let address = call % 40 * 4096;
                instance.prepare().unwrap();
                to_guest.send((instance, address)).unwrap();
                let (back, outcome, output) = called.recv().unwrap();
                assert_eq!(
                    (outcome, output),
                    (Outcome::Returned, vec![0; 4]),
                    "{} {call}",
                    loaded.name
                );
                instance = back;
                instance.finish().unwrap();
                let found = loaded.output(&mut *instance, export, &address.to_le_bytes());
                assert_eq!(found, [0; 4], "{} {call}", loaded.name);
            }
            drop(to_guest);
        });
    });
}

/// Instances that are made, used and dropped in any order.
pub(crate) fn instances_outlive_their_module(strategy: Strategy) {
    each(strategy, &guest(SUBSTRATE), |loaded| {
        let mut instances: Vec<_> = (0..3).map(|_| loaded.instance()).collect();
        let echo = loaded.export("echo", Abi::Substrate);
        for (index, instance) in instances.iter_mut().enumerate() {
            instance.prepare().unwrap();
            let output = &mut Vec::new();
            let input = vec![index as u8; 10 * index];
            assert_eq!(instance.invoke(echo, &input, output, None).unwrap(), Outcome::Returned);
            assert_eq!(*output, input, "{}", loaded.name);
        }
        instances.remove(1);
        for instance in &mut instances {
            assert_eq!(loaded.output(&mut **instance, echo, b"again"), b"again");
        }
        // The last ones are dropped in the middle of a call.
        instances.iter_mut().for_each(|instance| instance.prepare().unwrap());
    });
}
