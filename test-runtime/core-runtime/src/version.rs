//! `Core_version`: what a client asks a runtime first.

use alloc::vec::Vec;

use guest_support::{
    Output,
    host::{self, LogLevel},
};

/// An interface of the runtime: the hash of its name, and its version.
type Api = ([u8; 8], u32);

/// The interfaces, each named by the 8-byte BLAKE2b hash of its trait.
const APIS: [Api; 6] = [
    // Core
    ([0xdf, 0x6a, 0xcb, 0x68, 0x99, 0x07, 0x60, 0x9b], 5),
    // Metadata
    ([0x37, 0xe3, 0x97, 0xfc, 0x7c, 0x91, 0xf5, 0xe4], 2),
    // BlockBuilder
    ([0x40, 0xfe, 0x3a, 0xd4, 0x01, 0xf8, 0x95, 0x9a], 6),
    // TaggedTransactionQueue
    ([0xd2, 0xbc, 0x98, 0x97, 0xee, 0xd0, 0x8f, 0x15], 3),
    // AccountNonceApi
    ([0xbc, 0x9d, 0x89, 0x90, 0x4f, 0x5b, 0x92, 0x3f], 1),
    // ParachainHost
    ([0xaf, 0x2c, 0x02, 0x97, 0xa2, 0x3e, 0x6d, 0x3d], 11),
];

/// Returns the runtime's version in SCALE encoding, and says so in the log.
pub fn version(_: &[u8]) -> Output {
    host::log(LogLevel::Debug, "runtime", b"version");

    let mut out = Vec::new();
    bytes(&mut out, b"touchstone");
    bytes(&mut out, b"touchstone-core");
    // The versions of authoring, specification and implementation.
    for number in [1u32, 48, 0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    compact(&mut out, APIS.len() as u32);
    for (name, number) in APIS {
        out.extend_from_slice(&name);
        out.extend_from_slice(&number.to_le_bytes());
    }
    // The versions of transactions and of the state.
    out.extend_from_slice(&7u32.to_le_bytes());
    out.push(1);
    out.into()
}

/// Appends bytes with their length before them.
fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    compact(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Appends a number in compact form; the two low bits say how long it is.
pub fn compact(out: &mut Vec<u8>, value: u32) {
    match value {
        0..0x40 => out.push((value << 2) as u8),
        0x40..0x4000 => out.extend_from_slice(&((value << 2) as u16 | 1).to_le_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value << 2 | 2).to_le_bytes()),
        _ => {
            // Four bytes follow: 4 - 4 in the upper six bits, and 3.
            out.push(3);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}
