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

mod functions;
#[cfg(test)]
mod tests;

pub use functions::functions;

/// Keys and values, sorted by key. All instances of a module use the same one, on any thread.
/// An error is a trap of the guest.
pub trait Storage: Send + Sync {
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Sets the value of a key, or removes it.
    ///
    /// # Errors
    ///
    /// When the state cannot be written.
    fn set(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), StorageError>;

    /// The first key behind another one, which need not exist.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// A digest of the state.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    fn root(&self) -> Result<Vec<u8>, StorageError>;

    /// Begins a transaction.
    ///
    /// # Errors
    ///
    /// When there are too many inside each other, or the state cannot be written.
    fn start(&self) -> Result<(), StorageError>;

    /// Undoes what the innermost transaction changed, and ends it.
    ///
    /// # Errors
    ///
    /// [`StorageError::NoTransaction`].
    fn rollback(&self) -> Result<(), StorageError>;

    /// Keeps what the innermost transaction changed, and ends it.
    ///
    /// # Errors
    ///
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
