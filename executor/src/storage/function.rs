//! Names and types of the functions of the storage.

use crate::signature::Signature;
use crate::signature::ValueType::{self, I64};

/// A host function of the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// `(key) -> value`.
    Get,
    /// `(key, value)`.
    Set,
    /// `(key)`.
    Clear,
    /// `(key) -> key`.
    NextKey,
    /// `() -> digest`.
    Root,
    /// `()`: begins a transaction.
    Start,
    /// `()`: undoes the innermost transaction.
    Rollback,
    /// `()`: keeps the innermost transaction.
    Commit,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::Set,
        Self::Clear,
        Self::NextKey,
        Self::Root,
        Self::Start,
        Self::Rollback,
        Self::Commit,
    ];

    /// The import's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "ext_storage_get_version_1",
            Self::Set => "ext_storage_set_version_1",
            Self::Clear => "ext_storage_clear_version_1",
            Self::NextKey => "ext_storage_next_key_version_1",
            Self::Root => "ext_storage_root_version_1",
            Self::Start => "ext_storage_start_transaction_version_1",
            Self::Rollback => "ext_storage_rollback_transaction_version_1",
            Self::Commit => "ext_storage_commit_transaction_version_1",
        }
    }

    /// The import's type.
    #[must_use]
    pub fn signature(self) -> Signature {
        let (params, results): (&[ValueType], &[ValueType]) = match self {
            Self::Get | Self::NextKey => (&[I64], &[I64]),
            Self::Set => (&[I64, I64], &[]),
            Self::Clear => (&[I64], &[]),
            Self::Root => (&[], &[I64]),
            Self::Start | Self::Rollback | Self::Commit => (&[], &[]),
        };
        Signature::new(params, results)
    }

    /// The function of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }
}
