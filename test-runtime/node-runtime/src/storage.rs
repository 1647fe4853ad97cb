//! The storage of the host.

use alloc::vec::Vec;
use guest_support::host::packed;
#[cfg(target_arch = "wasm32")]
use guest_support::unpack;

guest_support::imports! {
    /// The value of a key, as an encoded option.
    pub fn ext_storage_get_version_1(key: i64) -> i64;
    /// Sets a value.
    pub fn ext_storage_set_version_1(key: i64, value: i64);
    /// Removes a value.
    pub fn ext_storage_clear_version_1(key: i64);
    /// The key behind another one, as an encoded option.
    pub fn ext_storage_next_key_version_1(key: i64) -> i64;
    /// A digest of the state.
    pub safe fn ext_storage_root_version_1() -> i64;
    /// Begins a transaction.
    pub safe fn ext_storage_start_transaction_version_1();
    /// Undoes a transaction.
    pub safe fn ext_storage_rollback_transaction_version_1();
    /// Keeps what a transaction did.
    pub safe fn ext_storage_commit_transaction_version_1();
}

/// The value of a key.
pub(crate) fn get(key: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: the host only reads the key, which lives during the call.
    option(owned(unsafe { ext_storage_get_version_1(packed(key)) }))
}

/// Sets the value of a key.
pub(crate) fn set(key: &[u8], value: &[u8]) {
    // SAFETY: the host only reads both, which live during the call.
    unsafe { ext_storage_set_version_1(packed(key), packed(value)) }
}

/// Removes a key.
pub(crate) fn clear(key: &[u8]) {
    // SAFETY: the host only reads the key, which lives during the call.
    unsafe { ext_storage_clear_version_1(packed(key)) }
}

/// The first key behind another one.
pub(crate) fn next_key(key: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: the host only reads the key, which lives during the call.
    option(owned(unsafe { ext_storage_next_key_version_1(packed(key)) }))
}

/// A digest of the state.
pub(crate) fn root() -> Vec<u8> {
    owned(ext_storage_root_version_1())
}

/// Begins a transaction.
pub(crate) fn start() {
    ext_storage_start_transaction_version_1();
}

/// Undoes the innermost transaction.
pub(crate) fn rollback() {
    ext_storage_rollback_transaction_version_1();
}

/// Keeps what the innermost transaction did.
pub(crate) fn commit() {
    ext_storage_commit_transaction_version_1();
}

/// Takes over a block that the host made.
#[cfg(target_arch = "wasm32")]
fn owned(place: i64) -> Vec<u8> {
    let (pointer, length) = unpack(place as u64);
    // SAFETY: the host made the block for the guest, by the allocator that is the global one
    // here, and initialised so many bytes of it.
    unsafe { Vec::from_raw_parts(pointer as *mut u8, length as usize, length as usize) }
}

/// Compiled for the host, the imports trap before there is a block.
#[cfg(not(target_arch = "wasm32"))]
fn owned(_: i64) -> Vec<u8> {
    Vec::new()
}

/// Decodes an option of bytes: one byte, a compact length, the bytes.
fn option(mut encoded: Vec<u8>) -> Option<Vec<u8>> {
    let length_bytes = match encoded.first()? {
        0 => return None,
        // The two lowest bits of a compact number say how many bytes it has.
        _ => match encoded.get(1)? & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => 5,
        },
    };
    encoded.drain(..1 + length_bytes);
    Some(encoded)
}
