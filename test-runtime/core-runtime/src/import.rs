//! The host functions of a relay chain that the four basic ones do not cover.
//!
//! An `i64` is a place in memory, packed as `(len << 32) | ptr`; an `i32` is a
//! number or the address of something of a known size.

guest_support::imports! {
    // Storage.
    pub fn ext_storage_set_version_1(key: i64, value: i64);
    pub fn ext_storage_get_version_1(key: i64) -> i64;
    pub fn ext_storage_read_version_1(key: i64, value_out: i64, offset: i32) -> i64;
    pub fn ext_storage_clear_version_1(key: i64);
    pub fn ext_storage_exists_version_1(key: i64) -> i32;
    pub fn ext_storage_clear_prefix_version_2(prefix: i64, limit: i64) -> i64;
    pub fn ext_storage_append_version_1(key: i64, value: i64);
    pub fn ext_storage_root_version_2(state_version: i32) -> i64;
    pub fn ext_storage_next_key_version_1(key: i64) -> i64;
    pub safe fn ext_storage_start_transaction_version_1();
    pub safe fn ext_storage_rollback_transaction_version_1();
    pub safe fn ext_storage_commit_transaction_version_1();

    // Child storage.
    pub fn ext_default_child_storage_set_version_1(child: i64, key: i64, value: i64);
    pub fn ext_default_child_storage_get_version_1(child: i64, key: i64) -> i64;
    pub fn ext_default_child_storage_read_version_1(
        child: i64,
        key: i64,
        value_out: i64,
        offset: i32,
    ) -> i64;
    pub fn ext_default_child_storage_clear_version_1(child: i64, key: i64);
    pub fn ext_default_child_storage_storage_kill_version_3(child: i64, limit: i64) -> i64;
    pub fn ext_default_child_storage_root_version_2(child: i64, state_version: i32) -> i64;
    pub fn ext_default_child_storage_next_key_version_1(child: i64, key: i64) -> i64;

    // Tries.
    pub fn ext_trie_blake2_256_root_version_2(entries: i64, state_version: i32) -> i32;
    pub fn ext_trie_blake2_256_ordered_root_version_2(values: i64, state_version: i32) -> i32;

    // Miscellaneous.
    pub safe fn ext_misc_print_num_version_1(value: i64);
    pub fn ext_misc_print_utf8_version_1(text: i64);
    pub fn ext_misc_print_hex_version_1(bytes: i64);
    pub fn ext_misc_runtime_version_version_1(code: i64) -> i64;

    // Signatures.
    pub fn ext_crypto_ed25519_verify_version_1(signature: i32, message: i64, public: i32) -> i32;
    pub fn ext_crypto_sr25519_verify_version_2(signature: i32, message: i64, public: i32) -> i32;
    pub fn ext_crypto_ecdsa_verify_version_2(signature: i32, message: i64, public: i32) -> i32;
    pub fn ext_crypto_secp256k1_ecdsa_recover_compressed_version_2(
        signature: i32,
        message: i32,
    ) -> i64;
    pub fn ext_crypto_sr25519_generate_version_1(key_type: i32, seed: i64) -> i32;

    // Hashing.
    pub fn ext_hashing_keccak_256_version_1(data: i64) -> i32;
    pub fn ext_hashing_sha2_256_version_1(data: i64) -> i32;
    pub fn ext_hashing_blake2_128_version_1(data: i64) -> i32;
    pub fn ext_hashing_blake2_256_version_1(data: i64) -> i32;
    pub fn ext_hashing_twox_64_version_1(data: i64) -> i32;
    pub fn ext_hashing_twox_128_version_1(data: i64) -> i32;
    pub fn ext_hashing_twox_256_version_1(data: i64) -> i32;

    // Offchain.
    pub safe fn ext_offchain_is_validator_version_1() -> i32;
    pub fn ext_offchain_submit_transaction_version_1(data: i64) -> i64;
    pub fn ext_offchain_index_set_version_1(key: i64, value: i64);
}
