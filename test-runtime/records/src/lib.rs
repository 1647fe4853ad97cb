//! A guest that encodes and decodes the same records in seven formats.
//!
//! Exports that encode take numbers and make the records first; another export only makes them, so
//! that the two parts can be distinguished.

#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::hint::black_box;

use records_payload::{
    Malformed, Monster, Reading, capnproto, columnar, decoded, decoded_all, encoded, encoded_all,
    flatbuffers, json, karmem, messagepack, protobuf,
};

contract_support::export! {
    noop: fn(&[u8]) -> u64 = noop,
    generate: fn(&[u8]) -> u64 = |input| decoded(black_box(&monsters(input))),
    generate_batch: fn(&[u8]) -> u64 = |input| black_box(&batch(input)).len() as u64,

    karmem_encode: fn(&[u8]) -> u64 = |input| karmem::encode(&monsters(input), sampled),
    karmem_encode_all: fn(&[u8]) -> u64 = |input| karmem::encode(&monsters(input), encoded_all),
    karmem_decode: fn(&[u8]) -> u64 = |input| decoded(black_box(&accept(karmem::decode(input)))),
    karmem_decode_all: fn(&[u8]) -> u64 = |input| decoded_all(&accept(karmem::decode(input))),
    karmem_sum_vec3: fn(&[u8]) -> u64 = |input| bits(accept(karmem::sum_vec3(input))),
    karmem_sum_uint8: fn(&[u8]) -> u64 = |input| accept(karmem::sum_uint8(input)).into(),
    karmem_sum_stats: fn(&[u8]) -> u64 = |input| accept(karmem::sum_stats(input)).checksum(),
    karmem_write: fn(&[u8]) -> u64 = |input| karmem::write(&batch(input), sampled),
    karmem_write_all: fn(&[u8]) -> u64 = |input| karmem::write(&batch(input), encoded_all),
    karmem_read: fn(&[u8]) -> u64 = |input| accept(karmem::read(input)).checksum(),

    columnar_encode: fn(&[u8]) -> u64 = |input| columnar::encode(&monsters(input), sampled),
    columnar_encode_all: fn(&[u8]) -> u64 = |input| columnar::encode(&monsters(input), encoded_all),
    columnar_decode: fn(&[u8]) -> u64 = |input| decoded(black_box(&accept(columnar::decode(input)))),
    columnar_decode_all: fn(&[u8]) -> u64 = |input| decoded_all(&accept(columnar::decode(input))),
    columnar_sum_vec3: fn(&[u8]) -> u64 = |input| bits(accept(columnar::sum_vec3(input))),
    columnar_sum_uint8: fn(&[u8]) -> u64 = |input| accept(columnar::sum_uint8(input)).into(),
    columnar_sum_stats: fn(&[u8]) -> u64 = |input| accept(columnar::sum_stats(input)).checksum(),
    columnar_write: fn(&[u8]) -> u64 = |input| columnar::write(&batch(input), sampled),
    columnar_write_all: fn(&[u8]) -> u64 = |input| columnar::write(&batch(input), encoded_all),
    columnar_read: fn(&[u8]) -> u64 = |input| accept(columnar::read(input)).checksum(),

    capnproto_encode: fn(&[u8]) -> u64 = |input| capnproto::encode(&monsters(input), sampled),
    capnproto_encode_all: fn(&[u8]) -> u64 =
        |input| capnproto::encode(&monsters(input), encoded_all),
    capnproto_decode: fn(&[u8]) -> u64 =
        |input| decoded(black_box(&accept(capnproto::decode(input)))),
    capnproto_decode_all: fn(&[u8]) -> u64 =
        |input| decoded_all(&accept(capnproto::decode(input))),
    capnproto_sum_vec3: fn(&[u8]) -> u64 = |input| bits(accept(capnproto::sum_vec3(input))),
    capnproto_sum_uint8: fn(&[u8]) -> u64 = |input| accept(capnproto::sum_uint8(input)).into(),
    capnproto_sum_stats: fn(&[u8]) -> u64 =
        |input| accept(capnproto::sum_stats(input)).checksum(),
    capnproto_write: fn(&[u8]) -> u64 = |input| capnproto::write(&batch(input), sampled),
    capnproto_write_all: fn(&[u8]) -> u64 =
        |input| capnproto::write(&batch(input), encoded_all),
    capnproto_read: fn(&[u8]) -> u64 = |input| accept(capnproto::read(input)).checksum(),

    flatbuffers_encode: fn(&[u8]) -> u64 = |input| flatbuffers::encode(&monsters(input), sampled),
    flatbuffers_encode_all: fn(&[u8]) -> u64 =
        |input| flatbuffers::encode(&monsters(input), encoded_all),
    flatbuffers_decode: fn(&[u8]) -> u64 =
        |input| decoded(black_box(&accept(flatbuffers::decode(input)))),
    flatbuffers_decode_all: fn(&[u8]) -> u64 =
        |input| decoded_all(&accept(flatbuffers::decode(input))),
    flatbuffers_sum_vec3: fn(&[u8]) -> u64 = |input| bits(accept(flatbuffers::sum_vec3(input))),
    flatbuffers_sum_uint8: fn(&[u8]) -> u64 = |input| accept(flatbuffers::sum_uint8(input)).into(),
    flatbuffers_sum_stats: fn(&[u8]) -> u64 =
        |input| accept(flatbuffers::sum_stats(input)).checksum(),
    flatbuffers_write: fn(&[u8]) -> u64 = |input| flatbuffers::write(&batch(input), sampled),
    flatbuffers_write_all: fn(&[u8]) -> u64 =
        |input| flatbuffers::write(&batch(input), encoded_all),
    flatbuffers_read: fn(&[u8]) -> u64 = |input| accept(flatbuffers::read(input)).checksum(),

    json_encode: fn(&[u8]) -> u64 = |input| json::encode(&monsters(input), sampled),
    json_encode_all: fn(&[u8]) -> u64 = |input| json::encode(&monsters(input), encoded_all),
    json_decode: fn(&[u8]) -> u64 = |input| decoded(black_box(&accept(json::decode(input)))),
    json_decode_all: fn(&[u8]) -> u64 = |input| decoded_all(&accept(json::decode(input))),
    json_sum_vec3: fn(&[u8]) -> u64 = |input| bits(accept(json::sum_vec3(input))),
    json_sum_uint8: fn(&[u8]) -> u64 = |input| accept(json::sum_uint8(input)).into(),
    json_sum_stats: fn(&[u8]) -> u64 = |input| accept(json::sum_stats(input)).checksum(),
    json_write: fn(&[u8]) -> u64 = |input| json::write(&batch(input), sampled),
    json_write_all: fn(&[u8]) -> u64 = |input| json::write(&batch(input), encoded_all),
    json_read: fn(&[u8]) -> u64 = |input| accept(json::read(input)).checksum(),

    messagepack_encode: fn(&[u8]) -> u64 = |input| messagepack::encode(&monsters(input), sampled),
    messagepack_encode_all: fn(&[u8]) -> u64 = |input| messagepack::encode(&monsters(input), encoded_all),
    messagepack_decode: fn(&[u8]) -> u64 = |input| decoded(black_box(&accept(messagepack::decode(input)))),
    messagepack_decode_all: fn(&[u8]) -> u64 = |input| decoded_all(&accept(messagepack::decode(input))),
    messagepack_write: fn(&[u8]) -> u64 = |input| messagepack::write(&batch(input), sampled),
    messagepack_write_all: fn(&[u8]) -> u64 = |input| messagepack::write(&batch(input), encoded_all),
    messagepack_read: fn(&[u8]) -> u64 = |input| accept(messagepack::read(input)).checksum(),

    protobuf_encode: fn(&[u8]) -> u64 = |input| protobuf::encode(&monsters(input), sampled),
    protobuf_encode_all: fn(&[u8]) -> u64 = |input| protobuf::encode(&monsters(input), encoded_all),
    protobuf_decode: fn(&[u8]) -> u64 = |input| decoded(black_box(&accept(protobuf::decode(input)))),
    protobuf_decode_all: fn(&[u8]) -> u64 = |input| decoded_all(&accept(protobuf::decode(input))),
    protobuf_write: fn(&[u8]) -> u64 = |input| protobuf::write(&batch(input), sampled),
    protobuf_write_all: fn(&[u8]) -> u64 = |input| protobuf::write(&batch(input), encoded_all),
    protobuf_read: fn(&[u8]) -> u64 = |input| accept(protobuf::read(input)).checksum(),
}

/// Takes an input and does nothing with it: what crossing the boundary costs.
fn noop(input: &[u8]) -> u64 {
    black_box(input);
    42
}

/// Most records that an input can ask for.
const MOST: u32 = 1 << 20;

/// Monsters as the input says: how many, with how many points each, from which seed.
fn monsters(input: &[u8]) -> Vec<Monster> {
    let (count, points, seed) = numbers(input);
    records_payload::monsters(count, points, seed)
}

/// Readings as the input says: how many, a number that is not used, from which seed.
fn batch(input: &[u8]) -> Vec<Reading> {
    let (count, _, seed) = numbers(input);
    records_payload::batch(count, seed)
}

/// `u32`, `u32` and `u64`; traps where the input is not those, or asks for too much.
fn numbers(input: &[u8]) -> (usize, usize, u64) {
    let Some((numbers, [])) = input.split_first_chunk::<16>() else {
        panic!("the input is three numbers, 16 bytes");
    };
    let [a, b, c, d, e, f, g, h, seed @ ..] = *numbers;
    let (count, each) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    assert!(count.saturating_mul(each.max(1)) <= MOST, "the input asks for too many records");
    (count as usize, each as usize, u64::from_le_bytes(seed))
}

/// The checksum of encoded bytes, all of which have to be written for it.
fn sampled(bytes: &[u8]) -> u64 {
    encoded(black_box(bytes))
}

fn bits(sum: f32) -> u64 {
    sum.to_bits().into()
}

/// The decoded value; traps after an error.
fn accept<T>(result: Result<T, Malformed>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
