;; A runtime with an export for each case of Substrate's executor: `cases.rs`.
(module
  (import "env" "memory" (memory 1))
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
  (import "env" "ext_crypto_ed25519_verify_version_1"
    (func $ed25519_verify (param i32 i64 i32) (result i32)))
  (import "env" "ext_crypto_sr25519_verify_version_2"
    (func $sr25519_verify (param i32 i64 i32) (result i32)))
  (import "env" "ext_hashing_blake2_128_version_1" (func $blake2_128 (param i64) (result i32)))
  (import "env" "ext_hashing_blake2_256_version_1" (func $blake2_256 (param i64) (result i32)))
  (import "env" "ext_hashing_sha2_256_version_1" (func $sha2_256 (param i64) (result i32)))
  (import "env" "ext_hashing_twox_128_version_1" (func $twox_128 (param i64) (result i32)))
  (import "env" "ext_hashing_twox_256_version_1" (func $twox_256 (param i64) (result i32)))
  (import "env" "ext_misc_runtime_version_version_1" (func $version (param i64) (result i64)))
  (import "env" "ext_offchain_index_set_version_1" (func $index_set (param i64 i64)))
  (import "env" "ext_offchain_local_storage_get_version_1"
    (func $local_get (param i32 i64) (result i64)))
  (import "env" "ext_offchain_local_storage_set_version_1" (func $local_set (param i32 i64 i64)))
  (import "env" "ext_panic_handler_abort_on_panic_version_1" (func $abort (param i64)))
  (import "env" "ext_storage_clear_prefix_version_1" (func $clear_prefix (param i64)))
  (import "env" "ext_storage_get_version_1" (func $get (param i64) (result i64)))
  (import "env" "ext_storage_set_version_1" (func $set (param i64 i64)))
  (import "env" "ext_test_panics_version_1" (func $panics))
  (import "env" "ext_trie_blake2_256_ordered_root_version_2"
    (func $ordered_root (param i64 i32) (result i32)))
  (import "env" "missing_external" (func $missing))
  (import "env" "yet_another_missing_external" (func $missing_too))

  (global (export "__heap_base") i32 (i32.const 2048))
  (global $counter (mut i32) (i32.const 32))
  (data (i32.const 1024) "\20\00\00\00")
  (data (i32.const 1040) "the runtime's reason")

  (func $pack (param $pointer i32) (param $length i32) (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $length)) (i64.const 32))
      (i64.extend_i32_u (local.get $pointer))))
  ;; A word as the output.
  (func $word (param $value i32) (result i64)
    (i32.store (i32.const 1032) (local.get $value))
    (call $pack (i32.const 1032) (i32.const 4)))

  (func (export "returns_input") (param i32 i32) (result i64)
    (call $pack (local.get 0) (local.get 1)))
  (func (export "empty_return") (param i32 i32) (result i64) (i64.const 0))
  (func (export "calls_missing_external") (param i32 i32) (result i64)
    (call $missing) (i64.const 0))
  (func (export "calls_yet_another_missing_external") (param i32 i32) (result i64)
    (call $missing_too) (i64.const 0))
  (func (export "unreachable_intrinsic") (param i32 i32) (result i64)
    (global.set $counter (i32.const 1000)) (unreachable))
  (func (export "conditional_panic") (param i32 i32) (result i64)
    (if (i32.load8_u (local.get 0)) (then (unreachable))) (i64.const 0))
  (func (export "return_value") (param i32 i32) (result i64)
    (i64.store (i32.const 1032) (i64.const 1234)) (call $pack (i32.const 1032) (i32.const 8)))
  (func (export "return_i8") (param i32 i32) (result i64)
    (i32.store8 (i32.const 1032) (i32.const -66)) (call $pack (i32.const 1032) (i32.const 1)))
  (func (export "take_i8") (param i32 i32) (result i64)
    (if (i32.ne (i32.load8_s (local.get 0)) (i32.const -66)) (then (unreachable))) (i64.const 0))
  (func (export "panics_in_host") (param i32 i32) (result i64) (call $panics) (i64.const 0))
  (func (export "abort_on_panic") (param i32 i32) (result i64)
    (call $abort (call $pack (i32.const 1040) (i32.const 20))) (unreachable))

  (func (export "returns_mutable_static") (param i32 i32) (result i64)
    (i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1024)) (i32.const 1)))
    (call $word (i32.load (i32.const 1024))))
  (func (export "returns_mutable_static_bss") (param i32 i32) (result i64)
    (i32.store (i32.const 1028) (i32.add (i32.load (i32.const 1028)) (i32.const 1)))
    (call $word (i32.load (i32.const 1028))))
  (func (export "restoration_of_globals") (param i32 i32) (result i64)
    (global.set $counter (i32.add (global.get $counter) (i32.const 1)))
    (call $word (global.get $counter)))
  ;; The place of the first block.
  (func (export "heap_is_reset") (param i32 i32) (result i64)
    (call $word (call $malloc (i32.const 100))))
  ;; The sum of words in fresh blocks, which it then fills.
  (func (export "memory_is_cleared") (param i32 i32) (result i64)
    (local $block i32) (local $sum i32)
    (local.set $block (call $malloc (i32.const 65536)))
    (local.set $sum (i32.load (i32.add (local.get $block) (i32.const 60000))))
    (i32.store (i32.add (local.get $block) (i32.const 60000)) (i32.const -1))
    (call $free (local.get $block))
    (call $word (local.get $sum)))
  ;; As many blocks of 1 MiB as the input's first byte says.
  (func (export "allocate") (param i32 i32) (result i64)
    (local $left i32)
    (local.set $left (i32.load8_u (local.get 0)))
    (block $done
      (loop $more
        (br_if $done (i32.eqz (local.get $left)))
        (drop (call $malloc (i32.const 1048576)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $more)))
    (i64.const 0))
  ;; 205 blocks of 10 MiB; returns their size.
  (func (export "allocate_two_gigabyte") (param i32 i32) (result i64)
    (local $size i32)
    (loop $more
      (drop (call $malloc (i32.const 10485760)))
      (local.set $size (i32.add (local.get $size) (i32.const 10485760)))
      (br_if $more (i32.lt_u (local.get $size) (i32.const 2149580800))))
    (call $word (local.get $size)))
  (func (export "free_of_nothing") (param i32 i32) (result i64)
    (call $free (i32.const 1024)) (i64.const 0))

  (func (export "return_huge_len") (param i32 i32) (result i64)
    (call $pack (i32.const 0) (i32.const -1)))
  (func (export "return_max_memory_offset") (param i32 i32) (result i64)
    (call $pack (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)) (i32.const 1)))
  (func (export "return_max_memory_offset_plus_one") (param i32 i32) (result i64)
    (call $pack (i32.shl (memory.size) (i32.const 16)) (i32.const 1)))
  (func (export "return_overflow") (param i32 i32) (result i64)
    (call $pack (i32.const -1) (i32.const 1)))

  ;; Sets the input as the value of a key, and returns what the key had before: an option.
  (func (export "storage") (param i32 i32) (result i64)
    (local $before i64)
    (local.set $before (call $get (call $pack (i32.const 1040) (i32.const 3))))
    (call $set
      (call $pack (i32.const 1040) (i32.const 3))
      (call $pack (local.get 0) (local.get 1)))
    (local.get $before))
  ;; Sets a value: a byte with the key's length, the key, the value.
  (func (export "set") (param i32 i32) (result i64)
    (local $key i32)
    (local.set $key (i32.load8_u (local.get 0)))
    (call $set
      (call $pack (i32.add (local.get 0) (i32.const 1)) (local.get $key))
      (call $pack
        (i32.add (i32.add (local.get 0) (i32.const 1)) (local.get $key))
        (i32.sub (i32.sub (local.get 1) (i32.const 1)) (local.get $key))))
    (i64.const 0))
  (func (export "clear_prefix") (param i32 i32) (result i64)
    (call $clear_prefix (call $pack (local.get 0) (local.get 1))) (i64.const 0))
  ;; The input is the key and the value.
  (func (export "offchain_index") (param i32 i32) (result i64)
    (call $index_set
      (call $pack (local.get 0) (local.get 1)) (call $pack (local.get 0) (local.get 1)))
    (i64.const 0))
  ;; In the persistent storage.
  (func (export "offchain_local_storage") (param i32 i32) (result i64)
    (call $local_set (i32.const 0)
      (call $pack (local.get 0) (local.get 1)) (call $pack (local.get 0) (local.get 1)))
    (call $local_get (i32.const 0) (call $pack (local.get 0) (local.get 1))))

  (func (export "blake2_128") (param i32 i32) (result i64)
    (call $pack (call $blake2_128 (call $pack (local.get 0) (local.get 1))) (i32.const 16)))
  (func (export "blake2_256") (param i32 i32) (result i64)
    (call $pack (call $blake2_256 (call $pack (local.get 0) (local.get 1))) (i32.const 32)))
  (func (export "sha2_256") (param i32 i32) (result i64)
    (call $pack (call $sha2_256 (call $pack (local.get 0) (local.get 1))) (i32.const 32)))
  (func (export "twox_128") (param i32 i32) (result i64)
    (call $pack (call $twox_128 (call $pack (local.get 0) (local.get 1))) (i32.const 16)))
  (func (export "twox_256") (param i32 i32) (result i64)
    (call $pack (call $twox_256 (call $pack (local.get 0) (local.get 1))) (i32.const 32)))
  ;; The encoded list in the input, in the layout of version 1.
  (func (export "ordered_trie_root") (param i32 i32) (result i64)
    (call $pack
      (call $ordered_root (call $pack (local.get 0) (local.get 1)) (i32.const 1))
      (i32.const 32)))
  ;; The input: a key, a signature, the message. Returns 1 if it is valid.
  (func (export "ed25519_verify") (param i32 i32) (result i64)
    (call $word
      (call $ed25519_verify
        (i32.add (local.get 0) (i32.const 32))
        (call $pack (i32.add (local.get 0) (i32.const 96)) (i32.sub (local.get 1) (i32.const 96)))
        (local.get 0))))
  (func (export "sr25519_verify") (param i32 i32) (result i64)
    (call $word
      (call $sr25519_verify
        (i32.add (local.get 0) (i32.const 32))
        (call $pack (i32.add (local.get 0) (i32.const 96)) (i32.sub (local.get 1) (i32.const 96)))
        (local.get 0))))
  ;; The version of the runtime in the input.
  (func (export "runtime_version") (param i32 i32) (result i64)
    (call $version (call $pack (local.get 0) (local.get 1)))))
