//! JSON texts of any size in the shape of the large input of the payload suite:
//! signed messages, as the guest `json-module` reads them. The same size and seed
//! give the same bytes everywhere.

use serde::Serialize;

/// Smallest text that can be asked for, bytes: one entry and some room to fill.
pub(super) const SMALLEST: usize = 1024;

#[derive(Serialize)]
struct Document {
    signed: Vec<Signed>,
}

#[derive(Serialize)]
struct Signed {
    payload: Payload,
    standard: &'static str,
    signature: String,
    public_key: String,
}

#[derive(Serialize)]
struct Payload {
    nonce: String,
    message: String,
    recipient: String,
}

/// A text of exactly `bytes` bytes, or nothing below [`SMALLEST`].
pub(super) fn text(bytes: usize, seed: u64) -> Option<String> {
    document(bytes, seed).map(|document| printed(&document))
}

/// The checksum that a guest computes of that text: its strings in the order of the fields,
/// mixed word by word. The guest's README has the same definition.
pub(super) fn checksum(bytes: usize, seed: u64) -> Option<u64> {
    let document = document(bytes, seed)?;
    let mut sum = Checksum(0x9e37_79b9_7f4a_7c15);
    sum.word(document.signed.len() as u64);
    for Signed { payload, standard, signature, public_key } in &document.signed {
        let Payload { nonce, message, recipient } = payload;
        for text in [nonce, message, recipient, *standard, signature, public_key] {
            sum.text(text);
        }
    }
    Some(sum.0)
}

struct Checksum(u64);

impl Checksum {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for part in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.word(u64::from_le_bytes(word));
        }
    }
}

/// As many entries as fit; the last recipient is made longer until the size is met.
fn document(bytes: usize, seed: u64) -> Option<Document> {
    if bytes < SMALLEST {
        return None;
    }
    let mut random = Random(seed);
    let mut document = Document { signed: Vec::new() };
    let mut size = printed(&document).len();
    loop {
        let entry = random.entry();
        // All entries but the first have a comma before them.
        let more = printed(&entry).len() + usize::from(!document.signed.is_empty());
        if size + more > bytes {
            break;
        }
        size += more;
        document.signed.push(entry);
    }
    let last = document.signed.last_mut()?;
    last.payload.recipient.extend(std::iter::repeat_n('x', bytes - size));
    Some(document)
}

fn printed(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|_| unreachable!("structures of strings can always be written"))
}

/// SplitMix64.
struct Random(u64);

const HEX: &[u8] = b"0123456789abcdef";
const DIGITS: &[u8] = b"0123456789";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| self.letter(alphabet)).collect()
    }

    fn letter(&mut self, alphabet: &[u8]) -> char {
        char::from(alphabet[(self.next() % alphabet.len() as u64) as usize])
    }

    /// An entry like those of the suite's large input: a message that is JSON itself,
    /// so that its quotes are escaped, and texts of the same lengths.
    fn entry(&mut self) -> Signed {
        let (account, token) = (self.letters(HEX, 64), self.letters(HEX, 64));
        let (amount, refund) = (self.letters(DIGITS, 9), self.letters(DIGITS, 27));
        let message = format!(
            r#"{{"signer_id":"{account}","deadline":"2025-09-23T14:42:10.476Z","intents":[{{"intent":"token_diff","diff":{{"nep141:{token}":"{amount}","nep141:wrap.near":"-{refund}"}}}}]}}"#
        );
        Signed {
            payload: Payload {
                nonce: self.letters(BASE58, 43) + "=",
                message,
                recipient: "intents.near".to_owned(),
            },
            standard: "nep413",
            signature: format!("ed25519:{}", self.letters(BASE58, 87)),
            public_key: format!("ed25519:{}", self.letters(BASE58, 44)),
        }
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
    fn the_same_seed_gives_the_same_and_another_one_something_else() {
        assert_eq!(text(2000, 1), text(2000, 1));
        assert_eq!(checksum(2000, 1), checksum(2000, 1));
        assert_ne!(checksum(2000, 1), checksum(2000, 2));
        assert_ne!(text(2000, 1), text(2000, 2));
    }
}
