//! Both sides at once in all orders. Run by the package `touchstone-systems-loom`.

use super::*;
use loom::sync::Arc;
use loom::thread;

/// The words of a ring, shared by loom's reference counts.
#[derive(Clone)]
struct Ring(Arc<Vec<AtomicU64>>);

impl AsRef<[AtomicU64]> for Ring {
    fn as_ref(&self) -> &[AtomicU64] {
        &self.0
    }
}

fn sides(slots: usize) -> (Producer<Ring>, Consumer<Ring>) {
    let words: Vec<_> = (0..words(slots)).map(|_| AtomicU64::new(0)).collect();
    create(&words);
    let ring = Ring(Arc::new(words));
    (Producer::open(ring.clone()).unwrap(), Consumer::open(ring).unwrap())
}

/// Entries differ in length and content.
fn message(sequence: u64) -> Signed {
    let entry = vec![sequence as u8 + 1; 9 - sequence as usize];
    Signed { sequence, kind: Kind::ALL[(sequence % 2) as usize], entry }
}

/// Puts `count` messages, waiting while the ring is full, and ends.
fn put_all(producer: &mut Producer<Ring>, count: u64) {
    for sequence in 0..count {
        while !producer.put(&message(sequence)).unwrap() {
            thread::yield_now();
        }
    }
    producer.end();
}

/// Takes all messages until the end.
fn take_all(consumer: &mut Consumer<Ring>, count: u64) {
    let mut next = 0;
    loop {
        match consumer.take().unwrap() {
            Taken::Message(taken) => {
                assert_eq!(taken, message(next));
                next += 1;
            }
            Taken::Empty => thread::yield_now(),
            Taken::Ended => break,
        }
    }
    assert_eq!(next, count);
    assert_eq!(consumer.take(), Ok(Taken::Ended));
}

fn all_arrive(slots: usize, count: u64) {
    crate::model(move || {
        let (mut producer, mut consumer) = sides(slots);
        let other = thread::spawn(move || put_all(&mut producer, count));
        take_all(&mut consumer, count);
        other.join().unwrap();
    });
}

/// Each message but the first reuses the slot.
#[test]
fn all_messages_arrive_whole_and_in_order_through_one_slot() {
    all_arrive(1, 3);
}

#[test]
fn all_messages_arrive_whole_and_in_order_through_two_slots() {
    all_arrive(2, 4);
}

/// At most as many messages wait as there are slots.
#[test]
fn a_full_ring_refuses() {
    crate::model(|| {
        let (mut producer, mut consumer) = sides(2);
        assert_eq!(producer.put(&message(0)), Ok(true));
        assert_eq!(producer.put(&message(1)), Ok(true));
        assert_eq!(producer.put(&message(2)), Ok(false));
        let other = thread::spawn(move || {
            assert_eq!(consumer.take(), Ok(Taken::Message(message(0))));
            consumer
        });
        let early = producer.put(&message(2)).unwrap();
        let full = early.then(|| producer.put(&message(3)).unwrap());
        assert_ne!(full, Some(true));
        let mut consumer = other.join().unwrap();
        assert_eq!(producer.put(&message(2 + u64::from(early))), Ok(!early));
        producer.end();
        for sequence in [1, 2] {
            assert_eq!(consumer.take(), Ok(Taken::Message(message(sequence))));
        }
        assert_eq!(consumer.take(), Ok(Taken::Ended));
    });
}

/// A consumer that sees the end has seen all messages or finds them before.
#[test]
fn the_end_is_seen_after_the_last_message() {
    crate::model(|| {
        let (mut producer, mut consumer) = sides(2);
        let other = thread::spawn(move || put_all(&mut producer, 1));
        let mut found = Vec::new();
        for _ in 0..3 {
            found.push(consumer.take().unwrap());
        }
        let first = found.iter().position(|taken| *taken != Taken::Empty);
        if let Some(first) = first {
            assert_eq!(found[first], Taken::Message(message(0)));
            assert!(!matches!(found.get(first + 1), Some(Taken::Message(_))));
        }
        other.join().unwrap();
        assert_eq!(first.is_none(), consumer.take() == Ok(Taken::Message(message(0))));
        assert_eq!(consumer.take(), Ok(Taken::Ended));
    });
}
