//! JSON texts of any size in the shape of the large input of the payload suite: signed messages, as
//! the guest `json-module` reads them. The same size and seed give the same bytes everywhere.

use super::Random;
use serde_json::Value;

/// Smallest text, bytes: one entry and some filling.
pub(super) const SMALLEST: usize = 1024;

const RECIPIENT: &str = "intents.near";
const END: &str = "]}";

/// A text of exactly `bytes` bytes, `None` below [`SMALLEST`]. Has as many entries as fit; the last
/// recipient is lengthened to meet the size.
pub(super) fn text(bytes: usize, seed: u64) -> Option<String> {
    if bytes < SMALLEST {
        return None;
    }
    let mut random = Random::new(seed);
    let (mut text, mut last) = (r#"{"signed":["#.to_owned(), random.entry());
    loop {
        let next = random.entry();
        let size = text.len() + last.len() + END.len();
        // A comma precedes the next one.
        if size + 1 + next.len() > bytes {
            let filled = RECIPIENT.to_owned() + &"x".repeat(bytes - size);
            return Some(text + &last.replace(RECIPIENT, &filled) + END);
        }
        text = text + &last + ",";
        last = next;
    }
}

const HEX: &[u8] = b"0123456789abcdef";
const DIGITS: &[u8] = b"0123456789";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

impl Random {
    fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        let mut letter = || alphabet[(self.next_number() % alphabet.len() as u64) as usize];
        (0..count).map(|_| char::from(letter())).collect()
    }

    /// An entry like those of the suite's large input: a message that is JSON itself,
    /// so that its quotes are escaped, and texts of the same lengths.
    fn entry(&mut self) -> String {
        let (account, token) = (self.letters(HEX, 64), self.letters(HEX, 64));
        let (amount, refund) = (self.letters(DIGITS, 9), self.letters(DIGITS, 27));
        let message = Value::String(format!(
            r#"{{"signer_id":"{account}","deadline":"2025-09-23T14:42:10.476Z","intents":[{{"intent":"token_diff","diff":{{"nep141:{token}":"{amount}","nep141:wrap.near":"-{refund}"}}}}]}}"#
        ));
        let [nonce, signature, key] = [43, 87, 44].map(|count| self.letters(BASE58, count));
        format!(
            r#"{{"payload":{{"nonce":"{nonce}=","message":{message},"recipient":"{RECIPIENT}"}},"standard":"nep413","signature":"ed25519:{signature}","public_key":"ed25519:{key}"}}"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_size_and_the_shape_that_is_asked_for() {
        for bytes in [SMALLEST, 1388, 16 << 10, 256 << 10] {
            let text = text(bytes, 7).unwrap();
            assert_eq!(text.len(), bytes);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let entries = value["signed"].as_array().unwrap();
            assert!(entries.len() * 850 >= bytes - 850, "{} entries", entries.len());
            for entry in entries {
                assert!(entry["payload"]["message"].as_str().unwrap().starts_with("{\"signer_id"));
            }
        }
        assert_eq!(text(SMALLEST - 1, 7), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_text_as_ever() {
        let digest = |bytes, seed| crate::case::digest(text(bytes, seed).unwrap().as_bytes());
        assert_ne!(digest(2000, 1), digest(2000, 2));
        assert_eq!(
            digest(16_384, 1),
            "704d4e1e466cd313b9a76a3b57070633d050d195c55ef37b7b4d575870aa949b"
        );
        assert_eq!(
            digest(1 << 20, 1),
            "732ab781e81310ed25e261e4f1ee2ba94e9099f62f2db3a9f24362fa97bd76c8"
        );
    }
}
