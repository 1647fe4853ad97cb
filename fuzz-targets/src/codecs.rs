//! Messages of the codecs that guests and the native baseline use.

use records_payload::{capnproto, flatbuffers, json, karmem};
use signatures::Entry;
use std::fmt::Debug;

/// Decodes and sums bytes in every format, and reads them as entries that are signed.
///
/// # Panics
///
/// When a message that was decoded is another one after it was encoded again.
pub fn codecs(bytes: &[u8]) {
    let same = |text: String| text;
    again(bytes, karmem::decode, |monsters| karmem::encode(monsters, <[u8]>::to_vec), same);
    again(bytes, capnproto::decode, |monsters| capnproto::encode(monsters, <[u8]>::to_vec), same);
    // A number that is too large for an f32 becomes infinite, for which JSON has no text.
    let decode = |bytes: &[u8]| match json::decode(bytes) {
        Ok(monsters) if !is_infinite(&format!("{monsters:?}")) => Ok(monsters),
        _ => Err(()),
    };
    again(bytes, decode, |monsters| json::encode(monsters, <[u8]>::to_vec), same);
    // FlatBuffers leaves out a number that equals its default, as -0 equals 0.
    let unsigned = |text: String| text.replace(": -0.0,", ": 0.0,").replace(": -0.0 }", ": 0.0 }");
    let encode = |monsters: &[_]| flatbuffers::encode(monsters, <[u8]>::to_vec);
    again(bytes, flatbuffers::decode, encode, unsigned);
    // Sums are refused or numbers: both are answers.
    let _ = (karmem::sum_vec3(bytes), karmem::sum_uint8(bytes), karmem::sum_stats(bytes));
    let _ = (capnproto::sum_vec3(bytes), capnproto::sum_uint8(bytes));
    let _ = (capnproto::sum_stats(bytes), capnproto::read(bytes));
    let _ = (flatbuffers::sum_vec3(bytes), flatbuffers::sum_uint8(bytes));
    let _ = (flatbuffers::sum_stats(bytes), json::sum_vec3(bytes), json::sum_uint8(bytes));
    let _ = (json::sum_stats(bytes), karmem::read(bytes), flatbuffers::read(bytes));
    let _ = json::read(bytes);

    let mut rest = bytes;
    while let Some(entry) = Entry::take(&mut rest) {
        let mut written = Vec::new();
        entry.append_to(&mut written);
        assert!(bytes.windows(written.len()).any(|window| window == written), "{entry:?}");
    }
}

/// `true` if values printed by `{:?}` contain an infinite number.
fn is_infinite(shown: &str) -> bool {
    shown.contains("inf,") || shown.contains("inf }")
}

/// `{:?}` tells values apart that `==` does not: a NaN is not itself. `shown` leaves out what the
/// format does not keep.
fn again<T: Debug, E>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<Vec<T>, E>,
    encode: impl Fn(&[T]) -> Vec<u8>,
    shown: impl Fn(String) -> String,
) {
    let Ok(values) = decode(bytes) else { return };
    let Ok(twice) = decode(&encode(&values)) else { panic!("its own encoding is refused") };
    assert_eq!(shown(format!("{values:?}")), shown(format!("{twice:?}")));
}
