//! Storage: keys and values that the host keeps for its guests, by Substrate's host functions.
//!
//! Imports of `env`, each `ext_storage_…_version_1`:
//!
//! | name | type | does |
//! |---|---|---|
//! | `get` | `(key: i64) -> i64` | the value, SCALE-encoded as `Option<Vec<u8>>` |
//! | `set` | `(key: i64, value: i64)` | sets a value |
//! | `clear` | `(key: i64)` | removes a value |
//! | `next_key` | `(key: i64) -> i64` | the next key, SCALE-encoded as `Option<Vec<u8>>` |
//! | `root` | `() -> i64` | a digest of the state |
//! | `start_transaction` | `()` | begins a transaction, also inside another one |
//! | `rollback_transaction` | `()` | undoes the innermost transaction |
//! | `commit_transaction` | `()` | keeps the changes of the innermost transaction |
//!
//! A parameter of 64 bits is a place in the guest's memory: the address in the low half, the length
//! in the high half. A result is the place of a block that the host's allocator made; the guest
//! frees it. The host keeps the state: a clean instance has the same storage as the one before it.
//!
//! [`functions`] is the table of these functions over a [`Storage`].

#[cfg(test)]
mod tests;

use crate::Functions;
use crate::functions::HostCall;
use std::sync::Arc;
use touchstone_guest::imports::STORAGE;

/// Keys and values, sorted by key. All instances of a module use the same one, on any thread.
/// Fails when the state cannot be read, or cannot be written. An error is a trap of the guest.
pub trait Storage: Send + Sync {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Sets the value of a key, or removes it.
    fn set(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), StorageError>;

    /// The first key behind another one, which need not exist.
    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// A digest of the state.
    fn root(&self) -> Result<Vec<u8>, StorageError>;

    /// Begins a transaction, or fails with [`StorageError::TooManyTransactions`].
    fn start(&self) -> Result<(), StorageError>;

    /// Undoes what the innermost transaction changed, and ends it, or fails with
    /// [`StorageError::NoTransaction`].
    fn rollback(&self) -> Result<(), StorageError>;

    /// Keeps what the innermost transaction changed, and ends it, or fails with
    /// [`StorageError::NoTransaction`].
    fn commit(&self) -> Result<(), StorageError>;
}

/// Why a storage refused a call. The guest traps with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The guest ends a transaction that it did not begin.
    #[error("there is no transaction to end")]
    NoTransaction,
    /// The guest began too many transactions inside each other.
    #[error("more than {most} transactions are inside each other")]
    TooManyTransactions {
        /// Most of them.
        most: usize,
    },
    /// The guest changes a state that it may only read.
    #[error("the state can only be read")]
    ReadOnly,
    /// The database failed, with its reason.
    #[error("the database failed: {0}")]
    Database(String),
}

const MODULE: &str = "env";

/// The functions over a storage.
///
/// ```
/// use std::sync::Arc;
/// use touchstone_executor::storage::{self, Storage};
/// use touchstone_executor::{Config, Functions};
///
/// fn config(storage: Arc<dyn Storage>) -> Config {
///     let functions = Functions::standard().with(&storage::functions(storage));
///     Config { functions, ..Config::default() }
/// }
/// ```
pub fn functions(storage: Arc<dyn Storage>) -> Functions {
    let [get, set, clear, next_key, root, start, rollback, commit] = STORAGE;
    let on = || Arc::clone(&storage);
    let mut functions = Functions::none();
    let own = on();
    functions.wrap(MODULE, get, move |call: &mut HostCall<'_>, key: u64| {
        let value = own.get(call.at(key)?).map_err(|error| call.refuse(error))?;
        call.place(&option(value))
    });
    let own = on();
    functions.wrap(MODULE, next_key, move |call: &mut HostCall<'_>, key: u64| {
        let key = own.next_key(call.at(key)?).map_err(|error| call.refuse(error))?;
        call.place(&option(key))
    });
    let own = on();
    functions.wrap(MODULE, root, move |call: &mut HostCall<'_>| {
        let root = own.root().map_err(|error| call.refuse(error))?;
        call.place(&root)
    });
    let own = on();
    functions.wrap(MODULE, set, move |call: &mut HostCall<'_>, key: u64, value: u64| {
        let key = call.at(key)?.to_vec();
        own.set(&key, Some(call.at(value)?)).map_err(|error| call.refuse(error))
    });
    let own = on();
    functions.wrap(MODULE, clear, move |call: &mut HostCall<'_>, key: u64| {
        own.set(call.at(key)?, None).map_err(|error| call.refuse(error))
    });
    let own = on();
    functions.wrap(MODULE, start, move |call: &mut HostCall<'_>| {
        own.start().map_err(|error| call.refuse(error))
    });
    let own = on();
    functions.wrap(MODULE, rollback, move |call: &mut HostCall<'_>| {
        own.rollback().map_err(|error| call.refuse(error))
    });
    functions.wrap(MODULE, commit, move |call: &mut HostCall<'_>| {
        storage.commit().map_err(|error| call.refuse(error))
    });
    functions
}

/// The SCALE encoding of an optional byte string.
fn option(value: Option<Vec<u8>>) -> Vec<u8> {
    let Some(value) = value else { return vec![0] };
    let mut encoded = Vec::with_capacity(value.len() + 6);
    encoded.push(1);
    // A compact number: its two lowest bits say how many bytes it has.
    match value.len() as u64 {
        length @ ..0x40 => encoded.push((length << 2) as u8),
        length @ ..0x4000 => encoded.extend((((length << 2) | 1) as u16).to_le_bytes()),
        length @ ..0x4000_0000 => encoded.extend((((length << 2) | 2) as u32).to_le_bytes()),
        // Memories of guests have at most 4 GiB, so 4 bytes are enough.
        length => {
            encoded.push(3);
            encoded.extend((length as u32).to_le_bytes());
        }
    }
    encoded.extend(value);
    encoded
}

#[cfg(test)]
mod encoding {
    use super::*;

    #[test]
    fn optional_bytes_are_encoded_as_scale_does() {
        let start = |length: usize| {
            let bytes = option(Some(vec![7; length]));
            assert!(bytes.ends_with(&vec![7; length]));
            bytes[..bytes.len() - length].to_vec()
        };
        assert_eq!(option(None), [0]);
        assert_eq!(start(0), [1, 0]);
        assert_eq!(start(63), [1, 0xfc]);
        assert_eq!(start(64), [1, 0x01, 0x01]);
        assert_eq!(start(16_383), [1, 0xfd, 0xff]);
        assert_eq!(start(16_384), [1, 2, 0, 1, 0]);
    }
}
