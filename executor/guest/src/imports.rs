//! Names of the host functions and entry points that tell what a guest can change and which
//! convention it follows.

/// Module of the functions of WASI preview 1.
pub const WASI: &str = "wasi_snapshot_preview1";

/// The export that runs a module as a program of WASI.
pub const START: &str = "_start";

/// The export that serves the operations of a guest of waPC, and the one that prepares it.
pub const WAPC_CALL: &str = "__guest_call";
/// See [`WAPC_CALL`].
pub const WAPC_INIT: &str = "wapc_init";

/// Functions of the storage, imported from `env`.
pub const STORAGE: [&str; 8] = [
    "ext_storage_get_version_1",
    "ext_storage_set_version_1",
    "ext_storage_clear_version_1",
    "ext_storage_next_key_version_1",
    "ext_storage_root_version_1",
    "ext_storage_start_transaction_version_1",
    "ext_storage_rollback_transaction_version_1",
    "ext_storage_commit_transaction_version_1",
];

/// Length of the input that the host keeps, and the copy of it to an address.
pub const INPUT_LENGTH: &str = "input_len";
/// See [`INPUT_LENGTH`].
pub const INPUT: &str = "input";

/// The host allocator's `(size) -> pointer`, imported from `env`.
pub const MALLOC: &str = "ext_allocator_malloc_version_1";

/// The host allocator's `(pointer)`, imported from `env`.
pub const FREE: &str = "ext_allocator_free_version_1";

/// `true` if an export of a component runs it as a program: `run` of `wasi:cli/run` of WASI
/// preview 2, as [`ModuleInfo::exports`](crate::ModuleInfo::exports) names it.
pub fn is_command(export: &str) -> bool {
    export.strip_prefix("wasi:cli/run@0.2.").is_some_and(|rest| rest.ends_with("#run"))
}
