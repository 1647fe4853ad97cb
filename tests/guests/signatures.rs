//! The guests that verify signatures, on every engine: good entries, entries
//! with one bit changed anywhere, fields that are no good, and inputs that are none.

use crate::run::{Run, each};
use sha2::{Digest, Sha256};
use signatures::{Answer, Entry, LONGEST_MESSAGE, append_field};
use std::collections::BTreeSet;
use touchstone_executor::Abi;

/// A guest and what is kept beside it.
struct Scheme {
    guest: &'static str,
    /// A number and so many entries, one after the other.
    many: &'static [u8],
    /// An entry.
    single: &'static [u8],
    /// The secret key and the message of that entry.
    secret: &'static [u8],
    /// The signature that they make.
    signature: &'static [u8],
}

macro_rules! scheme {
    ($name:literal) => {
        Scheme {
            guest: concat!("verify-", $name),
            many: input!($name, "-1024.bin"),
            single: input!($name, "-single.bin"),
            secret: input!($name, "-secret.bin"),
            signature: input!($name, "-signature.bin"),
        }
    };
}

macro_rules! input {
    ($name:literal, $kind:literal) => {
        include_bytes!(concat!("../../test-runtime/inputs/signatures/", $name, $kind))
    };
}

const SCHEMES: [Scheme; 2] = [scheme!("schnorr"), scheme!("ecdsa")];
impl Scheme {
    fn each(&self, test: impl Fn(&mut Run<'_>) + Sync) {
        each(self.guest, test);
    }

    fn entries(&self) -> Vec<Entry<'static>> {
        let (count, mut rest) = self.many.split_first_chunk().unwrap();
        let entries = (0..u32::from_le_bytes(*count)).map(|_| Entry::take(&mut rest).unwrap());
        let entries = entries.collect();
        assert!(rest.is_empty());
        entries
    }

    fn name(&self) -> &str {
        self.guest.trim_start_matches("verify-")
    }

    /// Where the messages are not those that were signed.
    fn forged(&self) -> Vec<usize> {
        let name = self.name();
        let message =
            |number: &usize| Sha256::digest(format!("touchstone {name} message {number}"));
        let entries = self.entries().into_iter().enumerate();
        let forged = entries.filter(|(number, entry)| entry.message != &message(number)[..]);
        forged.map(|(number, _)| number).collect()
    }
}

fn bytes(entry: Entry<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    entry.append_to(&mut bytes);
    bytes
}

/// An input of `verify_many`.
fn many(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = u32::try_from(entries.len()).unwrap().to_le_bytes().to_vec();
    for entry in entries {
        entry.append_to(&mut bytes);
    }
    bytes
}

fn answers(run: &mut Run<'_>, entry: Entry<'_>, answer: Answer) {
    run.returns("verify", Abi::Substrate, &bytes(entry), &[answer as u8]);
}

#[test]
fn good_entries_are_valid_and_signing_gives_what_is_kept() {
    for scheme in &SCHEMES {
        let entries = scheme.entries();
        assert_eq!(bytes(entries[0]), scheme.single);
        let (name, forged) = (scheme.name(), scheme.forged());
        let apart: BTreeSet<_> = forged.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(forged.len() == 16 && apart.len() > 8, "{name}: {forged:?}");
        let some = many(&entries[forged[0] - 1..forged[0] + 2]);
        scheme.each(|run| {
            for _ in 0..2 {
                run.returns("verify", Abi::Substrate, scheme.single, &[1]);
                run.returns("sign", Abi::Substrate, scheme.secret, scheme.signature);
                run.returns("verify_many", Abi::Substrate, &some, &2_u32.to_le_bytes());
            }
            run.returns("verify_many", Abi::Substrate, &many(&[]), &0_u32.to_le_bytes());
        });
    }
}

#[test]
fn a_bit_anywhere_changes_the_answer() {
    for scheme in &SCHEMES {
        let Entry { key, signature, message } = scheme.entries()[0];
        let flipped = |field: &[u8], at: usize| {
            let mut field = field.to_vec();
            field[at] ^= 1;
            field
        };
        scheme.each(|run| {
            for at in [0, message.len() - 1] {
                let message = &flipped(message, at)[..];
                answers(run, Entry { key, signature, message }, Answer::Invalid);
            }
            // Near both ends of the encoding and of the numbers in it.
            for at in [0, 1, 9, signature.len() / 2 + 9, signature.len() - 1] {
                let signature = &flipped(signature, at)[..];
                answers(run, Entry { key, signature, message }, Answer::Invalid);
            }
            // It may be another key or none.
            for at in [0, key.len() - 1] {
                let key = &flipped(key, at)[..];
                let input = bytes(Entry { key, signature, message });
                let (_, answer) = run.call("verify", Abi::Substrate, &input);
                assert!(answer == [0] || answer == [2], "{}: {answer:?}", run.name);
            }
            let mut secret = scheme.secret.to_vec();
            *secret.last_mut().unwrap() ^= 1;
            let (_, other) = run.call("sign", Abi::Substrate, &secret);
            assert!(!other.is_empty() && other != scheme.signature, "{}", run.name);
            run.returns("verify", Abi::Substrate, scheme.single, &[1]);
        });
    }
}

#[test]
fn bad_fields_are_answers() {
    for scheme in &SCHEMES {
        let good @ Entry { key, signature, message } = scheme.entries()[0];
        let long = vec![0; LONGEST_MESSAGE + 1];
        let zeros = [0; 80];
        let ones = [0xff; 80];
        let bad = [
            (Entry { key: &[], ..good }, Answer::BadKey),
            (Entry { key: &key[1..], ..good }, Answer::BadKey),
            (Entry { key: &zeros[..key.len()], ..good }, Answer::BadKey),
            (Entry { key: &ones[..key.len()], ..good }, Answer::BadKey),
            (Entry { key: signature, ..good }, Answer::BadKey),
            (Entry { signature: &[], ..good }, Answer::Invalid),
            (Entry { signature: &signature[..31], ..good }, Answer::Invalid),
            (Entry { signature: &zeros[..signature.len()], ..good }, Answer::Invalid),
            (Entry { signature: &ones[..signature.len()], ..good }, Answer::Invalid),
            (Entry { message: &[], ..good }, Answer::Invalid),
            (Entry { message: &long[1..], ..good }, Answer::Invalid),
            (Entry { message: &long, ..good }, Answer::TooLong),
            (Entry { key: &[], signature: &[], message: &long }, Answer::TooLong),
        ];
        let all = many(&bad.map(|(entry, _)| entry));
        let unsigned = [(&[][..], message), (&zeros[..32], message), (&ones[..32], message)];
        scheme.each(|run| {
            for (entry, answer) in bad {
                answers(run, entry, answer);
            }
            run.returns("verify_many", Abi::Substrate, &all, &0_u32.to_le_bytes());
            for (secret, message) in unsigned.into_iter().chain([(&key[..32], &long[..])]) {
                let mut input = Vec::new();
                append_field(&mut input, secret);
                append_field(&mut input, message);
                run.returns("sign", Abi::Substrate, &input, b"");
            }
            run.returns("verify", Abi::Substrate, scheme.single, &[1]);
        });
    }
}

#[test]
fn an_input_that_is_laid_out_wrong_is_a_trap_and_the_next_call_is_clean() {
    for scheme in &SCHEMES {
        let entries = scheme.entries();
        let two = many(&entries[..2]);
        // More entries than there are, as many as can be said, and fewer.
        let [more, most, fewer] = [3, u32::MAX, 1].map(|count| {
            let mut input = two.clone();
            input[..4].copy_from_slice(&count.to_le_bytes());
            input
        });
        let end = scheme.single.len() - 1;
        // The message's length says more, or less, than there is.
        let length = scheme.single.len() - entries[0].message.len() - 2;
        let [longer, shorter] = [33, 31].map(|size| {
            let mut input = scheme.single.to_vec();
            input[length] = size;
            input
        });
        let wrong: [(&str, &[u8]); 15] = [
            ("verify", b""),
            ("verify", &scheme.single[..1]),
            ("verify", &scheme.single[..end]),
            ("verify", &[0xff; 40]),
            ("verify", &two),
            ("verify", &longer),
            ("verify", &shorter),
            ("verify_many", b""),
            ("verify_many", &two[..3]),
            ("verify_many", &two[..two.len() - 1]),
            ("verify_many", &most),
            ("verify_many", &more),
            ("verify_many", &fewer),
            ("sign", b""),
            ("sign", scheme.single),
        ];
        scheme.each(|run| {
            for (export, input) in wrong {
                run.traps(export, Abi::Substrate, input);
                // The cheapest answer there is; interpreters need long for the others.
                answers(run, Entry { key: &[], ..entries[0] }, Answer::BadKey);
            }
            run.returns("verify", Abi::Substrate, scheme.single, &[1]);
        });
    }
}
