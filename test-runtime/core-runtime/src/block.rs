//! `Core_execute_block`: storage, tries, hashes and signatures, by way of the
//! host.

use alloc::vec::Vec;

use guest_support::{Output, host::packed};

use crate::{import, version::compact};

/// The layout of tries and state that the runtime uses.
const STATE_VERSION: i32 = 1;

/// `None` as SCALE encodes it: no limit.
const NO_LIMIT: &[u8] = &[0];

/// The name of the child trie.
const CHILD: &[u8] = b":child:touchstone";

/// The results of the calls, folded into one number.
#[derive(Default)]
pub struct Trace(u64);

impl Trace {
    /// Adds what a host function returned. Addresses are not followed, so a
    /// host that provides nothing but stubs can run this too.
    pub fn add(&mut self, value: impl Into<i64>) {
        self.0 = self.0.rotate_left(9) ^ value.into() as u64;
    }

    /// The number in the form that the call returns.
    pub fn output(self) -> Output {
        self.0.to_le_bytes()[..].into()
    }
}

/// Takes a block of any form and returns a number made from all that the host
/// returned on the way.
pub fn execute(block: &[u8]) -> Output {
    let mut trace = Trace::default();
    import::ext_storage_start_transaction_version_1();
    storage(block, &mut trace);
    if block.is_empty() {
        import::ext_storage_rollback_transaction_version_1();
    } else {
        import::ext_storage_commit_transaction_version_1();
    }
    child_storage(block, &mut trace);
    hashes(block, &mut trace);
    signatures(block, &mut trace);
    roots(block, &mut trace);
    trace.output()
}

/// Reads and writes the state.
fn storage(block: &[u8], trace: &mut Trace) {
    let mut buffer = [0u8; 32];
    // SAFETY: every place is live, initialised memory for the whole call; the
    // host writes to `buffer` only, and that one is not shared.
    unsafe {
        import::ext_storage_set_version_1(packed(b":block"), packed(block));
        import::ext_storage_append_version_1(packed(b":blocks"), packed(block));
        trace.add(import::ext_storage_get_version_1(packed(b":block")));
        trace.add(import::ext_storage_exists_version_1(packed(b":code")));
        trace.add(import::ext_storage_next_key_version_1(packed(b":")));
        let out = writable(&mut buffer);
        trace.add(import::ext_storage_read_version_1(packed(b":code"), out, 0));
        import::ext_storage_clear_version_1(packed(b":block"));
        let (prefix, limit) = (packed(b":blocks"), packed(NO_LIMIT));
        trace.add(import::ext_storage_clear_prefix_version_2(prefix, limit));
    }
    trace.add(buffer[0]);
}

/// Reads and writes the child trie.
fn child_storage(block: &[u8], trace: &mut Trace) {
    let mut buffer = [0u8; 32];
    let (child, key) = (packed(CHILD), packed(b"key"));
    // SAFETY: as in `storage`.
    unsafe {
        import::ext_default_child_storage_set_version_1(child, key, packed(block));
        trace.add(import::ext_default_child_storage_get_version_1(child, key));
        let out = writable(&mut buffer);
        trace.add(import::ext_default_child_storage_read_version_1(child, key, out, 0));
        trace.add(import::ext_default_child_storage_next_key_version_1(child, key));
        import::ext_default_child_storage_clear_version_1(child, key);
        trace.add(import::ext_default_child_storage_root_version_2(child, STATE_VERSION));
        trace
            .add(import::ext_default_child_storage_storage_kill_version_3(child, packed(NO_LIMIT)));
    }
    trace.add(buffer[0]);
}

/// Hashes the block with every function the host has.
fn hashes(block: &[u8], trace: &mut Trace) {
    let data = packed(block);
    // SAFETY: the host only reads the block, which is live during the calls.
    unsafe {
        trace.add(import::ext_hashing_keccak_256_version_1(data));
        trace.add(import::ext_hashing_sha2_256_version_1(data));
        trace.add(import::ext_hashing_blake2_128_version_1(data));
        trace.add(import::ext_hashing_blake2_256_version_1(data));
        trace.add(import::ext_hashing_twox_64_version_1(data));
        trace.add(import::ext_hashing_twox_128_version_1(data));
        trace.add(import::ext_hashing_twox_256_version_1(data));
    }
}

/// Verifies the block's signature, taken from its start, in every scheme.
fn signatures(block: &[u8], trace: &mut Trace) {
    let mut signature = [0u8; 65];
    let public = [2u8; 33];
    let taken = block.len().min(signature.len());
    signature[..taken].copy_from_slice(&block[..taken]);

    let message = packed(block);
    let (sig, key) = (signature.as_ptr() as i32, public.as_ptr() as i32);
    // SAFETY: a signature is at most 65 bytes long, a key at most 33 and a
    // hashed message 32; all are live, and the host only reads them.
    unsafe {
        trace.add(import::ext_crypto_ed25519_verify_version_1(sig, message, key));
        trace.add(import::ext_crypto_sr25519_verify_version_2(sig, message, key));
        trace.add(import::ext_crypto_ecdsa_verify_version_2(sig, message, key));
        trace.add(import::ext_crypto_secp256k1_ecdsa_recover_compressed_version_2(sig, key));
    }
}

/// Computes the roots of the block's extrinsics and of the state.
fn roots(block: &[u8], trace: &mut Trace) {
    // One value, and one pair of key and value, as SCALE vectors.
    let mut values = Vec::new();
    compact(&mut values, 1);
    compact(&mut values, block.len() as u32);
    values.extend_from_slice(block);

    let mut entries = Vec::new();
    compact(&mut entries, 1);
    compact(&mut entries, 3);
    entries.extend_from_slice(b"key");
    compact(&mut entries, block.len() as u32);
    entries.extend_from_slice(block);

    // SAFETY: the host only reads the two vectors, which are live.
    unsafe {
        trace.add(import::ext_trie_blake2_256_ordered_root_version_2(
            packed(&values),
            STATE_VERSION,
        ));
        trace.add(import::ext_trie_blake2_256_root_version_2(packed(&entries), STATE_VERSION));
        trace.add(import::ext_storage_root_version_2(STATE_VERSION));
    }
}

/// The place of a buffer that the host may write to.
fn writable(buffer: &mut [u8]) -> i64 {
    guest_support::pack(buffer.as_mut_ptr() as u32, buffer.len() as u32) as i64
}
