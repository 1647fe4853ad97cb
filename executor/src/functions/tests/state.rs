//! The state of an instance that host functions have.

use super::*;

/// A guest that counts, each call twice: with a handle and with a clone of it. A second state
/// of the same type is its own.
fn counting() -> (FakeGuest, State<u32>) {
    let (count, other) = (State::new(10_u32), State::new(10_u32));
    let (clone, own) = (count.clone(), count.clone());
    let guest = with(&[], &[ValueType::I32, ValueType::I32], move |call| {
        *call.state(&own) += 1;
        let (count, memory) = call.state_and_memory(&clone);
        *count += 1;
        memory[0] = *count as u8;
        let (count, other) = (*call.state(&own), *call.state(&other));
        call.give(&[Value::I32(count as i32), Value::I32(other as i32)])
    });
    (guest, count)
}

fn counted(guest: &mut FakeGuest) -> u32 {
    match guest.call(F, &[]).unwrap()[..] {
        [Value::I32(count), Value::I32(10)] => count as u32,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn it_belongs_to_an_instance() {
    let (mut one, count) = counting();
    let mut other = guest(&one.functions);
    assert_eq!([counted(&mut one), counted(&mut one), counted(&mut other)], [12, 14, 12]);
    assert_eq!(one.memory[0], 14);
    assert_eq!(*one.host.states.get(&count), 14);
}

#[test]
fn a_reset_brings_back_the_initial_value() {
    let (mut guest, _) = counting();
    for _ in 0..2 {
        assert_eq!(counted(&mut guest), 12);
        guest.host.reset();
    }
}

#[test]
fn a_reset_brings_back_what_a_start_function_left() {
    let (mut guest, count) = counting();
    let clean = guest.host.save();
    assert_eq!(counted(&mut guest), 12);
    guest.host.reset_to(&clean);
    assert_eq!(counted(&mut guest), 12);
    // As a start function does.
    let clean = guest.host.save();
    for _ in 0..2 {
        assert_eq!(counted(&mut guest), 14);
        guest.host.reset_to(&clean);
        assert_eq!(*guest.host.states.get(&count), 12);
    }
}

/// Values own memory, which a reset must neither share nor leak.
#[test]
fn values_are_cloned() {
    let notes = State::new(vec![Arc::new(1)]);
    let own = notes.clone();
    let mut guest = with(&[], &[], move |call| {
        let notes = call.state(&own);
        let first = Arc::clone(&notes[0]);
        notes.push(first);
        Ok(())
    });
    let clean = guest.host.save();
    for _ in 0..3 {
        guest.call(F, &[]).unwrap();
        guest.call(F, &[]).unwrap();
        assert_eq!(guest.host.states.get(&notes).len(), 3);
        // The handle's, and three in the instance.
        assert_eq!(Arc::strong_count(&guest.host.states.get(&notes)[0]), 4);
        guest.host.reset_to(&clean);
    }
    assert!(guest.host.states.is_empty());
}
