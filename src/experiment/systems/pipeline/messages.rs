//! The messages of a run.

use crate::plan::Random;
use crate::swap::random_order;
use touchstone_systems::pipeline::Message;

/// Bytes of the shortest and the longest text.
const TEXT: (u64, u64) = (32, 128);
/// One message of so many is tampered with.
const TAMPERED: u64 = 64;

/// Messages of both kinds in random order, with random texts. One of 64 is tampered with.
pub(super) fn messages(seed: u64, count: u64) -> Vec<Message> {
    let mut random = Random::new(seed);
    let kinds = random_order(&mut random, usize::try_from(count).unwrap_or(0));
    let mut chosen = 0;
    let message = |(sequence, kind): (u64, usize)| {
        if sequence % TAMPERED == 0 {
            chosen = sequence + random.next_number() % TAMPERED.min(count - sequence);
        }
        let length = TEXT.0 + random.next_number() % (TEXT.1 - TEXT.0 + 1);
        let text = (0..length).map(|_| random.next_number() as u8).collect();
        Message { sequence, kind: kind as u32, text, tampered: sequence == chosen }
    };
    (0..count).zip(kinds).map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_and_one_of_64_is_tampered_with() {
        let some = messages(5, 200);
        assert_eq!(some, messages(5, 200));
        assert_ne!(some, messages(6, 200));
        assert!(some.iter().zip(0..).all(|(message, sequence)| message.sequence == sequence));
        let lengths = some.iter().map(|message| message.text.len());
        assert!(lengths.clone().all(|length| (32..=128).contains(&length)));
        assert!(lengths.min() < lengths_max(&some));
        for part in some.chunks(64) {
            assert_eq!(part.iter().filter(|message| message.tampered).count(), 1);
        }
        let second = some.iter().filter(|message| message.kind == 1).count();
        assert!((50..150).contains(&second));
    }

    fn lengths_max(of: &[Message]) -> Option<usize> {
        of.iter().map(|message| message.text.len()).max()
    }
}
