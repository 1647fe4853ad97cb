//! A queue of signed messages in shared memory, with one producer and one consumer.
//!
//! The memory is an array of 64-bit words, which both sides access only by atomic operations. A
//! broken or hostile peer can cause an error, but no undefined behaviour.
//!
//! | word | content |
//! |---|---|
//! | 0 | a constant that names this layout |
//! | 8 | number of messages put so far; written by the producer |
//! | 16 | number of messages taken so far; written by the consumer |
//! | 24 | 1 after the last message; written by the producer |
//! | 32 and on | slots of 64 words; message `n` lies in slot `n` modulo their number |
//!
//! A slot has the sequence number, the kind, the length of the entry in bytes, and the entry.
//! Each word of the header has its own cache line. The producer writes a slot, then word 8 with
//! release order. The consumer reads word 8 with acquire order, then the slot, and then writes
//! word 16 with release order.

#[cfg(loom)]
mod loom_tests;

use super::sync::AtomicU64;
use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::{Kind, Signed};

/// `SIGNED\0\x01` in ASCII.
const LAYOUT: u64 = u64::from_be_bytes(*b"SIGNED\0\x01");
const PUT: usize = 8;
const TAKEN: usize = 16;
const ENDED: usize = 24;
const HEADER: usize = 32;
const SLOT: usize = 64;
/// Words of a slot before the entry.
const OWN: usize = 3;

/// Size of the longest entry, bytes.
pub const LONGEST_ENTRY: usize = (SLOT - OWN) * 8;

/// The reason why a ring cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Another layout.
    #[error("the shared memory is not a ring of messages: remove the file and start again")]
    Layout,
    /// Impossible numbers of the peer.
    #[error("the other side of the shared memory broke the protocol")]
    Protocol,
    #[error("an entry of {0} bytes is too long: {LONGEST_ENTRY} fit")]
    TooLong(usize),
}

pub fn words(slots: usize) -> usize {
    HEADER + slots * SLOT
}

/// Writes the header of an empty ring.
pub fn create(words: &[AtomicU64]) {
    for at in [PUT, TAKEN, ENDED] {
        words[at].store(0, Relaxed);
    }
    words[0].store(LAYOUT, Release);
}

fn slots(words: &[AtomicU64]) -> Result<u64, Broken> {
    let slots = words.len().saturating_sub(HEADER) / SLOT;
    if slots == 0 || words[0].load(Acquire) != LAYOUT {
        return Err(Broken::Layout);
    }
    Ok(slots as u64)
}

/// The words of the slot of message `number`.
fn slot(words: &[AtomicU64], number: u64, slots: u64) -> &[AtomicU64] {
    let start = HEADER + (number % slots) as usize * SLOT;
    &words[start..start + SLOT]
}

/// The side that puts messages.
#[derive(Debug)]
pub struct Producer<W> {
    words: W,
    slots: u64,
    put: u64,
}

impl<W: AsRef<[AtomicU64]>> Producer<W> {
    /// The producer of an empty ring. Fails if the layout is another one.
    pub fn open(words: W) -> Result<Self, Broken> {
        let slots = slots(words.as_ref())?;
        Ok(Self { words, slots, put: 0 })
    }

    /// Puts a message; `false` if the ring is full. Fails if the entry is too long or the consumer
    /// broke the protocol.
    pub fn put(&mut self, message: &Signed) -> Result<bool, Broken> {
        let Signed { sequence, kind, entry } = message;
        if entry.len() > LONGEST_ENTRY {
            return Err(Broken::TooLong(entry.len()));
        }
        let words = self.words.as_ref();
        match self.put.checked_sub(words[TAKEN].load(Acquire)) {
            Some(waiting) if waiting < self.slots => {}
            Some(waiting) if waiting == self.slots => return Ok(false),
            _ => return Err(Broken::Protocol),
        }
        let slot = slot(words, self.put, self.slots);
        let header = [*sequence, *kind as u64, entry.len() as u64];
        let body = entry.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        for (word, value) in slot.iter().zip(header.into_iter().chain(body)) {
            word.store(value, Relaxed);
        }
        self.put += 1;
        words[PUT].store(self.put, Release);
        Ok(true)
    }

    pub fn end(&mut self) {
        self.words.as_ref()[ENDED].store(1, Release);
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    Message(Signed),
    Empty,
    /// All messages were taken, and the producer ended.
    Ended,
}

/// The side that takes messages.
#[derive(Debug)]
pub struct Consumer<W> {
    words: W,
    slots: u64,
    taken: u64,
}

impl<W: AsRef<[AtomicU64]>> Consumer<W> {
    /// The consumer of an unused ring.
    pub fn open(words: W) -> Result<Self, Broken> {
        let slots = slots(words.as_ref())?;
        Ok(Self { words, slots, taken: 0 })
    }

    /// Takes the next message. Fails if the producer broke the protocol.
    pub fn take(&mut self) -> Result<Taken, Broken> {
        let words = self.words.as_ref();
        // Read before the number of messages: the producer puts none after it.
        let has_ended = words[ENDED].load(Acquire) != 0;
        match words[PUT].load(Acquire).checked_sub(self.taken) {
            Some(0) if has_ended => return Ok(Taken::Ended),
            Some(0) => return Ok(Taken::Empty),
            Some(waiting) if waiting <= self.slots => {}
            _ => return Err(Broken::Protocol),
        }
        let slot = slot(words, self.taken, self.slots);
        let [sequence, kind, length] = [0, 1, 2].map(|at| slot[at].load(Relaxed));
        let kind = Kind::numbered(kind).ok_or(Broken::Protocol)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > LONGEST_ENTRY {
            return Err(Broken::Protocol);
        }
        let body = slot[OWN..].iter().take(length.div_ceil(8));
        let mut entry: Vec<u8> = body.flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        entry.truncate(length);
        self.taken += 1;
        words[TAKEN].store(self.taken, Release);
        Ok(Taken::Message(Signed { sequence, kind, entry }))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn ring(slots: usize) -> Arc<[AtomicU64]> {
        let words: Arc<[AtomicU64]> = (0..words(slots)).map(|_| AtomicU64::new(0)).collect();
        create(&words);
        words
    }

    fn message(sequence: u64) -> Signed {
        let length = usize::try_from(sequence * 37 % (LONGEST_ENTRY as u64 + 1)).unwrap();
        let entry = (0..length).map(|at| (at as u64 + sequence) as u8).collect();
        Signed { sequence, kind: Kind::ALL[(sequence % 2) as usize], entry }
    }

    #[test]
    fn all_messages_arrive_in_order_between_threads() {
        let words = ring(3);
        let mut producer = Producer::open(Arc::clone(&words)).unwrap();
        let mut consumer = Consumer::open(words).unwrap();
        let count = if cfg!(miri) { 100 } else { 2_000 };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for sequence in 0..count {
                    while !producer.put(&message(sequence)).unwrap() {
                        std::thread::yield_now();
                    }
                }
                producer.end();
            });
            let mut expected = 0;
            loop {
                match consumer.take().unwrap() {
                    Taken::Message(taken) => {
                        assert_eq!(taken, message(expected));
                        expected += 1;
                    }
                    Taken::Empty => std::thread::yield_now(),
                    Taken::Ended => break,
                }
            }
            assert_eq!(expected, count);
        });
    }

    #[test]
    fn a_full_ring_takes_nothing_and_an_empty_one_gives_nothing() {
        let words = ring(2);
        let mut producer = Producer::open(Arc::clone(&words)).unwrap();
        let mut consumer = Consumer::open(words).unwrap();
        assert_eq!(consumer.take(), Ok(Taken::Empty));
        for (sequence, fits) in [(0, true), (1, true), (2, false)] {
            assert_eq!(producer.put(&message(sequence)), Ok(fits));
        }
        producer.end();
        for sequence in [0, 1] {
            assert_eq!(consumer.take(), Ok(Taken::Message(message(sequence))));
        }
        assert_eq!(consumer.take(), Ok(Taken::Ended));
    }

    #[test]
    fn other_memory_and_broken_peers_are_errors() {
        let nothing: Arc<[AtomicU64]> = (0..words(1)).map(|_| AtomicU64::new(0)).collect();
        assert_eq!(Consumer::open(nothing).unwrap_err(), Broken::Layout);
        let short: Arc<[AtomicU64]> = Arc::new([]);
        assert_eq!(Producer::open(short).unwrap_err(), Broken::Layout);
        for (at, value) in [(PUT, 3), (PUT, u64::MAX), (HEADER + 1, 2), (HEADER + 2, u64::MAX)] {
            let words = ring(2);
            Producer::open(Arc::clone(&words)).unwrap().put(&message(0)).unwrap();
            words[at].store(value, Relaxed);
            assert_eq!(Consumer::open(words).unwrap().take(), Err(Broken::Protocol));
        }
        let words = ring(2);
        let mut producer = Producer::open(Arc::clone(&words)).unwrap();
        words[TAKEN].store(1, Relaxed);
        assert_eq!(producer.put(&message(0)), Err(Broken::Protocol));
        let long = Signed { entry: vec![0; LONGEST_ENTRY + 1], ..message(0) };
        assert_eq!(producer.put(&long), Err(Broken::TooLong(LONGEST_ENTRY + 1)));
    }
}
