//! The guests that verify signatures: the inputs that are kept beside them, and
//! signatures that others have made.

use super::common::{call, everywhere};
use k256::elliptic_curve::sec1::ToEncodedPoint;
use sha2::{Digest, Sha256};
use signatures::{Answer, Entry, LONGEST_MESSAGE, append_field};
use std::cell::RefCell;
use std::path::PathBuf;
use touchstone_executor::Abi;

/// The schemes; a guest is called `verify-` and this.
const SCHEMES: [&str; 2] = ["schnorr", "ecdsa"];
/// Entries in the large input of each, and in how many of them one has a message that was
/// not signed.
const LARGE: (usize, usize) = (1024, 64);
/// The same of the input that is compared and not timed; its entries follow those above.
const SMALL: (usize, usize) = (64, 8);

/// The public key of a secret one, as the scheme writes it.
fn public(scheme: &str, secret: &[u8]) -> Vec<u8> {
    let key = k256::SecretKey::from_slice(secret).unwrap().public_key().to_encoded_point(true);
    match scheme {
        "schnorr" => key.x().unwrap().to_vec(),
        _ => key.as_bytes().to_vec(),
    }
}

/// Thirty-two bytes of their own for each scheme, purpose and number.
fn seeded(scheme: &str, purpose: &str, number: usize) -> Vec<u8> {
    Sha256::digest(format!("touchstone {scheme} {purpose} {number}")).to_vec()
}

fn fields(fields: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        append_field(&mut bytes, field);
    }
    bytes
}

fn entry(key: &[u8], signature: &[u8], message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Entry { key, signature, message }.append_to(&mut bytes);
    bytes
}

/// The files of a scheme by their names, as the guest makes the signatures.
fn files(scheme: &str, sign: impl Fn(&[u8], &[u8]) -> Vec<u8>) -> Vec<(String, Vec<u8>)> {
    let made = |number: usize, forged: bool| {
        let secret = seeded(scheme, "secret", number);
        let mut message = seeded(scheme, "message", number);
        let signature = sign(&secret, &message);
        message[0] ^= u8::from(forged);
        entry(&public(scheme, &secret), &signature, &message)
    };
    let many = |first: usize, (count, group): (usize, usize)| {
        let mut bytes = u32::try_from(count).unwrap().to_le_bytes().to_vec();
        for number in first..first + count {
            let forged = usize::from(seeded(scheme, "forged", number / group)[0]) % group;
            bytes.extend(made(number, number % group == forged));
        }
        bytes
    };
    let [secret, message] = ["secret", "message"].map(|purpose| seeded(scheme, purpose, 0));
    [
        ("1024", many(0, LARGE)),
        ("64", many(LARGE.0, SMALL)),
        ("single", made(0, false)),
        ("forged", made(0, true)),
        ("secret", fields(&[&secret, &message])),
        ("signature", sign(&secret, &message)),
    ]
    .map(|(name, bytes)| (format!("{scheme}-{name}.bin"), bytes))
    .to_vec()
}

/// The files of all schemes, made by the guests as they are now.
fn all_files() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/inputs/signatures");
    let made = RefCell::new(Vec::new());
    for scheme in SCHEMES {
        let mine = RefCell::new(None);
        everywhere(&format!("verify-{scheme}"), |module, instance| {
            // All strategies run the same code.
            if mine.borrow().is_some() {
                return;
            }
            let instance = RefCell::new(instance);
            let sign = |secret: &[u8], message: &[u8]| {
                let input = fields(&[secret, message]);
                call(module, &mut **instance.borrow_mut(), ("sign", Abi::Substrate), &input)
                    .unwrap()
            };
            mine.replace(Some(files(scheme, sign)));
        });
        made.borrow_mut().extend(mine.take().unwrap());
    }
    let made = made.take().into_iter();
    made.map(|(name, bytes)| (PathBuf::from(folder).join(name), bytes)).collect()
}

/// `cargo test -p touchstone-native --test native signatures -- --ignored` writes them.
#[test]
#[ignore = "writes the files that the next test compares"]
fn write_the_inputs() {
    for (path, bytes) in all_files() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn the_inputs_are_made_from_their_seed() {
    for (path, bytes) in all_files() {
        let found = std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(found == bytes, "{path:?} is not what the seed gives");
    }
}

/// RFC 6979 and BIP 340 as other programs have them: the secrets 1 and 3.
#[test]
fn others_make_the_same_signatures() {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    };
    let known: [(&str, u8, &[u8], &str); 2] = [
        (
            "ecdsa",
            1,
            b"Satoshi Nakamoto",
            "3045022100934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8\
             02202442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
        ),
        (
            "schnorr",
            3,
            b"abc",
            "7f7159f1f7669d191a01e171962d0470ababc9002ac16e6a54a2dd3a98f2cf88\
             b2faa9d9a2b0b65179985cbff66fbe2a6bb0a2362790948e2d46a75f74efecbc",
        ),
    ];
    for (scheme, last, message, signature) in known {
        let mut secret = [0; 32];
        secret[31] = last;
        everywhere(&format!("verify-{scheme}"), |module, instance| {
            let input = fields(&[&secret, message]);
            let made = call(module, instance, ("sign", Abi::Substrate), &input).unwrap();
            assert_eq!(made, hex(signature), "{scheme}");
            let input = entry(&public(scheme, &secret), &made, message);
            let answer = call(module, instance, ("verify", Abi::Substrate), &input).unwrap();
            assert_eq!(answer, [Answer::Valid as u8], "{scheme}");
        });
    }
}

/// No length of any field, and no value at its ends, is more than an answer.
#[test]
fn whatever_is_in_the_fields_has_an_answer() {
    for scheme in SCHEMES {
        let secret = seeded(scheme, "secret", 0);
        let (key, message) = (public(scheme, &secret), seeded(scheme, "message", 0));
        everywhere(&format!("verify-{scheme}"), |module, instance| {
            let mut ask = |export, input: &[u8]| {
                call(module, instance, (export, Abi::Substrate), input).unwrap()
            };
            let signature = ask("sign", &fields(&[&secret, &message]));
            for size in 0..80 {
                for fill in [0, 1, 0x30, 0xff] {
                    let bytes = vec![fill; size];
                    let answer = ask("verify", &entry(&key, &bytes, &message));
                    assert_eq!(answer, [Answer::Invalid as u8], "{scheme} {size} times {fill}");
                    let answer = ask("verify", &entry(&bytes, &signature, &message));
                    // A key may be one, though it is another.
                    let answers = [Answer::Invalid as u8, Answer::BadKey as u8];
                    assert!(answers.contains(&answer[0]), "{scheme} {size} times {fill}");
                    // Only 32 bytes are a secret, and not if they are 0 or too large.
                    let signed = ask("sign", &fields(&[&bytes, &message]));
                    let secret = size == 32 && (1..=0xfe).contains(&fill);
                    assert_eq!(!signed.is_empty(), secret, "{scheme} {size} times {fill}");
                }
            }
            for cut in 0..signature.len() {
                let answer = ask("verify", &entry(&key, &signature[..cut], &message));
                assert_eq!(answer, [Answer::Invalid as u8], "{scheme} {cut}");
            }
            for (size, expected) in [(LONGEST_MESSAGE, Answer::Valid), (65_535, Answer::TooLong)] {
                let message = vec![7; size];
                let mut signed = ask("sign", &fields(&[&secret, &message]));
                assert_eq!(signed.is_empty(), expected == Answer::TooLong);
                if signed.is_empty() {
                    signed.clone_from(&signature);
                }
                let answer = ask("verify", &entry(&key, &signed, &message));
                assert_eq!(answer, [expected as u8], "{scheme} {size}");
            }
        });
    }
}
