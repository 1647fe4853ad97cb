//! A guest that writes and reads a batch of readings in one format and does nothing else:
//! how many bytes that format adds to a module.

#![no_std]

// A guest without a format, of which all others have what it has.
#[cfg(not(any(
    feature = "karmem",
    feature = "columnar",
    feature = "capnproto",
    feature = "flatbuffers",
    feature = "json",
    feature = "messagepack",
    feature = "protobuf"
)))]
contract_support::export! {
    write: fn(&[u8]) -> u64 = |input| records_payload::batch(count(input), 1).len() as u64,
    read: fn(&[u8]) -> u64 = |input| records_payload::encoded(input),
}

// The guest with a format.
macro_rules! format {
    ($name:ident, $feature:literal) => {
        #[cfg(feature = $feature)]
        contract_support::export! {
            write: fn(&[u8]) -> u64 = |input| {
                let readings = records_payload::batch(count(input), 1);
                records_payload::$name::write(&readings, records_payload::encoded)
            },
            read: fn(&[u8]) -> u64 = |input| match records_payload::$name::read(input) {
                Ok(summary) => summary.checksum(),
                Err(error) => panic!("{error}"),
            },
        }
    };
}

format!(karmem, "karmem");
format!(columnar, "columnar");
format!(capnproto, "capnproto");
format!(flatbuffers, "flatbuffers");
format!(json, "json");
format!(messagepack, "messagepack");
format!(protobuf, "protobuf");

/// How many readings the input asks for; 1000 at most, and none for another input.
fn count(input: &[u8]) -> usize {
    input.first_chunk().map_or(0, |count| u32::from_le_bytes(*count).min(1000) as usize)
}
