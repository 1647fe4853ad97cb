//! Phrases of words that stand for a key, in ten languages.

use alloc::string::ToString;

use bip39::{Language, Mnemonic};
use sha2::{Digest, Sha256};

/// Writes a key derived from the input as a phrase in each language, reads the
/// phrase back and makes a seed of the English one.
pub fn every_language(input: &[u8], digest: &mut Sha256) {
    let key = Sha256::digest(input);
    for language in Language::ALL {
        let Ok(mnemonic) = Mnemonic::from_entropy_in(*language, &key) else {
            continue;
        };
        let phrase = mnemonic.to_string();
        let read = Mnemonic::parse_in(*language, &phrase);
        assert!(read.as_ref() == Ok(&mnemonic), "a phrase changed on the way");
        assert!(mnemonic.to_entropy() == key[..], "a key changed on the way");
        digest.update(&phrase);
        if *language == Language::English {
            digest.update(mnemonic.to_seed("passphrase"));
        }
    }
}
