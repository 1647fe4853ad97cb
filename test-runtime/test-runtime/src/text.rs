//! A call that does ordinary work over tables of ordinary size.

use alloc::string::String;

use guest_support::Output;
use unicode_normalization::UnicodeNormalization;

/// Composes and then decomposes text; returns nothing for invalid UTF-8.
pub fn normalize(input: &[u8]) -> Output {
    let Ok(text) = core::str::from_utf8(input) else {
        return Output::EMPTY;
    };
    text.nfc().nfd().collect::<String>().into_bytes().into()
}
