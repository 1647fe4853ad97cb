//! A guest in the shape of a contract as it is deployed on NEAR: it brings serde,
//! serde_json and a heap of its own, decodes its input and compares all of it.

#![no_std]

use core::hint::black_box;

use contract_support::input;

contract_support::export! {
    noop: fn() = noop,
    run_small: fn() = run_small,
    run_small_bytes: fn(&[u8]) = json_payload::decode_small,
    run_big: fn() = run_big,
    run_big_bytes: fn(&[u8]) = json_payload::decode_big,
    run_any: fn() -> u64 = run_any,
    take_input: fn() = take_input,
}

/// Does nothing, so that a call costs only what the executor adds.
fn noop() {}

/// Decodes the small payload.
fn run_small() {
    json_payload::decode_small(&input());
}

/// Decodes the big payload.
fn run_big() {
    json_payload::decode_big(&input());
}

/// Decodes any payload in the shape of the big one and returns its checksum.
fn run_any() -> u64 {
    json_payload::decode_any(&input())
}

/// Takes the input and drops it: what crossing the boundary costs.
fn take_input() {
    black_box(input());
}
